//! What the loop does in years of crawling: does it promote what is better, refuse what is not, and see drift?

use crate::Failure;
use crate::simulated::{Simulated, offer};
use crate::world::World;
use clap::Args;
use rayon::prelude::*;
use recrawl_crawl::parts::improve::candidate::{BackTestFigures, FormulaCandidate, FreshnessTest};
use recrawl_crawl::parts::improve::steps::{CandidateEvent, DecisionAuthor, LoopState};
use recrawl_crawl::settings::formula_file;
use recrawl_forecast::back_test::{Aim, back_test, best};
use recrawl_forecast::{Completions, Histories, SampleRequest};
use recrawl_formula::Formula;
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::{Habits, RateDrift};
use recrawl_types::LoopEventKind;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// Cycles of which a mean of freshness is told.
const WINDOW: usize = 28;
/// Cycles of a plain crawl until its figures count, and in all.
const SETTLING: u32 = 60;
const PLAIN: u32 = 160;
/// The aim of candidates.
const AIM: Aim = Aim::Balanced;
/// Pages whose histories are completed at most.
const SAMPLE: usize = 10_000;
/// Cycles that histories reach back.
const KEPT: u32 = 60;

/// The years.
#[derive(Args)]
pub struct YearsSize {
    /// A data set instead of a procedural web
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Crawls, each with a seed of its own
    #[arg(long, default_value_t = 4)]
    crawls: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pages of each
    #[arg(long, default_value_t = 10_000)]
    pages: u32,
    /// Hosts of each
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Cycles of each
    #[arg(long, default_value_t = 365)]
    cycles: u32,
    /// Weights of the change laws
    #[arg(long, default_value = "static=30,poisson=70")]
    mix: String,
    /// The liveliest host changes this many times as often as the mean
    #[arg(long, default_value_t = 4.0)]
    liveliness: f64,
    /// From CYCLE on, a SHARE of hosts changes FACTOR times as often: CYCLE:FACTOR@SHARE
    #[arg(long, value_parser = RateDrift::from_str)]
    drift: Vec<RateDrift>,
    /// Cycle at which quiet and lively hosts trade places
    #[arg(long)]
    swap: Vec<u32>,
    /// Cycle at which the second half of the hosts is imported
    #[arg(long)]
    import: Option<u32>,
    /// k, as a part of the pages
    #[arg(long, default_value_t = 0.1)]
    share: f64,
    /// Part of k that is drawn at random
    #[arg(long, default_value_t = 0.2)]
    audit_share: f64,
    /// Formula in force at the start
    #[arg(long)]
    formula: String,
    /// Formulas of which the best on one half of the sites becomes the candidate
    #[arg(long, value_delimiter = ';')]
    pool: Vec<String>,
    /// Learn candidates with this program, `recrawl`, instead
    #[arg(long, value_name = "PROGRAM", conflicts_with = "pool")]
    learner: Option<PathBuf>,
    /// Processor time of learning
    #[arg(long, default_value = "20 s")]
    learn_cpu: String,
    /// A candidate that is offered at a cycle, whatever its back-test: CYCLE:EXPRESSION
    #[arg(long)]
    offered: Option<String>,
    /// Promote what is offered at once, as an operator would
    #[arg(long)]
    forced: bool,
    /// `improve.mode`
    #[arg(long, default_value = "promote")]
    mode: String,
    /// Further keys of `[improve]`, as TOML
    #[arg(long, default_value = "")]
    improve: String,
    /// Compare each promoted formula with the one before and with the pool, in crawls of the same web without the loop
    #[arg(long)]
    hindsight: bool,
    /// Tell each event
    #[arg(long)]
    events: bool,
}

/// A year.
struct Year {
    events: Vec<CandidateEvent>,
    /// Share of fresh pages before the visits of each cycle.
    fresh: Vec<f64>,
    /// Promoted formulas, each with the one before.
    promoted: Vec<(String, String)>,
    in_force: String,
    /// Of a formula, ChangeRate and freshness of a crawl without the loop.
    hindsight: BTreeMap<String, (f64, f64)>,
}

