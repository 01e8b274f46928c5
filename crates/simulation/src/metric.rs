//! Metrics of a replay. docs/metrics.md has their definitions and sources.

use crate::{CycleFigures, ImportanceFigures, SiteFigures, Trace};

/// A figure of a replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayMetric {
    /// Name in reports and on the command line.
    pub name: &'static str,
    /// A short definition, with its unit.
    pub help: &'static str,
    /// The direction of improvement.
    pub better: Better,
    /// How it is computed.
    pub of: Figure,
    /// Its value over all cycles for some sites, for metrics that are a quotient of sums over
    /// pages.
    pub of_sites: Option<fn(&SiteFigures) -> f64>,
}

/// How a metric is computed.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// From a cycle; for a whole replay it is the mean over cycles.
    Cycle(fn(&CycleFigures) -> f64),
    /// From a whole replay only; NaN if undefined.
    Replay(fn(&Trace) -> f64),
}

/// The direction of improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
}

impl PartialEq for ReplayMetric {
    /// Names are unique.
    fn eq(&self, other: &ReplayMetric) -> bool {
        self.name == other.name
    }
}

impl Better {
    /// By how much `a` is better than `b`, negative if it is worse. An undefined value is worse
    /// than any other and equal to another undefined one.
    pub fn by(self, a: f64, b: f64) -> f64 {
        let ahead = match self {
            Better::Higher => a - b,
            Better::Lower => b - a,
        };
        match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (true, false) => f64::NEG_INFINITY,
            (false, true) => f64::INFINITY,
            (false, false) => ahead,
        }
    }

    /// Whether `a` is better than `b`. NaN is better than nothing.
    pub fn prefers(self, a: f64, b: f64) -> bool {
        match self {
            Better::Higher => a > b || (b.is_nan() && !a.is_nan()),
            Better::Lower => a < b || (b.is_nan() && !a.is_nan()),
        }
    }
}

/// Every metric of any data set, in display order.
pub const ALL: &[ReplayMetric] = &[
    CHANGE_RATE,
    ReplayMetric {
        name: "ndcg_log2",
        help: "whether pages with changes rank first; gain 1/log2(rank + 1)",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| cycle.ndcg_log2),
        of_sites: None,
    },
    ReplayMetric {
        name: "ndcg_gp4c",
        help: "the same with the gains of the GP4C authors' program",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| cycle.ndcg_gp4c),
        of_sites: None,
    },
    FRESHNESS,
    AGE,
    HARMONIC,
    COVERAGE,
    ReplayMetric {
        name: "visited_share",
        help: "share of competing pages that were visited at least once",
        better: Better::Higher,
        of: Figure::Replay(|trace| share(trace.visited as f64, trace.pages)),
        of_sites: None,
    },
    PENDING_SHARE,
    ReplayMetric {
        name: "delay_p50",
        help: "median cycles from a change to the visit that found it",
        better: Better::Lower,
        of: Figure::Replay(|trace| quantile(&trace.delays, 50)),
        of_sites: None,
    },
    ReplayMetric {
        name: "delay_p95",
        help: "95th percentile of that delay",
        better: Better::Lower,
        of: Figure::Replay(|trace| quantile(&trace.delays, 95)),
        of_sites: None,
    },
    ReplayMetric {
        name: "delay_p99",
        help: "99th percentile of that delay",
        better: Better::Lower,
        of: Figure::Replay(|trace| quantile(&trace.delays, 99)),
        of_sites: None,
    },
    ReplayMetric {
        name: "longest_neglect",
        help: "most cycles without a visit of a page",
        better: Better::Lower,
        of: Figure::Replay(|trace| f64::from(trace.longest_neglect)),
        of_sites: None,
    },
];

/// Names of the metrics that rest on visits alone, not on what visits found.
pub const OF_VISITS: [&str; 4] = ["coverage", "coverage_by_importance", "visited_share", "longest_neglect"];

/// The metrics that need the contents of pages, of replays with a [judge](crate::judge::ContentJudge).
pub const OF_CONTENTS: &[ReplayMetric] = &[
    ReplayMetric {
        name: "weighted_change_rate",
        help: "visits that found a change, weighted by PageRank, per visit",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| share(cycle.contents.weight_found, cycle.visited)),
        of_sites: None,
    },
    ReplayMetric {
        name: "weight_of_changed",
        help: "mean weight by PageRank of the visits that found a change",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| share(cycle.contents.weight_found, cycle.changed)),
        of_sites: None,
    },
    ReplayMetric {
        name: "freshness_at_10",
        help: "share of the first ten results of a query whose copy is current, weighted by rank",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| cycle.contents.freshness_at_10),
        of_sites: None,
    },
    ReplayMetric {
        name: "mp_at_10",
        help: "precision summed over the relevant ones of the first ten results of a query",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| cycle.contents.mp_at_10),
        of_sites: None,
    },
    ReplayMetric {
        name: "ap_at_10",
        help: "average precision of the first ten results of a query",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| cycle.contents.ap_at_10),
        of_sites: None,
    },
];

