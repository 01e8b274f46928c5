//! Replays of one history side by side: which figures differ, and which only seem to.

use crate::{Bootstrap, Metric, Trace, metric, student};

/// What a replay is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A known policy: the best of them is what all others are compared with, metric by metric.
    Baseline,
    /// What is to be judged.
    Candidate,
    /// What no crawler could do.
    Bound,
}

/// The figures of several replays of one history, each compared with that of the best baseline.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// For each metric of [`metric::ALL`] the place of the best baseline. Where there is no baseline, the best
    /// candidate stands in; where there is none either, the first replay.
    pub best: Vec<usize>,
    /// For each replay, a cell for each metric.
    pub cells: Vec<Vec<Cell>>,
}

/// A metric of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Its value; NaN where there is none.
    pub value: f64,
    /// The interval that holds it in 95 of 100 draws of sites.
    pub interval: Option<[f64; 2]>,
    /// The p-value of the difference to the best baseline, cycle by cycle: the paired t-test.
    pub p_cycles: Option<f64>,
    /// The p-value of the difference to the best baseline over draws of sites: the paired bootstrap.
    pub p_sites: Option<f64>,
    /// Is it no other than the best baseline's as far as these tests can tell? So it is when both values agree, or
    /// one of the tests gives [`Cell::LEVEL`] or more. Not for the best baseline itself.
    pub tie: bool,
}

impl Cell {
    /// The p-value from which on a difference counts as chance.
    pub const LEVEL: f64 = 0.05;
}

impl Comparison {
    /// Compares replays of one history under the same rules.
    ///
    /// # Panics
    /// When they are not that: other cycles or sites.
    pub fn new(replays: &[(&Trace, Role)], seed: u64) -> Comparison {
        let traces: Vec<&Trace> = replays.iter().map(|replay| replay.0).collect();
        let bootstrap = Bootstrap::new(&traces, seed);
        let best: Vec<usize> = metric::ALL.iter().map(|metric| best(replays, metric)).collect();
        let cell = |replay: usize, metric: &Metric, best: usize| {
            let value = |of: usize| metric.of_replay(traces[of]);
            let p_cycles = metric.of_cycle().map(|of_cycle| {
                let (a, b) = (&traces[replay].cycles, &traces[best].cycles);
                assert_eq!(a.len(), b.len(), "replays of the same cycles");
                student::paired(
                    &a.iter().zip(b).map(|(a, b)| of_cycle(a) - of_cycle(b)).collect::<Vec<f64>>(),
                )
            });
            let p_sites = bootstrap.difference(replay, best, metric);
            let chance = |p: Option<f64>| p.is_some_and(|p| p >= Cell::LEVEL);
            let agree = value(replay) == value(best) || (value(replay).is_nan() && value(best).is_nan());
            Cell {
                value: value(replay),
                interval: bootstrap.interval(replay, metric),
                p_cycles,
                p_sites,
                tie: replay != best && (agree || chance(p_cycles) || chance(p_sites)),
            }
        };
        let row = |replay| {
            metric::ALL.iter().zip(&best).map(|(metric, &best)| cell(replay, metric, best)).collect()
        };
        Comparison { cells: (0..replays.len()).map(row).collect(), best }
    }
}

/// The place of the first of the best baselines.
fn best(replays: &[(&Trace, Role)], metric: &Metric) -> usize {
    let of_role = |role: Role| {
        let places = (0..replays.len()).filter(move |&place| replays[place].1 == role);
        places.reduce(|best, place| {
            let value = |of: usize| metric.of_replay(replays[of].0);
            if metric.better.of(value(place), value(best)) { place } else { best }
        })
    };
    of_role(Role::Baseline).or_else(|| of_role(Role::Candidate)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CycleFigures, SiteFigures};

    /// Ten pages at each of 30 sites, one of each visited a cycle, so many of which changed.
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
    fn clear_differences_stand_and_chance_is_a_tie() {
        let (good, alike) = (trace(|i| 10 + i % 5), trace(|i| 10 + (i + 2) % 5));
        let (poor, bound) = (trace(|i| 4 + i % 5), trace(|_| 30));
        let replays = [
            (&poor, Role::Baseline),
            (&good, Role::Baseline),
            (&alike, Role::Candidate),
            (&bound, Role::Bound),
        ];
        let comparison = Comparison::new(&replays, 0);
        let at = |name: &str| metric::ALL.iter().position(|metric| metric.name == name).unwrap();
        assert_eq!(comparison.best[at("change_rate")], 1, "neither a candidate nor a bound");
        let cells: Vec<&Cell> = comparison.cells.iter().map(|row| &row[at("change_rate")]).collect();
        assert_eq!(cells.iter().map(|cell| cell.tie).collect::<Vec<_>>(), [false, false, true, false]);
        assert!(cells[0].p_cycles.unwrap() < 1e-9 && cells[0].p_sites.unwrap() < 0.01);
        assert!(cells[2].p_cycles.unwrap() > 0.5 && cells[2].interval.is_some());
        // Nothing was found late by anyone: values that are none agree.
        assert!(comparison.cells[2][at("delay_p50")].tie && comparison.cells[2][at("longest_neglect")].tie);
        assert!(comparison.cells[2][at("ndcg_log2")].p_sites.is_none());
    }

    #[test]
    fn without_baselines_the_best_candidate_stands_in() {
        let (good, poor) = (trace(|_| 9), trace(|_| 3));
        let replays = [(&poor, Role::Candidate), (&good, Role::Candidate)];
        assert_eq!(Comparison::new(&replays, 0).best[0], 1);
        assert_eq!(Comparison::new(&[(&poor, Role::Bound)], 0).best[0], 0);
    }
}
