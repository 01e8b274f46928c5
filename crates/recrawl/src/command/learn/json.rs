//! The results of `recrawl learn --json`.

use super::files::LearnFiles;
use recrawl_formula::Formula;
use recrawl_learner::judge::{FoldChanges, FoldResult};
use recrawl_learner::policy_result::PolicyResult;
use recrawl_learner::{LearningResult, Report};
use recrawl_simulation::compare::{CHANGES_NEEDED, ReplayRole};
use recrawl_simulation::metric;
use serde_json::{Map, Value, json};

pub fn document(
    learned: &LearningResult,
    report: &Report<'_>,
    files: &LearnFiles,
    warnings: &[String],
    seconds: f64,
) -> Value {
    let FoldChanges { training, validation, test } = learned.across.changes;
    let enough = learned.across.changes.are_enough();
    let of_changes = |figures: Vec<Value>| if enough { figures.into() } else { Value::Null };
    json!({
        "formula": formula(&learned.formula),
        "files": {"formula": files.formula, "report": files.report, "curves": files.curves},
        "from_fold": learned.folds[learned.from].fold + 1,
        "choice": {
            "written": if learned.across.is_worth_it() { "learned" } else { "known" },
            "known": learned.across.known.name,
            "gain": enough.then_some(learned.across.gain),
            "error": enough.then_some(learned.across.error),
            "gains_on_other_folds": enough.then_some(&learned.across.gains),
            "why": learned.why(),
        },
        "changes": {
            "training": training,
            "validation": validation,
            "test": test,
            "needed": CHANGES_NEEDED,
            "enough": enough,
        },
        "folds": of_changes(learned.folds.iter().map(fold).collect()),
        "standings": of_changes(report.policy_results.iter().map(policy_result).collect()),
        "warnings": warnings,
        "work": learned.work,
        "seconds": seconds,
    })
}

/// The formula that was written.
pub fn formula(formula: &Formula) -> Value {
    json!({
        "name": formula.name,
        "expression": formula.expr.to_string(),
        "nodes": formula.expr.nodes(),
        "protection": formula.protection,
        "estimators": formula.basis,
        "provenance": formula.provenance,
    })
}

fn fold(fold: &FoldResult) -> Value {
    let choices = fold.choices.iter().map(|choice| {
        json!({
            "method": choice.method,
            "expression": choice.candidate.simplified.to_string(),
            "nodes": choice.candidate.simplified.nodes(),
            "random_seed": choice.candidate.seed,
            "train": choice.candidate.train(),
            "validation": choice.candidate.validation(),
            "test": choice.test.fitness,
        })
    });
    let front = fold.front.iter().zip(&fold.front_test).map(|(point, test)| {
        json!({
            "expression": point.simplified.to_string(),
            "nodes": point.simplified.nodes(),
            "train": point.train(),
            "validation": point.validation(),
            "test": test,
        })
    });
    let runs = fold.runs.iter().map(|run| json!({"random_seed": run.seed, "generations": run.generations}));
    json!({
        "fold": fold.fold + 1,
        "pages": fold.sizes.map(|(pages, _)| pages),
        "cycles": fold.sizes.map(|(_, cycles)| cycles),
        "chosen": fold.choices[fold.chosen].method,
        "best_known_in_validation": fold.rival,
        "choices": choices.collect::<Vec<_>>(),
        "front": front.collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    })
}

fn policy_result(result: &PolicyResult) -> Value {
    let figures: Map<String, Value> =
        metric::ALL.iter().map(|m| (m.name.to_owned(), json!(m.of_replay(&result.trace)))).collect();
    json!({
        "name": result.name,
        "role": match result.role {
            ReplayRole::Candidate => "learned",
            ReplayRole::Baseline => "known",
            ReplayRole::Bound => "bound",
        },
        "fitness": result.fitness,
        "folds": result.folds,
        "difference": result.difference,
        "error": result.over_cycles.error,
        "effective_cycles": result.over_cycles.effective,
        "p_cycles": result.over_cycles.p,
        "p_sites": result.over_sites.map(|sites| sites.p),
        "learned_is": result.verdict().name(),
        "figures": figures,
    })
}
