//! Do forecasts for other budgets hold, and does plain revisiting need as many visits as savings say?

use crate::Failure;
use crate::simulated::{Simulated, copy};
use crate::world::World;
use clap::Args;
use rayon::prelude::*;
use recrawl_crawl::report::watch::Watcher;
use recrawl_estimation::Interval;
use recrawl_forecast::what_if::{BUDGETS, BudgetReplays, freshness, savings};
use recrawl_forecast::{Completions, Histories, SampleRequest};
use recrawl_formula::Formula;
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::Habits;
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Beginning, Budget, Dataset, RecordedPage, Rules, Signals, Truth, replay};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Cycles at the present budget before it changes, and afterwards.
const SETTLING: u32 = 60;
const AFTER: u32 = 40;
/// Budgets that are really tried, as parts of the present one.
const TRIED: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The crawls.
#[derive(Args)]
pub struct BudgetSize {
    /// Data sets
    #[arg(long = "data", value_name = "FOLDER")]
    data: Vec<PathBuf>,
    /// Pages of each procedural web
    #[arg(long, default_value_t = 20_000)]
    pages: u32,
    /// Crawls of each web
    #[arg(long, default_value_t = 3)]
    crawls: u64,
    /// The present budget, as a part of the pages
    #[arg(long, default_value_t = 0.05)]
    share: f64,
    /// Part of k that is drawn at random
    #[arg(long, default_value_t = 0.1)]
    audit_share: f64,
    /// Formula in force
    #[arg(long, default_value = "p_eb_site * sqrt(sqrt(u_harm_site))")]
    formula: String,
}

/// A forecast beside the truth.
struct BudgetRow {
    budget: f64,
    forecast: f64,
    interval: [f64; 2],
    raw: f64,
    truth: f64,
}

/// What one crawl showed.
struct ShownCrawl {
    rows: Vec<BudgetRow>,
    /// The budget of plain revisiting as told with its interval, and the freshness that it really brings less ours.
    saved: Option<(f64, [Option<f64>; 2], f64)>,
    /// The budget that plain revisiting really needs.
    needed: Option<f64>,
}

pub fn run(size: &BudgetSize) -> Result<(), Failure> {
    println!("web seed budget forecast low high raw truth error held");
    let mut all: Vec<(f64, bool, f64)> = Vec::new();
    let mut savings_lines = Vec::new();
    let recorded = size.data.iter().map(|path| Web::Recorded(path));
    for web in recorded.chain([Web::Poisson, Web::Bursts, Web::Week]) {
        let seeds: Vec<u64> = (1..=size.crawls).collect();
        // All crawls of a web first, so that their lines come in the order of seeds.
        let shown: Vec<(u64, String, ShownCrawl)> =
            seeds.par_iter().map(|&seed| one(size, &web, seed)).collect::<Result<_, Failure>>()?;
        for (seed, name, shown) in shown {
            for row in &shown.rows {
                let error = row.forecast - row.truth;
                let held = (row.interval[0]..=row.interval[1]).contains(&row.truth);
                println!(
                    "{name} {seed} {} {:.4} {:.4} {:.4} {:.4} {:.4} {error:+.4} {held}",
                    row.budget, row.forecast, row.interval[0], row.interval[1], row.raw, row.truth
                );
                all.push((error.abs(), held, (row.raw - row.truth).abs()));
            }
            let end = |end: Option<f64>| end.map_or("over".into(), |end| format!("{end:.3}"));
            savings_lines.push(match shown.saved {
                Some((budget, [low, high], difference)) => format!(
                    "{name} {seed} {budget:.3} {} {} {} {difference:+.4}",
                    end(low),
                    end(high),
                    end(shown.needed)
                ),
                None => format!("{name} {seed} over - - {} -", end(shown.needed)),
            });
        }
    }
    println!("\nweb seed plain_told low high plain_needed fresh_at_told_less_ours");
    savings_lines.iter().for_each(|line| println!("{line}"));
    let count = all.len() as f64;
    let share =
        |of: &dyn Fn(&(f64, bool, f64)) -> bool| all.iter().filter(|row| of(row)).count() as f64 / count;
    println!(
        "\nforecasts {count}: within .01 {:.3}, held {:.3}; mean error {:.4}, of the raw log {:.4}",
        share(&|row| row.0 <= 0.01),
        share(&|row| row.1),
        all.iter().map(|row| row.0).sum::<f64>() / count,
        all.iter().map(|row| row.2).sum::<f64>() / count,
    );
    Ok(())
}

enum Web<'p> {
    Recorded(&'p Path),
    Poisson,
    Bursts,
    Week,
}

impl Web<'_> {
    fn world(&self, size: &BudgetSize, seed: u64) -> Result<World, Failure> {
        let cycles = SETTLING + AFTER + 2;
        let procedural = |name: &str, mix: &str, week: bool| -> Result<World, Failure> {
            let config = ProceduralConfig {
                pages: size.pages,
                hosts: size.pages / 100,
                seed,
                mix: mix.parse()?,
                habits: Habits { liveliness: 4.0, week, ..Habits::default() },
                ..ProceduralConfig::default()
            };
            let mut world = World::procedural(config, cycles)?;
            world.name = name.into();
            Ok(world)
        };
        match self {
            Web::Recorded(folder) => World::recorded(folder, cycles, seed),
            Web::Poisson => procedural("poisson", "static=30,poisson=70", false),
            Web::Bursts => procedural("bursts", "static=40,bursty=60", false),
            Web::Week => procedural("week", "static=30,poisson=70", true),
        }
    }
}

