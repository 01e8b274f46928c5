//! What `recrawl learn` tells of several data sets.

use super::files::LearnFiles;
use super::json::formula;
use super::{closing, print, print_json, warnings};
use crate::cli::LearnArgs;
use recrawl_crawl::failure::Failure;
use recrawl_learner::LearnOptions;
use recrawl_learner::sets::{FoldOfSets, LearnedOfSets, SetResult, report};
use serde_json::{Value, json};
use std::time::Instant;

pub fn finished(
    learned: &LearnedOfSets,
    options: &LearnOptions,
    files: &LearnFiles,
    args: &LearnArgs,
    begun: Instant,
) -> Result<(), Failure> {
    files.write(&learned.formula, &report::markdown(learned, options), None)?;
    let seconds = begun.elapsed().as_secs_f64();
    let warnings = warnings(&learned.formula, options);
    if args.json {
        return print_json(&document(learned, files, &warnings, seconds));
    }
    print(format!("{}\n", learned.formula.expr))?;
    print(format!("{} on the test data of each set", options.fitness))?;
    for set in &learned.sets {
        print(format!(
            "  {:16}  learned {:.4}, best known {:.4}, gain {:+.4}: learned is {}",
            set.name,
            set.learned,
            set.best_known_fitness,
            set.gain,
            set.paired.verdict().name()
        ))?;
    }
    closing(&learned.why(), &warnings, learned.work, seconds, files)
}

fn document(learned: &LearnedOfSets, files: &LearnFiles, warnings: &[String], seconds: f64) -> Value {
    json!({
        "formula": formula(&learned.formula),
        "files": {"formula": files.formula, "report": files.report},
        "from_fold": learned.folds[learned.from].fold + 1,
        "choice": {
            "written": if learned.is_worth_it() { "learned" } else { "known" },
            "known": learned.known.name,
            "gain": learned.gain,
            "error": learned.error,
            "gains_on_other_folds": learned.gains,
            "why": learned.why(),
        },
        "sets": learned.sets.iter().map(set).collect::<Vec<_>>(),
        "folds": learned.folds.iter().map(fold).collect::<Vec<_>>(),
        "warnings": warnings,
        "work": learned.work,
        "seconds": seconds,
    })
}

fn set(set: &SetResult) -> Value {
    json!({
        "name": set.name,
        "pages": set.pages,
        "cycles": set.cycles,
        "learned": set.learned,
        "best_known": set.best_known,
        "best_known_fitness": set.best_known_fitness,
        "gain": set.gain,
        "p_cycles": set.paired.over_cycles.p,
        "p_sites": set.paired.over_sites.map(|sites| sites.p),
        "learned_is": set.paired.verdict().name(),
        "known_fitness": set.known,
        "known_gain": set.known_gain,
        "true_rate": set.bound,
    })
}

fn fold(fold: &FoldOfSets) -> Value {
    json!({
        "fold": fold.fold + 1,
        "method": fold.method,
        "expression": fold.candidate.simplified.to_string(),
        "nodes": fold.candidate.simplified.nodes(),
        "random_seed": fold.candidate.seed,
        "train": fold.candidate.train(),
        "validation": fold.candidate.validation(),
        "test": fold.test,
        "best_known": fold.known.iter().map(|formula| &formula.name).collect::<Vec<_>>(),
    })
}
