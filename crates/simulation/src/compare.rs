//! Compares replays of one history: which differences are significant?

use crate::bootstrap::SiteDifference;
use crate::series::by_cycle;
use crate::{Bootstrap, ReplayMetric, SeriesMean, Trace, metric};
use serde::Serialize;

/// Changes after the warm-up that a comparison of policies takes.
///
/// With d changes, say one policy finds them all, and another half of them. Numbers of found changes are at best Poisson
/// counts, so their difference d/2 has the standard error √(d + d/2). It is beyond the 1.96 errors of chance only if d is
/// above 1.96²·1.5/0.5² = 23.05. So with fewer than 24 changes, not even twice as many found changes can be told from chance.
pub const CHANGES_NEEDED: u64 = 24;

/// The role of a replay in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayRole {
    /// A known policy. All others are compared with the best baseline of each metric.
    Baseline,
    /// A policy to be judged.
    Candidate,
    /// A bound that no crawler can reach.
    Bound,
}

/// The figures of several replays of one history, each compared with the best baseline.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The compared metrics: [`metric::ALL`], and further ones that were asked for.
    pub metrics: Vec<&'static ReplayMetric>,
    /// For each metric the index of the best baseline. Without baselines it is
    /// the best candidate, and without these the first replay.
    pub best: Vec<usize>,
    /// For each replay, one cell per metric.
    pub cells: Vec<Vec<MetricCell>>,
}

/// A metric of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricCell {
    /// The value; NaN if undefined.
    pub value: f64,
    /// The interval that contains it in 95 of 100 draws of sites.
    pub interval: Option<[f64; 2]>,
    /// The difference from the best baseline, cycle by cycle; `None` for metrics without a value
    /// per cycle.
    pub over_cycles: Option<SeriesMean>,
    /// The difference from the best baseline over draws of sites: the paired bootstrap.
    pub over_sites: Option<SiteDifference>,
    /// Comparison with the best baseline.
    pub verdict: Verdict,
}

/// The result of paired tests on the difference of two replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first is better: every applicable test gives p below [`Verdict::LEVEL`].
    Better,
    /// The first is worse, by the same rule.
    Worse,
    /// A test gives p of [`Verdict::LEVEL`] or more, or has too few cycles or sites for any power.
    /// This does not prove that they are equal.
    CannotTell,
    /// Both values are equal.
    Same,
    /// The values differ, and no test exists for such a figure.
    Untested,
}

impl Verdict {
    /// From this p-value on, a difference counts as chance.
    pub const LEVEL: f64 = 0.05;

    /// The verdict on a difference, positive if the first is better, given the p-values of the
    /// applicable tests.
    pub fn from_tests(difference: f64, tests: impl IntoIterator<Item = f64>) -> Verdict {
        if difference == 0.0 {
            return Verdict::Same;
        }
        match tests.into_iter().reduce(f64::max) {
            None => Verdict::Untested,
            Some(p) if p >= Self::LEVEL => Verdict::CannotTell,
            Some(_) if difference > 0.0 => Verdict::Better,
            Some(_) => Verdict::Worse,
        }
    }

    /// The label in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::CannotTell => "cannot tell",
            Verdict::Same => "same",
            Verdict::Untested => "not tested",
        }
    }
}

impl Comparison {
    /// Compares replays of one history under the same rules.
    ///
    /// # Panics
    /// If they differ in cycles or sites.
    pub fn new(replays: &[(&Trace, ReplayRole)], seed: u64) -> Comparison {
        Comparison::of_parts(replays, 1, seed)
    }

    /// The same with further metrics that are not in [`metric::ALL`].
    ///
    /// # Panics
    /// Like [`Comparison::new`].
    pub fn with(
        replays: &[(&Trace, ReplayRole)],
        further: &[&'static ReplayMetric],
        seed: u64,
    ) -> Comparison {
        Comparison::compute(replays, metric::ALL.iter().chain(further.iter().copied()).collect(), 1, seed)
    }

    /// The same for replays that each consist of `parts` parts of the pages over the same cycles,
    /// concatenated.
    ///
    /// # Panics
    /// Like [`Comparison::new`], and if the parts differ in their number of cycles.
    pub fn of_parts(replays: &[(&Trace, ReplayRole)], parts: usize, seed: u64) -> Comparison {
        Comparison::compute(replays, metric::ALL.iter().collect(), parts, seed)
    }

    /// The same without the figures that rest on changes: of too few, none can be told.
    #[must_use]
    pub fn without_changes(mut self) -> Comparison {
        for row in &mut self.cells {
            for (cell, metric) in row.iter_mut().zip(&self.metrics) {
                if !metric::OF_VISITS.contains(&metric.name) {
                    let (interval, over_cycles, over_sites) = (None, None, None);
                    let verdict = Verdict::CannotTell;
                    *cell = MetricCell { value: f64::NAN, interval, over_cycles, over_sites, verdict };
                }
            }
        }
        self
    }

    fn compute(
        replays: &[(&Trace, ReplayRole)],
        metrics: Vec<&'static ReplayMetric>,
        parts: usize,
        seed: u64,
    ) -> Comparison {
        let traces: Vec<&Trace> = replays.iter().map(|replay| replay.0).collect();
        let bootstrap = Bootstrap::new(&traces, seed);
        let best: Vec<usize> = metrics.iter().map(|metric| best(replays, metric)).collect();
        let cell = |replay: usize, metric: &ReplayMetric, best: usize| {
            let value = |of: usize| metric.of_replay(traces[of]);
            let over_cycles = metric.of_cycle().map(|of_cycle| {
                let (a, b) = (&traces[replay].cycles, &traces[best].cycles);
                assert_eq!(a.len(), b.len(), "replays of the same cycles");
                let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| of_cycle(a) - of_cycle(b)).collect();
                SeriesMean::estimate(&by_cycle(&differences, parts))
            });
            let over_sites = bootstrap.difference(replay, best, metric);
            let tests = over_cycles.map(|mean| mean.p).into_iter().chain(over_sites.map(|sites| sites.p));
            MetricCell {
                value: value(replay),
                interval: bootstrap.interval(replay, metric),
                over_cycles,
                over_sites,
                verdict: Verdict::from_tests(metric.better.by(value(replay), value(best)), tests),
            }
        };
        let row =
            |replay| metrics.iter().zip(&best).map(|(metric, &best)| cell(replay, metric, best)).collect();
        Comparison { cells: (0..replays.len()).map(row).collect(), best, metrics }
    }
}

