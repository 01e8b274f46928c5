//! `recrawl learn`: learns a score formula from recorded page changes.

mod files;
mod json;
mod order;
mod own_visits;
mod progress;
mod several;

use super::{counted, print, print_json, print_labelled, thousands};
use crate::cli::LearnArgs;
use crate::process::signals;
use files::LearnFiles;
use own_visits::OwnVisits;
pub use progress::LearnProgress;
use recrawl_contest::failure_of_data;
use recrawl_crawl::failure::Failure;
use recrawl_formula::{Formula, Protection};
use recrawl_learner::{
    Checkpoint, Ending, FoldsError, LearnError, LearnOptions, LearningResult, Preset, Report, Work, learn,
    learn_sets, sets,
};
use recrawl_simulation::compare::Verdict;
use recrawl_types::Span;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

pub fn run(args: &LearnArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let (own, order) = (own_visits::read(args)?, order::check(args)?);
    let read =
        |path: &PathBuf| recrawl_simulation::open(path, args.format.as_deref()).map_err(failure_of_data);
    let mut sets = args.data.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let order = match own {
        None => order,
        Some(OwnVisits { data, visits_a_page, in_force }) => {
            sets.push(data);
            order.for_own_visits(visits_a_page, &in_force)?
        }
    };
    let name = match sets.as_slice() {
        [one] => one.name.clone(),
        several => format!("{}-sets", several.len()),
    };
    let files = LearnFiles::new(args.out.as_deref(), &name)?;
    if args.all_policies && sets.len() > 1 {
        let text = "--all-policies compares on one data set; replay others with recrawl simulate";
        return Err(Failure::Usage(text.into()));
    }
    let sets = sets.into_iter().map(|set| args.replay.cut(set)).collect::<Result<Vec<_>, _>>()?;
    sets.iter().for_each(|set| args.replay.warn_of_few(set));
    sets::check(&sets).map_err(Failure::usage)?;
    // A page of two sets would be learned from in one and tested on in the other.
    let (sets, left_out) = sets::without_shared_pages(sets);
    for (set, left_out) in sets.iter().zip(left_out).filter(|(_, left_out)| *left_out > 0) {
        let pages = counted(left_out as u64, "page");
        tracing::warn!("{}: {pages} left out, since another data set before it has the same URL", set.name);
    }
    let options = order.for_data(&sets, files.name());
    // Files that are in the way must be an error now, not after hours.
    let runs = match args.resume {
        true => files.resume(&sets::names(&sets), &options)?.runs,
        false => files.vacant().map(|()| vec![])?,
    };
    let shutdown = signals::shutdown("stopping after this generation (a second signal stops at once)")?;
    let pool = pool(args.threads)?;
    for set in &sets {
        tracing::info!(pages = set.pages.len(), cycles = set.truth.cycles(), "learning started");
    }
    let mut progress = LearnProgress::new(&shutdown, args.cpu.map(|cpu| cpu.0));
    let failure = |e| failure(e, args);
    if let [data] = sets.as_slice() {
        let ending = learn(data, &options, runs, &pool, &mut progress).map_err(failure)?;
        progress.finish();
        return match ending {
            Ending::Stopped(checkpoint) => stopped(&checkpoint, &files, args),
            Ending::Learned(learned) => finished(&learned, &options, &files, args, begun),
        };
    }
    let ending = learn_sets(&sets, &options, runs, &pool, &mut progress).map_err(failure)?;
    progress.finish();
    match ending {
        Ending::Stopped(checkpoint) => stopped(&checkpoint, &files, args),
        Ending::Learned(learned) => several::finished(&learned, &options, &files, args, begun),
    }
}

/// Threads to learn with; one per core by default.
///
/// # Errors
/// When they cannot be started.
pub fn pool(threads: Option<u32>) -> Result<rayon::ThreadPool, Failure> {
    let threads = threads.map_or(0, |threads| threads as usize);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::work)
}

