//! Conclusions from the reports of measured cycles: how fresh the pages are, whether visits find what is
//! expected, and whether the Web has changed its habits. A pure function of the reports, so nothing of it is
//! kept.

use crate::failure::Failure;
use crate::parts::improve::found::ComparedVisits;
use crate::parts::improve::population::{Histograms, bin_of_digits};
use crate::report::RoundReport;
use recrawl_estimation::drift::CycleFound;
use recrawl_estimation::interval::Z;
use recrawl_estimation::{Alarm, Drift, DriftRules, Interval, Stability};
use recrawl_repository::Repository;
use serde::Serialize;
use std::collections::VecDeque;

/// Cycles whose estimates are pooled.
const POOLED: usize = 28;
/// Audited pages below which no pooled estimate is given.
pub const ENOUGH_AUDITED: u64 = 100;
/// Comparisons from which on X/n errs by no more than the step of its histogram, an eighth: its standard error is √(p(1 −
/// p)/n), at most 1/(2√n).
const RESOLVED: u32 = 16;
/// Measured cycles whose pages are no norm: those of a first fetch and of the comparisons after it.
const SETTLING: u32 = 1 + RESOLVED;
/// Cycles in a row in which the pages must be distributed in another way.
const UNSTABLE_CYCLES: u32 = 3;
/// Measured cycles from which on it can be told whether pages are distributed in another way: the first comparison is of a
/// cycle after the settling with the one [`POOLED`] cycles later.
const POPULATION_NEEDS: u32 = SETTLING + POOLED as u32 + UNSTABLE_CYCLES;
/// The error that a good estimate has.
const WANTED: f64 = 0.02;

/// Measurements up to a cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CrawlWatch {
    /// Measured cycles.
    pub cycles: u32,
    /// The last of them.
    pub last: u32,
    /// The last cycles, at most 28, whose estimates are pooled.
    pub pooled: u32,
    /// Share of pages unchanged since their last visit, before the visits of a cycle.
    pub freshness: Pooled,
    /// Visits by score in the pooled cycles, beside what was expected of them.
    pub score: ComparedVisits,
    /// Visits of the audit sample, likewise.
    pub audit: ComparedVisits,
    /// Changed visits of pages with unequal chances: how far from what was expected.
    pub drift: ChangeCusum,
    /// How the distributions of pages have moved.
    pub population: PopulationShift,
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
pub struct ChangeCusum {
    /// Cycles until there is a norm to compare with.
    pub cycles_wanted: usize,
    /// Sums of the CUSUM above and below the norm, in deviations; an alarm is raised above 5.
    pub sums: [f64; 2],
    /// The last alarm.
    pub alarm: Option<CusumAlarm>,
}

/// An alarm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CusumAlarm {
    /// The cycle that raised it.
    pub cycle: u32,
    /// More, or fewer, changes than expected.
    pub changes: Alarm,
}

/// Stability of the pages that compete by score, against those 28 cycles before.
///
/// n and t are no part of it: n only grows, and t grows in a young crawl and swings with the order of the visits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PopulationShift {
    /// Measured cycles from which on something is told.
    pub cycles_needed: u32,
    /// By X / n; none while half of the pages have fewer than 16 comparisons in the cycle compared with. X/n of such a page
    /// moves with its n, however steadily the page changes.
    pub change_rate: Option<Stability>,
    /// By depth.
    pub depth: Option<Stability>,
    /// Has one of them reached its limit in three cycles in a row? None if none can be told.
    pub has_moved: Option<bool>,
}

impl Default for PopulationShift {
    fn default() -> PopulationShift {
        PopulationShift { cycles_needed: POPULATION_NEEDS, change_rate: None, depth: None, has_moved: None }
    }
}

impl PopulationShift {
    fn compared(before: &Histograms, now: &Histograms) -> PopulationShift {
        let resolved: u64 = before.visits[bin_of_digits(RESOLVED)..].iter().sum();
        let is_resolved = 2 * resolved >= before.visits.iter().sum::<u64>();
        // Whether each or no visit yet has found a change depends on n, so the ends join their neighbours.
        let rates = |of: &Histograms| {
            let [none, few, between @ .., many, all] = of.change_rate;
            [&[none + few], between.as_slice(), &[many + all]].concat()
        };
        let change_rate = Stability::compare(&rates(before), &rates(now)).filter(|_| is_resolved);
        PopulationShift {
            change_rate,
            depth: Stability::compare(&before.depth, &now.depth),
            ..Self::default()
        }
    }

