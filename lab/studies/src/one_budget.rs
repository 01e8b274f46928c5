//! One budget for finding and for refreshing: `cycle.discovery_share = "auto"` beside fixed shares.

use crate::Failure;
use crate::course_web::{CourseWeb, corpus};
use crate::focused::{Courses, Focused, Wanted, wanted};
use crate::world::World;
use clap::Args;
use rayon::prelude::*;
use recrawl_corpora::Corpus;
use recrawl_crawl::clock::RoundToRun;
use recrawl_types::Cycle;
use std::path::PathBuf;

/// The crawls.
#[derive(Args)]
pub struct OneBudgetSize {
    #[command(flatten)]
    courses: Courses,
    /// The data set whose changes the pages show
    #[arg(long)]
    changes: PathBuf,
    /// Crawls of each topic and share, each with a seed of its own
    #[arg(long, default_value_t = 3)]
    crawls: u64,
    /// Cycles of each
    #[arg(long, default_value_t = 60)]
    cycles: u32,
    /// Pages of a cycle
    #[arg(long, default_value_t = 100)]
    pages: u64,
    /// Discovery shares that are compared
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.2,0.35,0.5,0.7,0.9,auto")]
    shares: Vec<String>,
    /// Formula of revisits
    #[arg(long, default_value = "relevance * u_harm")]
    formula: String,
}

/// What a crawl was worth.
struct Worth {
    /// Relevant pages that were held fresh, of all relevant pages, in the mean of all cycles.
    relevant: f64,
    /// Σ relevance × freshness of all pages, in the mean of all cycles.
    weighted: f64,
    /// The same of the last tenth of the cycles.
    last: f64,
    /// Relevant pages found.
    found: usize,
}

pub fn run(size: &OneBudgetSize) -> Result<(), Failure> {
    let corpus = corpus(&size.courses.corpus, false)?;
    println!("topic share crawls relevant_fresh weighted last_tenth found");
    for wanted in wanted(&size.courses.terms, &corpus)? {
        for share in &size.shares {
            let worth: Vec<Worth> = (0..size.crawls)
                .into_par_iter()
                .map(|seed| one(size, &corpus, &wanted, share, seed))
                .collect::<Result<_, Failure>>()?;
            let mean = |of: &dyn Fn(&Worth) -> f64| worth.iter().map(of).sum::<f64>() / worth.len() as f64;
            println!(
                "{} {share} {} {:.4} {:.1} {:.4} {:.1}",
                wanted.name,
                size.crawls,
                mean(&|worth| worth.relevant),
                mean(&|worth| worth.weighted),
                mean(&|worth| worth.last),
                mean(&|worth| worth.found as f64),
            );
        }
    }
    Ok(())
}

fn one(
    size: &OneBudgetSize,
    corpus: &Corpus,
    wanted: &Wanted,
    share: &str,
    seed: u64,
) -> Result<Worth, Failure> {
    let changing = World::recorded(&size.changes, size.cycles + 2, seed)?;
    let web = CourseWeb::new(corpus, 1.0, Some(&changing), seed)?;
    let folder = tempfile::tempdir()?;
    let share = if share == "auto" { "\"auto\"" } else { share };
    let settings = format!(
        "[cycle]\npages = {}\ndiscovery_share = {share}\ndiscovery_min = 0\naudit_share = 0\nwarmup = 0\nfill = false\n\
         [schedule]\nformula = \"{}\"\n{}",
        size.pages,
        size.formula,
        size.courses.settings(wanted),
    );
    let mut crawl = Focused::open(&web, folder.path(), &settings, seed)?;
    let all = crawl.relevance.iter().filter(|relevance| **relevance >= wanted.threshold).count();
    let mut worth = Worth { relevant: 0.0, weighted: 0.0, last: 0.0, found: 0 };
    let tenth = size.cycles.div_ceil(10);
    for cycle in 1..=size.cycles {
        crawl.run(RoundToRun::OF_NEXT_CYCLE)?;
        let (mut fresh, mut found, mut weighted) = (0, 0, 0.0);
        for (page, seen) in (0..).zip(&crawl.visited) {
            let Some(seen) = *seen else { continue };
            let relevance = crawl.relevance[page as usize];
            let is_relevant = relevance >= wanted.threshold;
            found += usize::from(is_relevant);
            if web.world.version(page, seen) == web.world.version(page, Cycle(cycle)) {
                fresh += usize::from(is_relevant);
                weighted += relevance;
            }
        }
        let part = fresh as f64 / all.max(1) as f64;
        worth.relevant += part / f64::from(size.cycles);
        worth.weighted += weighted / f64::from(size.cycles);
        worth.found = found;
        if cycle > size.cycles - tenth {
            worth.last += part / f64::from(tenth);
        }
    }
    Ok(worth)
}
