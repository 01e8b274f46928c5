//! What the reports of measured cycles say: how fresh the pages are, whether visits find what is expected, and whether
//! the Web has changed its habits. A pure function of the reports, so nothing of it is kept.

use crate::failure::Failure;
use crate::improve::found::Found;
use crate::report::RoundReport;
use recrawl_estimation::drift::CycleFound;
use recrawl_estimation::interval::Z;
use recrawl_estimation::{Alarm, Drift, DriftRules, Interval, psi};
use recrawl_repository::Repository;
use serde::Serialize;
use std::collections::VecDeque;

/// Cycles whose estimates are pooled.
const POOLED: usize = 28;
/// Audited pages below which no pooled estimate is given.
pub const ENOUGH_AUDITED: u64 = 100;
/// Stability index from which pages are distributed in another way.
pub const UNSTABLE: f64 = 0.25;
/// Cycles in which it must be reached in a row.
const UNSTABLE_CYCLES: u32 = 3;
/// The error that a good estimate has.
const WANTED: f64 = 0.02;

/// What was measured up to a cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Watch {
    /// Measured cycles.
    pub cycles: u32,
    /// The last of them.
    pub last: u32,
    /// The last cycles, at most 28, whose estimates are pooled.
    pub pooled: u32,
    /// Share of pages unchanged since their last visit, before the visits of a cycle.
    pub freshness: Pooled,
    /// Visits by score in the pooled cycles, beside what was expected of them.
    pub score: Found,
    /// Visits of the audit sample, likewise.
    pub audit: Found,
    /// Changed visits of pages with unequal chances: how far from what was expected.
    pub drift: DriftWatch,
    /// How the distributions of pages have moved.
    pub population: PopulationWatch,
}

/// A mean over cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pooled {
    /// Are there enough audited pages for an estimate?
    pub enough: bool,
    /// Audited pages with an answer.
    pub pages: u64,
    /// Audited pages that an error of ± 0.02 takes; none before there are enough.
    pub pages_for_two_points: Option<u64>,
    /// The share, 0 to 1.
    pub share: Option<f64>,
    /// Ends of the 95 % interval.
    pub interval: Option<[f64; 2]>,
}

/// Changes beside what the histories of pages let expect, cycle by cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DriftWatch {
    /// Cycles until there is a norm to compare with.
    pub cycles_wanted: usize,
    /// Sums of the CUSUM above and below the norm, in deviations; an alarm is raised above 5.
    pub sums: [f64; 2],
    /// The last alarm.
    pub alarm: Option<DriftAlarm>,
}

/// An alarm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriftAlarm {
    /// The cycle that raised it.
    pub cycle: u32,
    /// More, or fewer, changes than expected.
    pub changes: Alarm,
}

/// Stability indexes of the pages that compete by score, against those 28 cycles before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PopulationWatch {
    /// By n.
    pub visits: Option<f64>,
    /// By X / n.
    pub change_rate: Option<f64>,
    /// By t.
    pub age: Option<f64>,
    /// By depth.
    pub depth: Option<f64>,
    /// Has one of them been at least 0.25 for three cycles?
    pub has_moved: bool,
}

/// Follows the rounds of a crawl: the last cycle may go on.
#[derive(Clone, Default)]
pub struct Follower {
    watcher: Watcher,
    last: Option<RoundReport>,
}

impl Follower {
    /// After all committed rounds.
    ///
    /// # Errors
    /// When the reports cannot be read.
    pub fn of(repository: &Repository) -> Result<Follower, Failure> {
        let mut follower = Follower { watcher: Watcher::new(), last: None };
        let mut reports = repository.reports().map_err(Failure::work)?;
        while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
            follower.add_round(serde_json::from_slice(bytes).map_err(Failure::work)?);
        }
        Ok(follower)
    }

    /// Adds the report of a round.
    pub fn add_round(&mut self, round: RoundReport) {
        match &mut self.last {
            Some(cycle) if cycle.is_continued_by(&round) => cycle.add(&round),
            last => {
                if let Some(cycle) = last.replace(round) {
                    self.watcher.add(cycle);
                }
            }
        }
    }

    /// What was measured so far.
    pub fn watch(&self) -> Watch {
        let mut watcher = self.watcher.clone();
        self.last.clone().into_iter().for_each(|cycle| watcher.add(cycle));
        watcher.finish()
    }
}

