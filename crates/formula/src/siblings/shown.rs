//! What the visits of a group of pages have shown.

use crate::math::ln;
use crate::{Priors, RateEvidence};
use recrawl_types::{Cycle, StateColumns};

/// Last visits tell of a burst for this many cycles, the current one included.
pub const MEMORY: usize = 16;

/// A visit counts as at most this many expected changes: sums over all pages fit.
const MOST: f64 = 1024.0;

/// One expected change, as an integer: sums do not depend on the order of pages.
const ONE: f64 = (1u64 << 32) as f64;

/// What the records of some pages show together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPages {
    /// Their visits so far.
    pub evidence: RateEvidence,
    /// Their last visits, by age in cycles; 0 is the current cycle.
    last_visits: [LastVisits; MEMORY],
}

/// The last visits of some pages in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LastVisits {
    visits: u64,
    /// Changes found.
    changes: u64,
    /// Changes expected.
    expected: u64,
}

impl ShownPages {
    /// No page.
    pub const NONE: ShownPages = ShownPages {
        evidence: RateEvidence { changes: 0, cycles: 0, changed_cycles: 0 },
        last_visits: [LastVisits { visits: 0, changes: 0, expected: 0 }; MEMORY],
    };

    /// Adds what the record in a row shows as of `cycle`.
    ///
    /// The last visit found a change or not. Expected was a'·ln(1 + g/b'), the hazard of the Gamma posterior that
    /// the page had before, with the rate of all pages as prior. A record does not have the interval g before its
    /// last visit; g is taken as the mean interval, T/n.
    pub fn add_row(&mut self, c: &StateColumns, row: usize, cycle: Cycle) {
        let evidence = RateEvidence::of_row(c, row);
        self.evidence.add(evidence);
        let age = cycle.since(Cycle(c.last[row])) as usize;
        if age >= MEMORY || c.visits[row] == 0 {
            return;
        }
        let has_changed = c.last_visit_changed(row);
        let changes = u64::from(has_changed);
        let gap = evidence.cycles as f64 / f64::from(c.visits[row]);
        let same_before = if has_changed { gap } else { 0.0 };
        let changed_before = (evidence.changed_cycles as f64 - same_before).max(0.0);
        let watched = evidence.cycles as f64 - gap - 0.5 * changed_before;
        let shape = Priors::SHAPE + (evidence.changes - changes) as f64;
        let expected = shape * ln(1.0 + gap / (Priors::SHAPE / c.global_rate + watched));
        let visit = LastVisits { visits: 1, changes, expected: (expected.min(MOST) * ONE) as u64 };
        self.last_visits[age].add(&visit);
    }

    /// By the age of a page's own last visit: the [burst](StateColumns::burst) among the pages that were visited
    /// later.
    pub fn bursts(&self) -> [f64; MEMORY + 1] {
        let mut bursts = [1.0; MEMORY + 1];
        let mut later = LastVisits::default();
        for (burst, visits) in bursts[1..].iter_mut().zip(&self.last_visits) {
            later.add(visits);
            *burst = later.met().burst();
        }
        bursts
    }

    /// The last visits of less than `age` cycles ago.
    pub fn later_than(&self, age: usize) -> ObservedVisits {
        let mut later = LastVisits::default();
        self.last_visits.iter().take(age).for_each(|visits| later.add(visits));
        later.met()
    }
}

impl LastVisits {
    fn add(&mut self, other: &LastVisits) {
        self.visits += other.visits;
        self.changes += other.changes;
        self.expected += other.expected;
    }

    fn met(&self) -> ObservedVisits {
        ObservedVisits { visits: self.visits, changes: self.changes, expected: self.expected as f64 / ONE }
    }
}

/// What some visits met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedVisits {
    /// Number of visits.
    pub visits: u64,
    /// Changes that they found.
    pub changes: u64,
    /// Changes expected of them.
    pub expected: f64,
}

impl ObservedVisits {
    /// The burst: changes of a group vary together by a Gamma factor of mean 1 and shape a; having expected E and met
    /// O, its mean is (a + O)/(a + E).
    pub fn burst(&self) -> f64 {
        (BURST_SHAPE + self.changes as f64) / (BURST_SHAPE + self.expected)
    }
}

/// a, the shape of the Gamma factor of a group. Small: a group seldom changes, and then much of it. Chosen on five
/// recorded sets (docs/internals/measurements.md, Siblings).
const BURST_SHAPE: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{History, Known};

    fn columns(histories: &[History]) -> StateColumns {
        let mut columns = StateColumns { global_rate: 0.1, ..StateColumns::default() };
        histories.iter().for_each(|history| columns.push(Known::default(), Some(history)));
        columns
    }

    #[test]
    fn a_last_visit_is_weighed_by_what_was_expected_of_it() {
        let mut changed = History::first_fetch(Cycle(1));
        changed.record(Cycle(5), false);
        changed.record(Cycle(9), true);
        let mut same = History::first_fetch(Cycle(1));
        same.record(Cycle(8), false);
        let columns = columns(&[changed, same, History::first_fetch(Cycle(9))]);
        let mut group = ShownPages::NONE;
        (0..3).for_each(|row| group.add_row(&columns, row, Cycle(10)));
        assert_eq!(group.evidence, RateEvidence { changes: 1, cycles: 15, changed_cycles: 4 });
        // Before its visit in cycle 9, the first page was watched for 4 cycles without a change.
        let expected = 0.5 * (1.0 + 4.0 / (5.0 + 4.0f64)).ln();
        // And the second one not at all, for 7 cycles.
        let more = 0.5 * (1.0 + 7.0 / 5.0f64).ln();
        let bursts = group.bursts();
        let near =
            |age: usize, value: f64| assert!((bursts[age] - value).abs() < 1e-9, "{age}: {}", bursts[age]);
        // After a visit in the last cycle, no visit of these is later.
        near(0, 1.0);
        near(1, 1.0);
        near(2, 1.5 / (0.5 + expected));
        near(3, 1.5 / (0.5 + expected + more));
        near(MEMORY, 1.5 / (0.5 + expected + more));
    }

    #[test]
    fn old_visits_and_first_ones_tell_nothing_of_a_burst() {
        let mut old = History::first_fetch(Cycle(1));
        old.record(Cycle(9), true);
        let columns = columns(&[old, History::first_fetch(Cycle(20))]);
        let bursts_after = |cycles: u32| {
            let mut group = ShownPages::NONE;
            (0..2).for_each(|row| group.add_row(&columns, row, Cycle(9 + cycles)));
            group.bursts()
        };
        assert_eq!(bursts_after(MEMORY as u32), [1.0; MEMORY + 1]);
        assert!(bursts_after(MEMORY as u32 - 1)[MEMORY] > 1.0, "a cycle before, it counts");
    }

    /// Records that no crawl writes, such as those of a damaged file, give numbers.
    #[test]
    fn extreme_records_give_finite_bursts() {
        let changes = u32::MAX;
        let odd = History {
            visits: 1,
            changes,
            last: Cycle(u32::MAX),
            changed_cycles: u32::MAX,
            ..History::default()
        };
        let odd = History { last_change: odd.last, ..odd };
        for rate in [1e-300, 1.0, 1e300] {
            let columns = StateColumns { global_rate: rate, ..columns(&[odd]) };
            let mut group = ShownPages::NONE;
            (0..9).for_each(|_| group.add_row(&columns, 0, Cycle(u32::MAX)));
            let bursts = group.bursts();
            assert!(bursts.iter().all(|burst| burst.is_finite() && *burst > 0.0), "{bursts:?}");
        }
    }
}