fn stopped(checkpoint: &Checkpoint, files: &LearnFiles, args: &LearnArgs) -> Result<(), Failure> {
    files.keep(checkpoint)?;
    let path = files.checkpoint.display();
    if args.json {
        return print_json(&json!({"stopped": true, "checkpoint": files.checkpoint}));
    }
    print(format!("stopped; progress saved in {path}. Run the same command with --resume to continue"))
}

fn finished(
    learned: &LearningResult,
    options: &LearnOptions,
    files: &LearnFiles,
    args: &LearnArgs,
    begun: Instant,
) -> Result<(), Failure> {
    let report = Report::new(learned, options);
    files.write(&learned.formula, &report.markdown(), Some(&report.svg()))?;
    let seconds = begun.elapsed().as_secs_f64();
    let warnings = warnings(&learned.formula, options);
    if args.json {
        return print_json(&json::document(learned, &report, files, &warnings, seconds));
    }
    print(format!("{}\n", learned.formula.expr))?;
    if !learned.across.changes.are_enough() {
        print(format!("{} on the test data: —", options.fitness))?;
        return closing(&learned.why(), &warnings, learned.work, seconds, files);
    }
    print_labelled(learned.across.changes.text())?;
    let chosen = report.chosen();
    print(format!("{} on the test data", options.fitness))?;
    print(format!("  learned           {:.4}", chosen.fitness))?;
    if let Some(best) = report.best_known() {
        let told = match best.verdict() {
            Verdict::CannotTell => "this data cannot tell which is better".to_owned(),
            verdict => format!("the learned formula is {}", verdict.name()),
        };
        print(format!("  {:16}  {:.4}  the {}: {told}", best.name, best.fitness, options.best_known()))?;
    }
    closing(&learned.why(), &warnings, learned.work, seconds, files)
}

/// Prints the last lines: which formula was written and why, the warnings, the work and the files.
fn closing(
    why: &str,
    warnings: &[String],
    work: Work,
    seconds: f64,
    files: &LearnFiles,
) -> Result<(), Failure> {
    print_labelled(format!("wrote {why}"))?;
    warnings.iter().try_for_each(|text| print_labelled(format!("warning: {text}")))?;
    print_labelled(told(work, seconds))?;
    print_labelled(format!(
        "formula: {}; report: {}; to use it: recrawl formula use {}",
        files.formula.display(),
        files.report.display(),
        files.formula.display()
    ))
}

/// What was evaluated.
fn told(work: Work, seconds: f64) -> String {
    let by_page = match work.replays_by_page {
        0 => String::new(),
        replays => format!(", {} page by page", counted(replays, "replay")),
    };
    format!(
        "{}, {} simulated{by_page}, {} of {} cached, {}",
        counted(work.asked, "individual"),
        thousands(work.replayed),
        thousands(work.cycles_remembered),
        counted(work.cycles, "cycle"),
        Span::seconds(seconds).rounded()
    )
}

/// Warnings about the formula, and about the functions that the preset allows.
fn warnings(formula: &Formula, options: &LearnOptions) -> Vec<String> {
    let Preset { name, protection, tree, .. } = &options.preset;
    let is_flat =
        *protection == Protection::Program && tree.functions.iter().any(|function| function == "log");
    let of_preset =
        is_flat.then(|| format!("preset {name}: with protection `{protection}`, {}", protection.flat_log()));
    formula.check().warnings().into_iter().chain(of_preset).collect()
}

/// Wrong arguments are a usage error; data that does not allow learning is not.
fn failure(error: LearnError, args: &LearnArgs) -> Failure {
    match (error.cause(), args.data.as_slice()) {
        (
            LearnError::Preset(_)
            | LearnError::NoFold { .. }
            | LearnError::Replay(_)
            | LearnError::Folds(FoldsError::FewFolds { .. }),
            _,
        ) => Failure::usage(error),
        (_, [path]) => Failure::Work(format!("{}: {error}", path.display())),
        _ => Failure::work(error),
    }
}
