//! `stormcrawler`: StormCrawler's adaptive interval.

use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};

/// `AdaptiveScheduler` of Apache StormCrawler with its defaults; a cycle is a day. The interval is
/// a day at first, in whole minutes. It is halved, to at least an hour, when the page changed, and
/// grows by a half, to at most two weeks, when it did not. As in its spouts, the page whose visit
/// was due first comes first.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "stormcrawler",
    help: "StormCrawler's adaptive interval: longest overdue first",
    make: Make::Honest(|_| Box::<StormCrawler>::default()),
};

#[derive(Default)]
struct StormCrawler {
    /// Minutes.
    intervals: Vec<u32>,
}

const DAY: u32 = 24 * 60;
const SHORTEST: u32 = 60;
const LONGEST: u32 = 14 * DAY;

fn next(interval: u32, changed: Option<bool>) -> u32 {
    match changed {
        None => DAY,
        Some(true) => (interval + SHORTEST) / 2,
        Some(false) => (interval * 3 / 2).min(LONGEST),
    }
}

impl ReplayPolicy for StormCrawler {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let age = |last: u32| f64::from(observed.cycle().0) - f64::from(last);
        let overdue = |(&interval, &last): (&u32, &u32)| age(last) - f64::from(interval) / f64::from(DAY);
        out.clear();
        out.extend(self.intervals.iter().zip(&observed.columns().last).map(overdue));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.intervals.resize(observed.columns().len(), DAY);
        for visit in visits {
            let interval = &mut self.intervals[visit.page as usize];
            *interval = next(*interval, visit.changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_what_is_found() {
        let after = |found: &[bool]| found.iter().fold(next(0, None), |i, &changed| next(i, Some(changed)));
        assert_eq!(after(&[]), 1440);
        assert_eq!(after(&[true]), 750);
        assert_eq!(after(&[true, true, false]), 607, "half a minute is dropped");
        assert_eq!(after(&[true; 20]), SHORTEST);
        assert_eq!(after(&[false; 20]), LONGEST);
    }
}