pub fn run(size: &YearsSize) -> Result<(), Failure> {
    println!("seed promoted rolled_back rejected proposed refused alarms in_force fresh_by_{WINDOW}_cycles");
    let seeds: Vec<u64> = (size.seed..size.seed + size.crawls).collect();
    let years: Vec<(u64, Year)> =
        seeds.par_iter().map(|&seed| Ok((seed, year(size, seed)?))).collect::<Result<_, Failure>>()?;
    let (mut promotions, mut no_better, mut losing) = (0, 0, 0);
    for (seed, year) in &years {
        let count = |what: LoopEventKind| year.events.iter().filter(|event| event.what == what).count();
        let mean = |window: &[f64]| format!("{:.4}", window.iter().sum::<f64>() / window.len() as f64);
        let windows: Vec<String> = year.fresh.chunks(WINDOW).map(mean).collect();
        println!(
            "{seed} {} {} {} {} {} {} {:?} {}",
            count(LoopEventKind::Promoted),
            count(LoopEventKind::RolledBack),
            count(LoopEventKind::Rejected),
            count(LoopEventKind::Proposed),
            count(LoopEventKind::Refused),
            count(LoopEventKind::Alarm),
            year.in_force,
            windows.join(" "),
        );
        let told = year.events.iter().filter(|event| size.events || event.what == LoopEventKind::Promoted);
        told.for_each(|event| {
            println!("    {} {:?} {} {}", event.cycle, event.what, event.candidate, event.why);
        });
        for (before, candidate) in &year.promoted {
            promotions += 1;
            // Only a run with hindsight has these figures.
            let (Some(old), Some(new)) = (year.hindsight.get(before), year.hindsight.get(candidate)) else {
                continue;
            };
            let gain = gain(*old, *new);
            println!(
                "    {before} -> {candidate}: ChangeRate {:.4} -> {:.4}, fresh {:.4} -> {:.4}, gain {gain:+.4}",
                old.0, new.0, old.1, new.1
            );
            no_better += u32::from(gain <= 0.0);
            losing += u32::from(new.1 < old.1 - 0.02);
        }
        if let (Some((first, _)), Some(end)) = (year.promoted.first(), year.hindsight.get(&year.in_force)) {
            let gain = |figures| gain(year.hindsight[first], figures);
            let best = year.hindsight.iter().max_by(|a, b| gain(*a.1).total_cmp(&gain(*b.1)));
            let (best, figures) = best.ok_or("no formula was compared")?;
            println!(
                "    ends with a gain of {:+.4}; the best is {best}: {:+.4}",
                gain(*end),
                gain(*figures)
            );
        }
    }
    println!(
        "{} crawls of {} cycles: {promotions} promotions, {no_better} without a gain, {losing} that lose more than .02 of \
         freshness",
        years.len(),
        size.cycles
    );
    Ok(())
}

/// The gain in [`AIM`] of figures over others.
fn gain(old: (f64, f64), new: (f64, f64)) -> f64 {
    0.5 * (new.0 / old.0 - 1.0) + 0.5 * (new.1 - old.1)
}

fn world(size: &YearsSize, seed: u64) -> Result<World, Failure> {
    let cycles = size.cycles.max(PLAIN) + 2;
    if let Some(folder) = &size.data {
        return World::recorded(folder, cycles, seed);
    }
    let habits = Habits {
        liveliness: size.liveliness,
        drifts: size.drift.clone(),
        swaps: size.swap.clone(),
        week: false,
    };
    let config = ProceduralConfig {
        pages: size.pages,
        hosts: size.hosts,
        seed,
        mix: size.mix.parse()?,
        habits,
        ..ProceduralConfig::default()
    };
    World::procedural(config, cycles)
}

fn settings(size: &YearsSize, formula: &str, mode: &str) -> String {
    format!(
        "[cycle]\npages = \"{}%\"\npages_min = 1\ndiscovery_share = 0\naudit_share = {}\n\
         [schedule]\nformula = \"{formula}\"\n[improve]\nmode = \"{mode}\"\n{}\n",
        100.0 * size.share,
        size.audit_share,
        size.improve
    )
}

fn year(size: &YearsSize, seed: u64) -> Result<Year, Failure> {
    let world = world(size, seed)?;
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("crawl");
    let text = settings(size, &size.formula, &size.mode);
    let early = |host: u32| size.import.is_none() || host.is_multiple_of(2);
    let mut crawl = Simulated::open_with(&world, &data, &text, seed, early)?;
    let offered = match size.offered.as_ref().map(|text| text.split_once(':').ok_or("write CYCLE:EXPRESSION"))
    {
        Some(parts) => {
            let (cycle, text) = parts?;
            Some((cycle.parse::<u32>()?, Formula::from_expression(text)?))
        }
        None => None,
    };
    let pool: Vec<Formula> =
        size.pool.iter().map(|text| Formula::from_expression(text)).collect::<Result<_, _>>()?;
    let mut year = Year {
        events: Vec::new(),
        fresh: Vec::new(),
        promoted: Vec::new(),
        in_force: String::new(),
        hindsight: BTreeMap::new(),
    };
    let mut before = formula_file::in_force(&crawl.crawl.settings)?.expr.to_string();
    for _ in 0..size.cycles {
        let cycle = crawl.next();
        if size.import == Some(cycle.0) {
            crawl.import(|host| !early(host))?;
        }
        if let Some((_, formula)) = offered.as_ref().filter(|(at, _)| *at == cycle.0) {
            offer(&data, formula, [0.01, 0.02])?;
        }
        let judged = crawl.cycle()?;
        if judged.eligible > 0 {
            year.fresh.push(judged.fresh as f64 / judged.eligible as f64);
        }
        let Some(rules) = crawl.crawl.settings.loop_rules else { continue };
        let state = crawl.crawl.improve.read()?;
        if offered.as_ref().is_some_and(|(at, _)| size.forced && *at == cycle.0) {
            let in_force = formula_file::in_force(&crawl.crawl.settings)?;
            let by = DecisionAuthor { who: "a study".into(), at: 0, cycle: cycle.next() };
            let promoted = crawl.crawl.improve.change(|state| state.promote(&in_force, &by))?;
            promoted.map_err(|why| why.to_string())?;
        }
        let new: VecDeque<&CandidateEvent> =
            state.events.iter().rev().take_while(|event| event.cycle == cycle).collect();
        for event in new.into_iter().rev() {
            if event.what == LoopEventKind::Promoted {
                year.promoted.push((before.clone(), event.candidate.clone()));
            }
            year.events.push(event.clone());
        }
        before = formula_file::in_force(&crawl.crawl.settings)?.expr.to_string();
        if state.wants_learning(cycle, &rules) {
            crawl.crawl.improve.change(|state| state.learned = cycle)?;
            match &size.learner {
                Some(program) => {
                    let tries = state.tries;
                    // The learner opens the folder itself.
                    drop(crawl);
                    learn(size, program, &data, &text, tries)?;
                    crawl = Simulated::open(&world, &data, &text, seed)?;
                }
                None if !pool.is_empty() => choose(&crawl, &data, &pool, &state)?,
                None => {}
            }
        }
    }
    year.in_force = before;
    if size.hindsight && !year.promoted.is_empty() {
        let promoted = year.promoted.iter().flat_map(|(before, candidate)| [before, candidate]);
        let formulas: Vec<String> = promoted.chain(&size.pool).cloned().collect();
        for formula in formulas {
            if let Entry::Vacant(vacant) = year.hindsight.entry(formula) {
                let figures = plain(size, &world, vacant.key(), seed)?;
                vacant.insert(figures);
            }
        }
    }
    Ok(year)
}

