//! The curves of the report: the learned formula and the best known policies, cycle by cycle.

use super::Report;
use crate::fitness::Fitness;
use crate::policy_result::PolicyResult;
use recrawl_simulation::CycleFigures;
use recrawl_simulation::compare::ReplayRole;
use recrawl_simulation::metric::{CHANGE_RATE, FRESHNESS};
use recrawl_simulation::plot::{Panel, Plot, smoothed};

/// Number of best known policies in the plot.
const POLICIES: usize = 4;
/// Curves are smoothed over this many cycles, since days of the week would hide the trend.
const SMOOTH: usize = 7;

/// The fitness, ChangeRate and freshness of the chosen method, the best known policies and the
/// bounds.
pub(super) fn plot(report: &Report<'_>, title: &str, fitness: &Fitness) -> Plot {
    let mut known: Vec<&PolicyResult> =
        report.policy_results.iter().filter(|s| s.role == ReplayRole::Baseline).collect();
    known.sort_by(|a, b| b.fitness.total_cmp(&a.fitness));
    let bounds = report.policy_results.iter().filter(|s| s.role == ReplayRole::Bound);
    let shown: Vec<&PolicyResult> =
        std::iter::once(report.chosen()).chain(known.into_iter().take(POLICIES)).chain(bounds).collect();
    let mut panels = vec![panel(&shown, &fitness.to_string(), |c| fitness.of_cycle(c))];
    for metric in [CHANGE_RATE, FRESHNESS] {
        if fitness.single() != Some(&metric) {
            panels.push(panel(
                &shown,
                metric.name,
                metric.of_cycle().expect("these have a value in each cycle"),
            ));
        }
    }
    Plot {
        title: format!("{title}: test parts, mean over folds, smoothed over {SMOOTH} cycles"),
        across: "cycle of the test part".into(),
        panels,
        names: shown.iter().map(|s| s.name.clone()).collect(),
        is_logarithmic: false,
    }
}

fn panel(shown: &[&PolicyResult], label: &str, value: impl Fn(&CycleFigures) -> f64) -> Panel {
    Panel {
        label: label.to_owned(),
        curves: shown.iter().map(|s| curve(s, &value)).collect(),
        ..Panel::default()
    }
}

/// The mean over the folds of each cycle.
fn curve(result: &PolicyResult, value: impl Fn(&CycleFigures) -> f64) -> Vec<(f64, f64)> {
    let cycles = &result.trace.cycles;
    let (folds, length) = (result.folds.len(), cycles.len() / result.folds.len().max(1));
    let at = |cycle: usize| (0..folds).map(move |fold| &cycles[fold * length + cycle]);
    let means: Vec<f64> = (0..length).map(|c| at(c).map(&value).sum::<f64>() / folds as f64).collect();
    let across = (0..length).map(|c| f64::from(cycles[c].cycle));
    across.zip(smoothed(&means, SMOOTH)).collect()
}