/// Sums of importance are in thousandths.
const THOUSANDTHS: f64 = 1_000.0;

/// The metrics of pages that differ in importance: with an importance of 1 each, they are [`CHANGE_RATE`],
/// [`FRESHNESS`] and [`COVERAGE`] to the last digit.
pub const BY_IMPORTANCE: &[ReplayMetric] = &[
    ReplayMetric {
        name: "change_rate_by_importance",
        help: "importance of the visits that found a change, per visit",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| share(cycle.importance.changed as f64 / THOUSANDTHS, cycle.visited)),
        of_sites: Some(|site| share(site.importance.changed as f64 / THOUSANDTHS, site.visited)),
    },
    ReplayMetric {
        name: "freshness_by_importance",
        help: "share of the pages' importance whose copy is current",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| freshness_by_importance(&cycle.importance)),
        of_sites: Some(|site| freshness_by_importance(&site.importance)),
    },
    ReplayMetric {
        name: "coverage_by_importance",
        help: "share of the pages' importance that the budget has visited so far",
        better: Better::Higher,
        of: Figure::Cycle(|cycle| share(cycle.importance.covered as f64, cycle.importance.pages)),
        of_sites: None,
    },
];

/// Visits that found a change, per visit (Douglis et al. 1997; Santos 2013, eq. 2.3).
pub const CHANGE_RATE: ReplayMetric = ReplayMetric {
    name: "change_rate",
    help: "share of visits that found a change",
    better: Better::Higher,
    of: Figure::Cycle(change_rate),
    of_sites: Some(|site| share(site.changed as f64, site.visited)),
};

/// Pages whose copy is current, per page (Cho & Garcia-Molina 2000).
pub const FRESHNESS: ReplayMetric = ReplayMetric {
    name: "freshness",
    help: "share of pages whose copy is current",
    better: Better::Higher,
    of: Figure::Cycle(freshness),
    of_sites: Some(|site| 1.0 - share(site.stale as f64, site.pages)),
};

/// Cycles since the first unseen change, per page (Cho & Garcia-Molina 2000).
pub const AGE: ReplayMetric = ReplayMetric {
    name: "age",
    help: "cycles since the first unseen change, mean over pages",
    better: Better::Lower,
    of: Figure::Cycle(age),
    of_sites: Some(|site| share(site.age as f64, site.pages)),
};

/// H(unseen changes), per page (Kolobov et al. 2019).
pub const HARMONIC: ReplayMetric = ReplayMetric {
    name: "harmonic",
    help: "1 + 1/2 + ... + 1/m for m unseen changes, mean over pages",
    better: Better::Lower,
    of: Figure::Cycle(harmonic),
    of_sites: Some(|site| share(site.harmonic, site.pages)),
};

/// Pages that the budget has visited so far, per page: weighted coverage (Olston & Najork 2010) after the first visits.
pub const COVERAGE: ReplayMetric = ReplayMetric {
    name: "coverage",
    help: "share of pages that the budget has visited so far",
    better: Better::Higher,
    of: Figure::Cycle(|cycle| share(cycle.covered as f64, cycle.pages)),
    of_sites: None,
};

/// Pages with an unseen change, per page.
const PENDING_SHARE: ReplayMetric = ReplayMetric {
    name: "pending_share",
    help: "share of pages with an unseen change before the visits",
    better: Better::Lower,
    of: Figure::Cycle(pending_share),
    of_sites: Some(|site| share((site.stale + site.changed) as f64, site.pages)),
};

fn change_rate(cycle: &CycleFigures) -> f64 {
    share(cycle.changed as f64, cycle.visited)
}

fn freshness(cycle: &CycleFigures) -> f64 {
    1.0 - share(cycle.stale as f64, cycle.pages)
}

fn age(cycle: &CycleFigures) -> f64 {
    share(cycle.age as f64, cycle.pages)
}

fn harmonic(cycle: &CycleFigures) -> f64 {
    share(cycle.harmonic, cycle.pages)
}

fn pending_share(cycle: &CycleFigures) -> f64 {
    share(cycle.pending as f64, cycle.pages)
}

