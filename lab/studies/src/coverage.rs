//! Do 95 % intervals hold the truth, and are missed changes counted right?

use crate::Failure;
use crate::simulated::{Simulated, TrueCycle};
use crate::world::World;
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use recrawl_crawl::report::watch::Watcher;
use recrawl_estimation::Interval;
use recrawl_forecast::{Completions, Histories, SampleRequest};
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::Habits;

/// Cycles of a crawl before estimates count, and whose estimates are pooled.
const SETTLING: u32 = 40;
const POOLED: u32 = 28;

/// Pages of a host and cycle where that is limited; k is 5 a host on average.
const CAP: u64 = 8;

/// What makes a crawl hard to measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Trouble {
    /// Pages change by a Poisson law, and every host answers.
    None,
    /// A tenth of the hosts are down at any time.
    Failing,
    /// A host gives at most 8 pages a cycle.
    Caps,
    /// Pages change in bursts.
    Bursts,
}

/// The crawls.
#[derive(Args)]
pub struct CoverageSize {
    /// Crawls, each with a seed of its own
    #[arg(long, default_value_t = 100)]
    crawls: u64,
    /// Pages of each
    #[arg(long, default_value_t = 20_000)]
    pages: u32,
    /// Hosts of each
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Part of k that is drawn at random
    #[arg(long, default_value_t = 0.02)]
    audit_share: f64,
    /// Formula in force
    #[arg(long, default_value = "p_eb_site * sqrt(sqrt(u_harm_site))")]
    formula: String,
    /// What makes it hard
    #[arg(long, value_enum, value_delimiter = ',', default_value = "none,failing,caps,bursts")]
    trouble: Vec<Trouble>,
}

/// One crawl: pooled estimate and truth.
struct CoverageOutcome {
    interval: Interval,
    /// Half the width of the interval of the same sample by Wilson's formula.
    wilson: f64,
    truth: f64,
    /// Of the cycles with an interval, how many held the truth.
    cycles: [u64; 2],
    /// Changes missed for each found: told and true.
    missed: [f64; 2],
}

pub fn run(size: &CoverageSize) -> Result<(), Failure> {
    println!("trouble crawls held of_cycle bias width_to_wilson missed_told missed_true missed_ratio");
    for trouble in &size.trouble {
        let crawls = (0..size.crawls).into_par_iter();
        let outcomes: Vec<CoverageOutcome> =
            crawls.map(|seed| one(size, *trouble, seed)).collect::<Result<_, Failure>>()?;
        let count = outcomes.len() as f64;
        let mean = |of: &dyn Fn(&CoverageOutcome) -> f64| outcomes.iter().map(of).sum::<f64>() / count;
        let held = mean(&|o| {
            let [low, high] = o.interval.ends();
            f64::from(u8::from((low..=high).contains(&o.truth)))
        });
        let half = |o: &CoverageOutcome| o.interval.ends()[1] - o.interval.value;
        let [held_cycles, cycles] = [0, 1].map(|at| outcomes.iter().map(|o| o.cycles[at]).sum::<u64>());
        println!(
            "{trouble:?} {count} {held:.4} {:.4} {:+.5} {:.3} {:.4} {:.4} {:.4}",
            held_cycles as f64 / cycles as f64,
            mean(&|o| o.interval.value - o.truth),
            mean(&|o| half(o) / o.wilson),
            mean(&|o| o.missed[0]),
            mean(&|o| o.missed[1]),
            mean(&|o| o.missed[0]) / mean(&|o| o.missed[1]),
        );
    }
    Ok(())
}

fn one(size: &CoverageSize, trouble: Trouble, seed: u64) -> Result<CoverageOutcome, Failure> {
    let mix = if matches!(trouble, Trouble::Bursts) { "static=40,bursty=60" } else { "static=30,poisson=70" };
    let config = ProceduralConfig {
        pages: size.pages,
        hosts: size.hosts,
        seed,
        mix: mix.parse()?,
        habits: Habits { liveliness: 4.0, ..Habits::default() },
        ..ProceduralConfig::default()
    };
    let mut world = World::procedural(config, SETTLING + POOLED + 2)?;
    world.outages = if matches!(trouble, Trouble::Failing) { 0.1 } else { 0.0 };
    let settings = format!(
        "[cycle]\npages = \"5%\"\npages_min = 1\ndiscovery_share = 0\naudit_share = {}\n\
         [schedule]\nformula = \"{}\"\n[improve]\nmode = \"watch\"\n[storage]\nkeep_visits = 100\n",
        size.audit_share, size.formula
    );
    let folder = tempfile::tempdir()?;
    let mut crawl = Simulated::open(&world, folder.path(), &settings, seed)?;
    if matches!(trouble, Trouble::Caps) {
        crawl.crawl.settings.config.schedule.max_per_host = CAP;
    }
    for _ in 0..SETTLING {
        crawl.cycle()?;
    }
    // The cycles before only let the crawl settle.
    crawl.met = Default::default();
    let (mut watcher, mut truth, mut cycles) = (Watcher::new(), 0.0, [0, 0]);
    let (mut pages, mut fresh) = (0.0, 0.0);
    let mut estimates = Vec::new();
    for _ in 0..POOLED {
        let TrueCycle { report, eligible, fresh: is_fresh } = crawl.cycle()?;
        // Crawl and study must mean the same pages, or their shares are not comparable.
        if let Some(population) = &report.population
            && population.revisit_due != eligible
        {
            return Err(
                format!("cycle {}: {eligible} pages, not {}", report.cycle, population.revisit_due).into()
            );
        }
        let true_share = is_fresh as f64 / eligible as f64;
        truth += true_share / f64::from(POOLED);
        if let Some(estimate) = report.estimates.adjusted_freshness {
            let [low, high] = estimate.ends();
            cycles[0] += u64::from((low..=high).contains(&true_share));
            cycles[1] += 1;
            estimates.push(estimate);
            let audit = &report.tally.audit;
            (pages, fresh) = (pages + audit.answered().pages as f64, fresh + audit.unchanged.pages as f64);
        }
        watcher.add(report);
    }
    let interval = Interval::mean(&estimates).ok_or("no estimate")?;
    let share: f64 = fresh / pages;
    let (n, z) = (pages, recrawl_estimation::interval::Z);
    let wilson = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let generation = crawl.crawl.repository.current();
    let request = SampleRequest { pages: 50_000, cycles: POOLED, warmup: 1, seed };
    let histories = Histories::read(&generation, &crawl.crawl.repository.kept(), request)?;
    let told = Completions::new(&histories).missed_a_found().unwrap_or(f64::NAN);
    let _ = watcher.finish();
    let missed = [told, crawl.met.missed as f64 / crawl.met.changed as f64];
    Ok(CoverageOutcome { interval, wilson, truth, cycles, missed })
}
