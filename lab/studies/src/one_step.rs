//! Is the one-step gain of a candidate what a twin crawl with the candidate in force meets in that cycle?

use crate::Failure;
use crate::simulated::{Simulated, copy, offer};
use crate::world::World;
use clap::Args;
use rayon::prelude::*;
use recrawl_crawl::parts::improve::steps::{ImproveStep, LoopState};
use recrawl_formula::Formula;
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::Habits;
use std::path::Path;

/// Cycles before the first pair, and between two pairs of a crawl.
const SETTLING: u32 = 40;
const BETWEEN: u32 = 3;

/// The pairs.
#[derive(Args)]
pub struct OneStepSize {
    /// Crawls, each with a seed of its own
    #[arg(long, default_value_t = 10)]
    crawls: u64,
    /// Pairs of each crawl
    #[arg(long, default_value_t = 5)]
    pairs: u32,
    /// Pages of each
    #[arg(long, default_value_t = 20_000)]
    pages: u32,
    /// Hosts of each
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Part of k that is drawn at random
    #[arg(long, default_value_t = 0.1)]
    audit_share: f64,
    /// Formulas in force, each with a candidate
    #[arg(long, value_delimiter = ';', default_value = "t*X;t;p_eb;u_fresh_site")]
    in_force: Vec<String>,
    /// The candidates
    #[arg(long, value_delimiter = ';', default_value = "p_eb_site;p_eb_site;u_fresh_site;p_eb_site")]
    candidates: Vec<String>,
}

struct Pair {
    estimate: f64,
    ends: [f64; 2],
    truth: f64,
}

pub fn run(size: &OneStepSize) -> Result<(), Failure> {
    if size.in_force.len() != size.candidates.len() {
        return Err("each formula in force needs a candidate".into());
    }
    println!("in_force candidate pairs held bias truth error_of_estimate half_width");
    let formulas = size.in_force.iter().zip(&size.candidates);
    for (in_force, candidate) in formulas {
        let crawls = (0..size.crawls).into_par_iter();
        let pairs: Vec<Vec<Pair>> =
            crawls.map(|seed| of_crawl(size, in_force, candidate, seed)).collect::<Result<_, Failure>>()?;
        let pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let held = mean(&|pair| f64::from(u8::from((pair.ends[0]..=pair.ends[1]).contains(&pair.truth))));
        println!(
            "{in_force} {candidate} {count} {held:.3} {:+.5} {:+.5} {:.5} {:.5}",
            mean(&|pair| pair.estimate - pair.truth),
            mean(&|pair| pair.truth),
            mean(&|pair| (pair.estimate - pair.truth).powi(2)).sqrt(),
            mean(&|pair| (pair.ends[1] - pair.ends[0]) / 2.0),
        );
    }
    Ok(())
}

fn of_crawl(size: &OneStepSize, in_force: &str, candidate: &str, seed: u64) -> Result<Vec<Pair>, Failure> {
    let config = ProceduralConfig {
        pages: size.pages,
        hosts: size.hosts,
        seed,
        mix: "static=30,poisson=70".parse()?,
        habits: Habits { liveliness: 4.0, ..Habits::default() },
        ..ProceduralConfig::default()
    };
    let world = World::procedural(config, SETTLING + BETWEEN * size.pairs + 2)?;
    let folder = tempfile::tempdir()?;
    let (main, twin, shadow) =
        (folder.path().join("main"), folder.path().join("twin"), folder.path().join("shadow"));
    let settings = |formula: &str, mode: &str| {
        format!(
            "[cycle]\npages = \"5%\"\npages_min = 1\ndiscovery_share = 0\naudit_share = {}\n\
             [schedule]\nformula = \"{formula}\"\n[improve]\nmode = \"{mode}\"\n",
            size.audit_share
        )
    };
    let mut pairs = Vec::new();
    for pair in 0..size.pairs {
        // Closed before it is copied.
        let mut crawl = Simulated::open(&world, &main, &settings(in_force, "watch"), seed)?;
        for _ in 0..if pair == 0 { SETTLING } else { BETWEEN } {
            crawl.cycle()?;
        }
        drop(crawl);
        copy(&main, &twin)?;
        copy(&main, &shadow)?;
        // Both compare the two formulas, so both have the same k by score.
        let found_of = |folder: &Path, in_force: &str, other: &str| -> Result<_, Failure> {
            let mut crawl = Simulated::open(&world, folder, &settings(in_force, "propose"), seed)?;
            offer(folder, &Formula::from_expression(other)?, [0.01, 0.02])?;
            let found = crawl.cycle()?.report.found.ok_or("a cycle was not measured")?.score;
            Ok((found, LoopState::read(&crawl.crawl.tables)?))
        };
        let (with_candidate, _) = found_of(&twin, candidate, in_force)?;
        let (without, state) = found_of(&shadow, in_force, candidate)?;
        let ImproveStep::Shadow(attempt) = state.step else {
            return Err("the candidate was not taken up".into());
        };
        let estimate = attempt.one_step().ok_or("no page differs")?;
        let rate = |found: recrawl_crawl::parts::improve::found::ComparedVisits| {
            found.changed as f64 / found.visits as f64
        };
        pairs.push(Pair {
            estimate: estimate.value,
            ends: estimate.ends,
            truth: rate(with_candidate) - rate(without),
        });
        std::fs::remove_dir_all(&twin)?;
        std::fs::remove_dir_all(&shadow)?;
    }
    Ok(pairs)
}