fn one(size: &BudgetSize, web: &Web<'_>, seed: u64) -> Result<(u64, String, ShownCrawl), Failure> {
    let world = web.world(size, seed)?;
    let folder = tempfile::tempdir()?;
    let begun = folder.path().join("begun");
    let settings = |formula: &str, budget: f64| {
        format!(
            "[cycle]\npages = \"{}%\"\npages_min = 1\ndiscovery_share = 0\naudit_share = {}\n\
             [schedule]\nformula = \"{formula}\"\n[improve]\nmode = \"watch\"\n",
            100.0 * size.share * budget,
            size.audit_share
        )
    };
    let mut crawl = Simulated::open(&world, &begun, &settings(&size.formula, 1.0), seed)?;
    for _ in 0..SETTLING {
        crawl.cycle()?;
    }
    drop(crawl);
    let branch = |formula: &str, budget: f64| -> Result<_, Failure> {
        let place = tempfile::tempdir_in(folder.path())?;
        copy(&begun, &place.path().join("crawl"))?;
        let settings = settings(formula, budget);
        let mut crawl = Simulated::open(&world, &place.path().join("crawl"), &settings, seed)?;
        let (mut watcher, mut truth) = (Watcher::new(), Vec::new());
        for _ in 0..AFTER {
            let judged = crawl.cycle()?;
            truth.push(judged.fresh as f64 / judged.eligible as f64);
            watcher.add(judged.report);
        }
        let later = &truth[truth.len() / 2..];
        let fresh = later.iter().sum::<f64>() / later.len() as f64;
        Ok((place, crawl, watcher.finish(), fresh))
    };
    let (_present, crawl, watch, ours) = branch(&size.formula, 1.0)?;
    let (Some(value), Some([low, high])) = (watch.freshness.share, watch.freshness.interval) else {
        return Err(format!("{}: too few audited pages", world.name).into());
    };
    let deviation = (high - low) / 2.0 / recrawl_estimation::interval::Z;
    let measured = Interval { value, variance: deviation * deviation, sample: watch.freshness.pages };
    let generation = crawl.crawl.repository.current();
    let request = SampleRequest { pages: 50_000, cycles: AFTER, warmup: 1, seed: 0 };
    let histories = Histories::read(&generation, &crawl.crawl.repository.kept(), request)?;
    let completions = Completions::new(&histories);
    let visits = histories.visits_a_page();
    let formula = Formula::from_expression(&size.formula)?;
    let replays = BudgetReplays::run(&completions, &formula, visits, &BUDGETS);
    let forecasts = replays.forecasts(measured);
    let raw_log = raw_log(&histories);
    let raw_at = |budget: f64| -> Result<f64, Failure> {
        let rules = Rules { warmup: 0, budget: Budget::Share(budget * visits), ..Rules::default() };
        Ok(freshness(&replay::run(&raw_log, &rules, &mut ReplayFormula::new(&formula))?))
    };
    let mut rows = Vec::new();
    for budget in TRIED {
        let forecast = forecasts.iter().find(|forecast| forecast.budget == budget).ok_or("no forecast")?;
        let truth = if budget == 1.0 { ours } else { branch(&size.formula, budget)?.3 };
        rows.push(BudgetRow {
            budget,
            forecast: forecast.share,
            interval: forecast.interval,
            raw: raw_at(budget)?,
            truth,
        });
    }
    let plain = BudgetReplays::run(&completions, &Formula::from_expression("t")?, visits, &BUDGETS);
    let told = savings(&replays, &plain);
    // The budget that plain revisiting really needs, by steps.
    let mut needed = None;
    let mut before: Option<(f64, f64)> = None;
    for budget in [0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0] {
        let fresh = branch("t", budget)?.3;
        if fresh >= ours {
            needed = Some(match before {
                Some((lower, fresh_below)) => {
                    let part = (ours - fresh_below) / (fresh - fresh_below);
                    (f64::ln(lower) + part * (budget / lower).ln()).exp()
                }
                None => budget,
            });
            break;
        }
        before = Some((budget, fresh));
    }
    let saved = match told.budget {
        Some(budget) => Some((budget, told.interval, branch("t", budget)?.3 - ours)),
        None => None,
    };
    Ok((seed, world.name.clone(), ShownCrawl { rows, saved, needed }))
}

/// The log as it is: a page changes when a visit finds it changed, and not otherwise.
fn raw_log(histories: &Histories) -> Dataset {
    let Histories { first, last, pages, .. } = histories;
    let changes: Vec<Vec<(u32, u16)>> = pages
        .iter()
        .map(|page| {
            let changed = page.visits.iter().filter(|(_, changed)| *changed);
            (1..).zip(changed).map(|(version, (cycle, _))| (cycle.0, version)).collect()
        })
        .collect();
    let recorded = pages.iter().map(|page| RecordedPage {
        url: page.url.as_text().into(),
        last: last.0,
        ..RecordedPage::default()
    });
    Dataset {
        name: "log".into(),
        dates: Vec::new(),
        pages: recorded.collect(),
        sites: vec![String::new()],
        groups: vec![String::new()],
        truth: Truth::from_changes_after(first.0 - 2, last.0, changes.iter().map(Vec::as_slice)),
        signals: Signals::default(),
        contents: None,
        beginning: Some(Arc::new(Beginning {
            cycle: first.0 - 1,
            histories: pages.iter().map(|page| page.before).collect(),
        })),
    }
}
