//! What another budget would bring, and what a plain policy would ask for the same freshness.

use crate::Completions;
use rayon::prelude::*;
use recrawl_estimation::{Interval, combine};
use recrawl_formula::Formula;
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Budget, Dataset, ReplayPolicy, Rules, SiteFigures, Trace, replay};
use serde::Serialize;

/// Completions that are replayed.
pub const COMPLETIONS: u64 = 5;
/// Budgets to replay, as parts of the present one.
pub const BUDGETS: [f64; 7] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0];
/// Standard deviations to each side of an interval.
const Z: f64 = recrawl_estimation::interval::Z;

/// The freshness that a budget would bring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The budget, as a part of the present one.
    pub budget: f64,
    /// Share of fresh pages before the visits of a cycle, as the replays alone tell it.
    pub replayed: f64,
    /// The same, where the present budget brings what was measured.
    pub share: f64,
    /// Ends of its 95 % interval.
    pub interval: [f64; 2],
}

/// The replays of one formula.
pub struct BudgetReplays {
    /// Budgets as parts of the present one, ascending; one of them is 1.
    budgets: Vec<f64>,
    /// By completion and budget.
    traces: Vec<Vec<Trace>>,
}

fn logit(share: f64) -> f64 {
    // A share of exactly 0 or 1 has no logit.
    let share = share.clamp(1e-6, 1.0 - 1e-6);
    (share / (1.0 - share)).ln()
}

fn logistic(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// Share of fresh pages before the visits, in the later half of the cycles: the earlier half still shows the old budget.
pub fn freshness(trace: &Trace) -> f64 {
    let later = &trace.cycles[trace.cycles.len() / 2..];
    let pages: u64 = later.iter().map(|cycle| cycle.pages).sum();
    let stale: u64 = later.iter().map(|cycle| cycle.pending).sum();
    1.0 - stale as f64 / pages.max(1) as f64
}

/// The replay of a formula at a budget. `watch` sees its figures so far after each cycle.
pub(crate) fn replayed(
    data: &Dataset,
    policy: &mut dyn ReplayPolicy,
    share: f64,
    watch: &mut dyn FnMut(&Trace),
) -> Trace {
    let rules =
        Rules { warmup: 0, budget: Budget::Share(share.clamp(f64::MIN_POSITIVE, 1.0)), ..Rules::default() };
    replay::run_watched(data, &rules, policy, watch).expect("a completion has pages and cycles")
}

impl BudgetReplays {
    /// Replays a formula over all completions, at these budgets and the present one. `visits_a_page` is the present one, in
    /// visits of a page a cycle.
    pub fn run(
        completions: &Completions<'_>,
        formula: &Formula,
        visits_a_page: f64,
        budgets: &[f64],
    ) -> BudgetReplays {
        let mut budgets = [budgets, &[1.0]].concat();
        budgets.sort_by(f64::total_cmp);
        budgets.dedup();
        let of_seed = |seed: u64| {
            let data = completions.draw(seed);
            let at = |budget| {
                replayed(&data, &mut ReplayFormula::new(formula), budget * visits_a_page, &mut |_| {})
            };
            budgets.iter().map(at).collect()
        };
        let traces = (0..COMPLETIONS).into_par_iter().map(of_seed).collect();
        BudgetReplays { budgets, traces }
    }

    /// The place of the present budget.
    fn present(&self) -> usize {
        self.budgets.iter().position(|budget| *budget == 1.0).expect("it is always replayed")
    }

    /// Forecasts at all budgets, given the measured freshness at the present one.
    pub fn forecasts(&self, measured: Interval) -> Vec<Forecast> {
        let present = self.present();
        let slope = measured.value * (1.0 - measured.value);
        let of_anchor = measured.variance / (slope * slope).max(1e-12);
        let forecast = |(place, budget): (usize, &f64)| {
            let steps: Vec<Interval> =
                self.traces.iter().map(|traces| step(&traces[present], &traces[place])).collect();
            let step = combine(&steps).unwrap_or_default();
            let middle = logit(measured.value) + step.value;
            let half = Z * (of_anchor + step.variance).sqrt();
            let sum: f64 = self.traces.iter().map(|traces| freshness(&traces[place])).sum();
            Forecast {
                budget: *budget,
                replayed: sum / self.traces.len() as f64,
                share: logistic(middle),
                interval: [logistic(middle - half), logistic(middle + half)],
            }
        };
        self.budgets.iter().enumerate().map(forecast).collect()
    }
}

/// How far the logit of freshness moves from one replay to another over the same pages. The variance is that of groups
/// drawn anew.
fn step(from: &Trace, to: &Trace) -> Interval {
    let value = logit(freshness(to)) - logit(freshness(from));
    let sums = |trace: &Trace| {
        let sum = |of: fn(&SiteFigures) -> u64| trace.sites.iter().map(of).sum::<u64>() as f64;
        (sum(|site| site.pages), sum(|site| site.stale + site.changed))
    };
    let moved = |trace: &Trace| {
        let (pages, stale) = sums(trace);
        let share = (stale / pages.max(1.0)).clamp(1e-6, 1.0 - 1e-6);
        let weight = 1.0 / (pages.max(1.0) * share * (1.0 - share));
        let residual =
            |site: &SiteFigures| -weight * ((site.stale + site.changed) as f64 - share * site.pages as f64);
        trace.sites.iter().map(residual).collect::<Vec<f64>>()
    };
    let groups = to.sites.iter().filter(|site| site.pages > 0).count() as f64;
    let squares: f64 = moved(to).iter().zip(moved(from)).map(|(to, from)| (to - from).powi(2)).sum();
    let variance = if groups > 1.0 { groups / (groups - 1.0) * squares } else { f64::INFINITY };
    Interval { value, variance, sample: groups as u64 }
}

/// What another policy would ask for the freshness that the formula in force brings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RevisitSavings {
    /// Its budget, as a part of the present one; none if it needs more than the largest that was replayed.
    pub budget: Option<f64>,
    /// Ends of the 95 % interval; an end is none beyond what was replayed.
    pub interval: [Option<f64>; 2],
}

/// The budget at which the replays of `plain` are as fresh as those of `ours` at the present one.
pub fn savings(ours: &BudgetReplays, plain: &BudgetReplays) -> RevisitSavings {
    let present = ours.present();
    let difference = |place: usize| {
        let pairs = ours.traces.iter().zip(&plain.traces);
        let steps: Vec<Interval> = pairs.map(|(ours, plain)| step(&ours[present], &plain[place])).collect();
        combine(&steps).unwrap_or_default()
    };
    let budgets = &plain.budgets;
    let differences: Vec<Interval> = (0..budgets.len()).map(difference).collect();
    let crossing = |deviations: f64| {
        let value = |difference: &Interval| difference.value + deviations * difference.variance.sqrt();
        let above = differences.iter().position(|difference| value(difference) >= 0.0)?;
        let Some(below) = above.checked_sub(1) else { return Some(budgets[0]) };
        let (low, high) = (value(&differences[below]), value(&differences[above]));
        let part = -low / (high - low);
        // Between two budgets, in their logarithms.
        Some((budgets[below].ln() + part * (budgets[above] / budgets[below]).ln()).exp())
    };
    RevisitSavings { budget: crossing(0.0), interval: [crossing(Z), crossing(-Z)] }
}

#[cfg(test)]
mod tests;