/// The index of the first of the best baselines.
fn best(replays: &[(&Trace, ReplayRole)], metric: &ReplayMetric) -> usize {
    let of_role = |role: ReplayRole| {
        let places = (0..replays.len()).filter(move |&place| replays[place].1 == role);
        places.reduce(|best, place| {
            let value = |of: usize| metric.of_replay(replays[of].0);
            if metric.better.prefers(value(place), value(best)) { place } else { best }
        })
    };
    of_role(ReplayRole::Baseline).or_else(|| of_role(ReplayRole::Candidate)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CycleFigures, SiteFigures};

    /// Ten pages at each of 30 sites. In each cycle one page of each site is visited; `changed`
    /// tells how many had changed.
    fn trace(changed: impl Fn(u64) -> u64) -> Trace {
        let cycles: Vec<CycleFigures> = (0..30)
            .map(|c| CycleFigures { pages: 300, visited: 30, changed: changed(c), ..CycleFigures::default() })
            .collect();
        let sites = (0..30).map(|s| SiteFigures {
            pages: 300,
            visited: 30,
            changed: changed(s),
            ..SiteFigures::default()
        });
        Trace { sites: sites.collect(), cycles, visited: 30, pages: 300, ..Trace::default() }
    }

    #[test]
    fn clear_differences_stand_and_chance_cannot_be_told() {
        let (good, alike) = (trace(|i| 10 + i % 5), trace(|i| 10 + (i + 2) % 5));
        let (poor, bound) = (trace(|i| 4 + i % 5), trace(|_| 30));
        let replays = [
            (&poor, ReplayRole::Baseline),
            (&good, ReplayRole::Baseline),
            (&alike, ReplayRole::Candidate),
            (&bound, ReplayRole::Bound),
        ];
        let comparison = Comparison::new(&replays, 0);
        let at = |name: &str| metric::ALL.iter().position(|metric| metric.name == name).unwrap();
        assert_eq!(comparison.best[at("change_rate")], 1, "neither a candidate nor a bound");
        let cells: Vec<&MetricCell> = comparison.cells.iter().map(|row| &row[at("change_rate")]).collect();
        let verdicts: Vec<Verdict> = cells.iter().map(|cell| cell.verdict).collect();
        assert_eq!(verdicts, [Verdict::Worse, Verdict::Same, Verdict::Same, Verdict::Better]);
        let over_cycles = cells[0].over_cycles.unwrap();
        assert!(over_cycles.p < 1e-6 && over_cycles.has_power() && cells[0].over_sites.unwrap().p < 0.01);
        assert!(cells[2].over_cycles.unwrap().p > 0.5 && cells[2].interval.is_some());
        // Neither found a change late: undefined values are equal.
        assert_eq!(comparison.cells[2][at("delay_p50")].verdict, Verdict::Same);
        assert_eq!(comparison.cells[2][at("longest_neglect")].verdict, Verdict::Same);
        assert!(comparison.cells[2][at("ndcg_log2")].over_sites.is_none());
    }

    /// Regression: two policies alternate in being ahead, for thirty cycles each. Their means over
    /// ninety cycles differ, but only three such periods were observed.
    #[test]
    fn spells_are_no_independent_cycles() {
        let trace = |ahead: u64| {
            let changed = move |cycle: u64| 10 + cycle % 5 + if cycle / 30 % 2 == ahead { 6 } else { 0 };
            let cycle =
                |c| CycleFigures { pages: 300, visited: 30, changed: changed(c), ..CycleFigures::default() };
            Trace { cycles: (0..90).map(cycle).collect(), ..Trace::default() }
        };
        let (one, other) = (trace(0), trace(1));
        let comparison = Comparison::new(&[(&one, ReplayRole::Baseline), (&other, ReplayRole::Candidate)], 0);
        let cell = comparison.cells[1][0];
        let over_cycles = cell.over_cycles.unwrap();
        assert!(over_cycles.mean < -0.06 && over_cycles.effective < SeriesMean::FEWEST, "{over_cycles:?}");
        assert_eq!((over_cycles.p, cell.verdict), (1.0, Verdict::CannotTell));
    }

    #[test]
    fn without_baselines_the_best_candidate_stands_in() {
        let (good, poor) = (trace(|_| 9), trace(|_| 3));
        let replays = [(&poor, ReplayRole::Candidate), (&good, ReplayRole::Candidate)];
        assert_eq!(Comparison::new(&replays, 0).best[0], 1);
        assert_eq!(Comparison::new(&[(&poor, ReplayRole::Bound)], 0).best[0], 0);
    }
}