fn freshness_by_importance(of: &ImportanceFigures) -> f64 {
    1.0 - share(of.stale as f64, of.pages)
}

/// `part / whole`, and 0 if `whole` is 0.
fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// The smallest value that is at least `hundredths` percent of the values; `counts` is indexed by
/// value. NaN without values.
fn quantile(counts: &[u64], hundredths: u64) -> f64 {
    let all: u64 = counts.iter().sum();
    let mut below = 0;
    let reached = |&(_, count): &(usize, &u64)| {
        below += count;
        u128::from(below) * 100 >= u128::from(all) * u128::from(hundredths)
    };
    if all == 0 {
        f64::NAN
    } else {
        counts.iter().enumerate().find(reached).map_or(f64::NAN, |(value, _)| value as f64)
    }
}

impl ReplayMetric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static ReplayMetric> {
        ALL.iter().chain(BY_IMPORTANCE).chain(OF_CONTENTS).find(|metric| metric.name == name)
    }

    /// Whether it tells pages of different importance apart.
    pub fn is_by_importance(&self) -> bool {
        BY_IMPORTANCE.contains(self)
    }

    /// Whether it needs the contents of pages.
    pub fn needs_contents(&self) -> bool {
        OF_CONTENTS.contains(self)
    }

    /// Computes its value in one cycle, for metrics that have one.
    pub fn of_cycle(&self) -> Option<fn(&CycleFigures) -> f64> {
        match self.of {
            Figure::Cycle(of_cycle) => Some(of_cycle),
            Figure::Replay(_) => None,
        }
    }

    /// Its value for a whole replay; NaN if undefined.
    pub fn of_replay(&self, trace: &Trace) -> f64 {
        match self.of {
            Figure::Cycle(of_cycle) => {
                trace.cycles.iter().map(of_cycle).sum::<f64>() / trace.cycles.len() as f64
            }
            Figure::Replay(of_replay) => of_replay(trace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_least_values_that_reach_their_part() {
        let counts = [1, 0, 3, 96];
        assert_eq!([1, 2, 4, 5, 50, 99].map(|q| quantile(&counts, q)), [0.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
        assert!(quantile(&[0, 0], 50).is_nan());
    }

    #[test]
    fn means_are_over_cycles_and_nothing_is_no_fault() {
        let cycle = |changed, visited| CycleFigures { changed, visited, pages: 4, ..CycleFigures::default() };
        let trace = Trace { cycles: vec![cycle(1, 2), cycle(0, 0)], ..Trace::default() };
        assert_eq!(CHANGE_RATE.of_replay(&trace), 0.25);
        assert_eq!(FRESHNESS.of_replay(&trace), 1.0);
        for metric in ALL {
            let value = metric.of_replay(&trace);
            assert_eq!(value.is_nan(), metric.name.starts_with("delay"), "{}: {value}", metric.name);
        }
    }

    #[test]
    fn importance_weighs_pages() {
        // Four pages of importance 5, 1, 1, 1: the first is visited and has changed, one of the others is stale.
        let cycle = |unit: u64| CycleFigures {
            pages: 4,
            visited: 2,
            changed: 1,
            stale: 1,
            importance: ImportanceFigures {
                pages: 8 * unit,
                changed: 5 * unit,
                stale: unit,
                covered: 6 * unit,
            },
            ..CycleFigures::default()
        };
        let of = |unit| BY_IMPORTANCE.iter().map(|m| m.of_cycle().unwrap()(&cycle(unit))).collect::<Vec<_>>();
        assert_eq!(of(1_000), [5.0 / 2.0, 7.0 / 8.0, 6.0 / 8.0]);
        assert_eq!(of(0), [0.0, 1.0, 0.0], "no page counts");
    }

    #[test]
    fn the_better_value_is_the_one_in_the_metrics_direction() {
        assert!(Better::Higher.prefers(2.0, 1.0) && !Better::Higher.prefers(1.0, 1.0));
        assert!(Better::Lower.prefers(1.0, 2.0) && Better::Lower.prefers(1.0, f64::NAN));
        assert!(!Better::Lower.prefers(f64::NAN, 2.0));
    }

    #[test]
    fn every_metric_is_in_the_documentation() {
        let text = include_str!("../../../docs/metrics.md");
        for metric in ALL.iter().chain(BY_IMPORTANCE).chain(OF_CONTENTS) {
            assert!(
                text.contains(&format!("`{}`", metric.name)),
                "docs/metrics.md does not mention {}",
                metric.name
            );
        }
        assert_eq!(ReplayMetric::named("age").unwrap().better, Better::Lower);
        assert!(ReplayMetric::named("nad").is_none());
    }
}