    fn indexes(&self) -> impl Iterator<Item = Stability> {
        [self.change_rate, self.depth].into_iter().flatten()
    }
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
    pub fn read(repository: &Repository) -> Result<Follower, Failure> {
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

    /// Measurements so far.
    pub fn watch(&self) -> CrawlWatch {
        let mut watcher = self.watcher.clone();
        self.last.clone().into_iter().for_each(|cycle| watcher.add(cycle));
        watcher.finish()
    }
}

/// Reads the reports of cycles in order.
#[derive(Clone, Default)]
pub struct Watcher {
    watch: CrawlWatch,
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
            self.watch.drift.alarm = Some(CusumAlarm { cycle: report.cycle, changes });
        }
        if self.recent.len() > POOLED {
            self.recent.pop_front();
        }
        let before = self.recent.front().filter(|_| self.watch.cycles > SETTLING + POOLED as u32);
        if let Some(before) = before.and_then(|before| before.population.as_ref()) {
            let now = PopulationShift::compared(&before.histograms, &population.histograms);
            let is_unstable = now.indexes().any(|stability| stability.has_moved());
            self.unstable = if is_unstable { self.unstable + 1 } else { 0 };
            if self.watch.cycles >= POPULATION_NEEDS {
                let has_moved = now.indexes().next().map(|_| self.unstable >= UNSTABLE_CYCLES);
                self.watch.population = PopulationShift { has_moved, ..now };
            }
        }
        self.recent.push_back(report);
    }

    /// All measurements.
    pub fn finish(self) -> CrawlWatch {
        let pooled: Vec<&RoundReport> = self.recent.iter().rev().take(POOLED).collect();
        let sum = |of: fn(&RoundReport) -> Option<ComparedVisits>| {
            pooled.iter().filter_map(|report| of(report)).fold(ComparedVisits::default(), |mut sum, found| {
                sum += found;
                sum
            })
        };
        let estimates: Vec<Interval> =
            pooled.iter().filter_map(|report| report.estimates.adjusted_freshness).collect();
        CrawlWatch {
            pooled: pooled.len() as u32,
            freshness: Pooled::from_estimates(&estimates),
            score: sum(|report| report.found.map(|found| found.score)),
            audit: sum(|report| report.found.map(|found| found.audit)),
            drift: ChangeCusum {
                cycles_wanted: self.drift.cycles_wanted(),
                sums: self.drift.sums(),
                ..self.watch.drift
            },
            ..self.watch
        }
    }
}

impl Pooled {
    fn from_estimates(estimates: &[Interval]) -> Pooled {
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
    use crate::parts::improve::found::FoundByShare;
    use crate::parts::improve::population::{ScorePopulation, bin_of_rate};
    use crate::report::facts::Facts;
    use crate::report::{CycleSample, Estimates, Tally};
    use recrawl_fetcher::StoppedBy;
    use recrawl_scheduler::ExpectedChanges;
    use recrawl_types::{Cycle, DatedRound};
    use recrawl_verifier::MergeReport;

    fn report(cycle: u32, changed: u64, deep: u64) -> RoundReport {
        let facts = Facts::without_plan(DatedRound::only_of(Cycle(cycle)), 0, "t");
        let (tally, sample, merged) = (Tally::default(), CycleSample::default(), MergeReport::default());
        let mut population = ScorePopulation::default();
        population.histograms.depth = [1000 - deep, deep, 0, 0, 0, 0, 0, 0, 0, 0];
        let expected = ExpectedChanges { changes: 400.0, variance: 256.0 };
        let score = ComparedVisits { visits: 1000, changed, expected };
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

    fn watch(reports: impl Iterator<Item = RoundReport>) -> CrawlWatch {
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
        let depth = Some(Stability { index: 0.0, limit: 0.25 });
        assert_eq!((many.population.depth, many.population.has_moved), (depth, Some(false)));
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
        assert_eq!([moved(52), moved(53)], [Some(false), Some(true)], "three cycles in a row");
    }

    #[test]
    fn a_young_crawl_is_no_norm_and_a_few_pages_are_none() {
        let of = |cycles: u32, pages: u64| {
            let all = (1..=cycles).map(|cycle| {
                let mut report = report(cycle, 400, 0);
                let deep = if cycle < 18 { 0 } else { pages / 2 };
                report.population.as_mut().unwrap().histograms.depth =
                    [pages - deep, deep, 0, 0, 0, 0, 0, 0, 0, 0];
                report
            });
            watch(all).population
        };
        assert_eq!(of(47, 1000), PopulationShift::default());
        assert_eq!(PopulationShift::default().cycles_needed, 48);
        let found = of(48, 1000);
        assert!(found.depth.unwrap().index < 0.01 && found.has_moved == Some(false), "{found:?}");
        let few = of(48, 0);
        assert_eq!((few.depth, few.has_moved), (None, None));
    }

    /// A number from 0 to 1 of a visit: SplitMix64.
    fn drawn(page: u64, n: u32) -> f64 {
        let mixed = (page << 32 | u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as f64 / u64::MAX as f64
    }

    /// Pages that change as steadily as ever: X/n and n move while a crawl is young, or visits them rarely.
    #[test]
    fn a_steady_web_that_is_visited_more_and_more_has_not_moved() {
        let rates: Vec<f64> = (0..1200).map(|page| [0.001, 0.04, 0.15, 0.6][page % 4]).collect();
        for (every, has_rates) in [(1_u32, true), (3, true), (10, false)] {
            let mut pages = vec![(0_u32, 0_u32); rates.len()];
            let mut watcher = Watcher::new();
            let mut moved = Vec::new();
            for cycle in 1..=100 {
                let mut report = report(cycle, 400, 100);
                let histograms = &mut report.population.as_mut().unwrap().histograms;
                (histograms.visits, histograms.change_rate) = ([0; 10], [0; 10]);
                for (number, ((n, x), rate)) in pages.iter_mut().zip(&rates).enumerate() {
                    histograms.visits[bin_of_digits(*n)] += 1;
                    histograms.change_rate[bin_of_rate(*n, *x)] += 1;
                    if (cycle + number as u32).is_multiple_of(every) {
                        *n += 1;
                        *x += u32::from(drawn(number as u64, *n) < 1.0 - (1.0 - rate).powi(every as i32));
                    }
                }
                watcher.add(report);
                moved.push(watcher.clone().finish().population);
            }
            assert!(moved.iter().all(|found| found.has_moved != Some(true)), "every {every} cycles");
            assert_eq!(moved[99].change_rate.is_some(), has_rates, "every {every} cycles");
        }
    }
}