/// Reads the reports of cycles in order.
#[derive(Clone, Default)]
pub struct Watcher {
    watch: Watch,
    /// The pooled cycles, and the one before them.
    recent: VecDeque<RoundReport>,
    drift: Drift,
    unstable: u32,
}

impl Watcher {
    /// Before the first report.
    pub fn new() -> Watcher {
        Watcher { drift: Drift::new(DriftRules::default()), ..Watcher::default() }
    }

    /// Adds the report of a cycle. One that was not measured says nothing.
    pub fn add(&mut self, report: RoundReport) {
        let (Some(population), Some(found)) = (&report.population, &report.found) else { return };
        self.watch.cycles += 1;
        self.watch.last = report.cycle;
        let of_score = CycleFound {
            cycle: report.cycle,
            changed: found.score.changed as f64,
            expected: found.score.expected.changes,
            variance: found.score.expected.variance,
        };
        if let Some(changes) = self.drift.add(of_score) {
            self.watch.drift.alarm = Some(DriftAlarm { cycle: report.cycle, changes });
        }
        if self.recent.len() > POOLED {
            self.recent.pop_front();
        }
        let before = self.recent.front().filter(|_| self.recent.len() == POOLED);
        if let Some(before) = before.and_then(|before| before.population.as_ref()) {
            let (before, now) = (&before.histograms, &population.histograms);
            let moved = PopulationWatch {
                visits: Some(psi(&before.visits, &now.visits)),
                change_rate: Some(psi(&before.change_rate, &now.change_rate)),
                age: Some(psi(&before.age, &now.age)),
                depth: Some(psi(&before.depth, &now.depth)),
                has_moved: false,
            };
            let PopulationWatch { visits, change_rate, age, depth, .. } = moved;
            let is_unstable = [visits, change_rate, age, depth].iter().flatten().any(|psi| *psi >= UNSTABLE);
            self.unstable = if is_unstable { self.unstable + 1 } else { 0 };
            self.watch.population = PopulationWatch { has_moved: self.unstable >= UNSTABLE_CYCLES, ..moved };
        }
        self.recent.push_back(report);
    }

    /// What was measured.
    pub fn finish(self) -> Watch {
        let pooled: Vec<&RoundReport> = self.recent.iter().rev().take(POOLED).collect();
        let sum = |of: fn(&RoundReport) -> Option<Found>| {
            pooled.iter().filter_map(|report| of(report)).fold(Found::default(), |mut sum, found| {
                sum += found;
                sum
            })
        };
        let estimates: Vec<Interval> =
            pooled.iter().filter_map(|report| report.estimates.adjusted_freshness).collect();
        Watch {
            pooled: pooled.len() as u32,
            freshness: Pooled::of(&estimates),
            score: sum(|report| report.found.map(|found| found.score)),
            audit: sum(|report| report.found.map(|found| found.audit)),
            drift: DriftWatch {
                cycles_wanted: self.drift.cycles_wanted(),
                sums: self.drift.sums(),
                ..self.watch.drift
            },
            ..self.watch
        }
    }
}