/// ChangeRate and freshness of a crawl without the loop.
fn plain(size: &YearsSize, world: &World, formula: &str, seed: u64) -> Result<(f64, f64), Failure> {
    let folder = tempfile::tempdir()?;
    let mut crawl = Simulated::open(world, folder.path(), &settings(size, formula, "off"), seed)?;
    let (mut fresh, mut pages) = (0, 0);
    for cycle in 0..PLAIN {
        if cycle == SETTLING {
            (crawl.met, fresh, pages) = (Default::default(), 0, 0);
        }
        let judged = crawl.cycle()?;
        (fresh, pages) = (fresh + judged.fresh, pages + judged.eligible);
    }
    Ok((crawl.met.changed as f64 / crawl.met.visits as f64, fresh as f64 / pages as f64))
}

/// As `recrawl improve run`, but nothing is learned: the best of a pool becomes the candidate.
fn choose(crawl: &Simulated<'_>, data: &Path, pool: &[Formula], state: &LoopState) -> Result<(), Failure> {
    let generation = crawl.crawl.repository.current();
    let warmup = crawl.crawl.settings.config.cycle.warmup;
    let request = SampleRequest { pages: SAMPLE, cycles: KEPT, warmup, seed: 0 };
    let histories = Histories::read(&generation, &crawl.crawl.repository.kept(), request)?;
    if histories.pages.is_empty() {
        return Ok(());
    }
    let in_force = formula_file::in_force(&crawl.crawl.settings)?;
    let visits = histories.visits_a_page();
    let formulas: Vec<Formula> = [in_force].into_iter().chain(pool.iter().cloned()).collect();
    let completions = Completions::new(&histories);
    let tested = back_test(&completions, &formulas, visits, AIM);
    let place = best(&tested, AIM).ok_or("an empty pool")?;
    let (candidate, found) = (&formulas[place], &tested[place]);
    // The best of several is tested, so each has its part of the chance of error.
    let alpha = state.alpha() / pool.len() as f64;
    let back_test = BackTestFigures {
        fitness: AIM.name().into(),
        in_force: (formulas[0].name.clone(), tested[0].reached),
        candidate: found.reached,
        closed_forms: Vec::new(),
        gain: found.gain.ends(alpha),
        alpha,
        coverage: [tested[0].coverage, found.coverage],
        sample: [histories.pages.len() as u64, completions.groups() as u64, completions.cycles().into()],
        freshness: Some(FreshnessTest {
            in_force: tested[0].freshness,
            candidate: found.freshness,
            gain: found.gains[1].ends(alpha),
        }),
    };
    Ok(FormulaCandidate::new(candidate, histories.last.0, back_test)?.write(data)?)
}

/// Runs the program's own learner over the folder. Too little to learn from is no failure of the study.
fn learn(size: &YearsSize, program: &Path, data: &Path, settings: &str, tries: u32) -> Result<(), Failure> {
    let config = data.with_extension("toml");
    std::fs::write(&config, format!("{settings}[crawler]\ncontact = \"https://studies.example/\"\n"))?;
    let mut command = Command::new(program);
    command.args(["improve", "run", "--quiet", "--threads", "1", "--cpu", &size.learn_cpu, "--tries"]);
    command.arg(tries.to_string()).arg("--data-dir").arg(data).arg("--config").arg(&config);
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