impl Pooled {
    fn of(estimates: &[Interval]) -> Pooled {
        let pages = estimates.iter().map(|estimate| estimate.sample).sum();
        let mean = Interval::mean(estimates).filter(|_| pages >= ENOUGH_AUDITED);
        // The variance falls with the number of pages.
        let needed = |mean: &Interval| (mean.variance * pages as f64 * (Z / WANTED).powi(2)).ceil() as u64;
        Pooled {
            enough: mean.is_some(),
            pages,
            pages_for_two_points: mean.as_ref().map(needed),
            share: mean.map(|mean| mean.value.clamp(0.0, 1.0)),
            interval: mean.map(|mean| mean.ends().map(|end| end.clamp(0.0, 1.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::found::FoundByShare;
    use crate::improve::population::Population;
    use crate::report::facts::Facts;
    use crate::report::{Estimates, Sample, Tally};
    use recrawl_fetcher::StoppedBy;
    use recrawl_scheduler::ExpectedChanges;
    use recrawl_types::{Cycle, DatedRound};
    use recrawl_verifier::MergeReport;

    fn report(cycle: u32, changed: u64, deep: u64) -> RoundReport {
        let facts = Facts::without_plan(DatedRound::only_of(Cycle(cycle)), 0, "t");
        let (tally, sample, merged) = (Tally::default(), Sample::default(), MergeReport::default());
        let mut population = Population::default();
        population.histograms.depth = [1000 - deep, deep, 0, 0, 0, 0, 0, 0, 0, 0];
        let expected = ExpectedChanges { changes: 400.0, variance: 256.0 };
        let score = Found { visits: 1000, changed, expected };
        let estimates = Estimates {
            adjusted_freshness: Some(Interval { value: 0.8, variance: 0.04 / 10.0, sample: 10 }),
            ..Estimates::default()
        };
        RoundReport {
            population: Some(population),
            found: Some(FoundByShare { score, ..FoundByShare::default() }),
            estimates,
            ..RoundReport::new(&facts, tally, &sample, &merged, StoppedBy::End, 0)
        }
    }

    fn watch(reports: impl Iterator<Item = RoundReport>) -> Watch {
        let mut watcher = Watcher::new();
        reports.for_each(|report| watcher.add(report));
        watcher.finish()
    }

    #[test]
    fn few_pages_give_no_estimate_and_more_give_one_that_narrows() {
        let of = |cycles: u32| {
            watch((1..=cycles).map(|cycle| report(cycle, 380 + u64::from(cycle % 5) * 10, 100)))
        };
        assert_eq!(watch(std::iter::empty()).freshness, Pooled::default());
        let few = of(9);
        assert_eq!((few.freshness.enough, few.freshness.pages, few.freshness.share), (false, 90, None));
        let some = of(10).freshness;
        assert!(some.enough && (some.share.unwrap() - 0.8).abs() < 1e-12, "{some:?}");
        // A page has a variance of 0.04, so ± 0.02 takes 0.04·(1.96/0.02)².
        assert_eq!(some.pages_for_two_points, Some(385));
        let width = |pooled: Pooled| pooled.interval.map(|[low, high]| high - low).unwrap();
        let many = of(60);
        assert!(width(many.freshness) < 0.7 * width(some));
        assert_eq!((many.cycles, many.last, many.pooled, many.freshness.pages), (60, 60, 28, 280));
        assert_eq!(many.score.visits, 28_000);
        assert_eq!((many.drift.alarm, many.drift.cycles_wanted), (None, 0));
        assert!(!many.population.has_moved && many.population.depth == Some(0.0), "{:?}", many.population);
    }

    #[test]
    fn a_follower_has_seen_what_a_reader_of_all_reports_sees() {
        let all: Vec<RoundReport> =
            (1..=40).map(|cycle| report(cycle, 380 + u64::from(cycle % 5) * 10, 100)).collect();
        let mut follower = Follower { watcher: Watcher::new(), last: None };
        for (at, round) in all.iter().enumerate() {
            follower.add_round(round.clone());
            assert_eq!(follower.watch(), watch(all[..=at].iter().cloned()), "{at}");
        }
    }

    #[test]
    fn a_web_that_changes_more_raises_an_alarm_and_one_that_grows_deeper_is_seen() {
        let changed = |cycle: u32| 380 + u64::from(cycle % 5) * 10 + if cycle > 70 { 100 } else { 0 };
        let found = watch((1..=80).map(|cycle| report(cycle, changed(cycle), 100)));
        let alarm = found.drift.alarm.unwrap();
        assert!((71..75).contains(&alarm.cycle) && alarm.changes == Alarm::More, "{alarm:?}");
        let deep = |cycle: u32| if cycle > 50 { 600 } else { 100 };
        let moved = |cycles: u32| {
            let found =
                watch((1..=cycles).map(|cycle| report(cycle, 380 + u64::from(cycle % 5) * 10, deep(cycle))));
            found.population.has_moved
        };
        assert_eq!([moved(52), moved(53)], [false, true], "three cycles in a row");
    }
}
