//! Which pages of a promise a cycle visits: those whose gap would pass before the next cycle, and as
//! many of the next ones as keep later cycles from having too many.
//!
//! Deadlines are counted in cycles. With q visits a cycle, all deadlines can be met if for every j at
//! most q·(j + 1) pages must be visited within the next j cycles (earliest deadline first is optimal:
//! Liu and Layland 1973). So a cycle visits max over j of D(j) − q·j pages, where D(j) have a
//! deadline of at most j cycles from now.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A page that a promise may visit in this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromisedPage {
    /// Milliseconds until its gap would pass if it were visited then; below 0 if it has passed.
    pub left: i64,
    /// Order of equals.
    pub tie: u64,
    /// Ordinal of the page.
    pub ordinal: u64,
    /// The place of its promise.
    pub promise: usize,
}

/// The pages of one promise, while a scan passes them.
pub struct DuePages {
    /// Of a cycle, in milliseconds.
    period: i64,
    /// Pages by deadline, in cycles from now.
    deadlines: Vec<u64>,
    /// The pages with the earliest deadlines, the latest on top.
    first: BinaryHeap<PromisedPage>,
    most: usize,
}

impl DuePages {
    /// For a promise whose pages are visited every `every` cycles; at most `most` pages are chosen.
    pub fn new(period: i64, every: u32, most: u64) -> DuePages {
        // A page that was just visited has its deadline in `every` cycles, or somewhat later.
        let deadlines = vec![0; every as usize + 1];
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        DuePages { period: period.max(1), deadlines, first: BinaryHeap::new(), most }
    }

    /// Offers a page.
    pub fn offer(&mut self, page: PromisedPage) {
        let cycles = (page.left / self.period).max(0) as usize;
        let last = self.deadlines.len() - 1;
        self.deadlines[cycles.min(last)] += 1;
        self.first.push(page);
        if self.first.len() > self.most {
            self.first.pop();
        }
    }

    /// The pages that this cycle visits, with `visits` a cycle from now on.
    pub fn finish(self, visits: u64) -> Vec<PromisedPage> {
        let (mut due, mut needed) = (0u64, 0u64);
        for (cycles, pages) in (0u64..).zip(&self.deadlines) {
            due += pages;
            needed = needed.max(due.saturating_sub(visits.saturating_mul(cycles)));
        }
        let mut first = self.first.into_sorted_vec();
        first.truncate(usize::try_from(needed).unwrap_or(usize::MAX));
        first
    }
}

/// The most urgent pages of all promises, at most this many.
pub fn most_urgent(mut pages: Vec<PromisedPage>, most: u64) -> Vec<PromisedPage> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if pages.len() > most {
        pages.sort_unstable_by_key(|page| Reverse(*page));
        pages.drain(..pages.len() - most);
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::super::limits::Rhythm;
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const PERIOD: u64 = 1000;

    #[test]
    fn later_deadlines_are_met_ahead_of_time_if_they_are_too_many() {
        let chosen = |left: &[i64], visits| {
            let mut pages = DuePages::new(PERIOD as i64, 4, 100);
            (0..).zip(left).for_each(|(ordinal, left)| {
                pages.offer(PromisedPage { left: *left, tie: ordinal, ordinal, promise: 0 })
            });
            pages.finish(visits).iter().map(|page| page.ordinal).collect::<Vec<u64>>()
        };
        assert_eq!(chosen(&[-5, 999, 1000, 3000], 1), [0, 1], "one of the others fits in each next cycle");
        assert_eq!(chosen(&[3000, 3001, 3002, 3003, 3004], 1), [0, 1], "five in four cycles");
        assert_eq!(chosen(&[3000, 3001, 3002, 3003], 1), [0]);
        assert_eq!(chosen(&[3000, 3001, 3002], 1), [] as [u64; 0]);
        assert_eq!(chosen(&[], 1), [] as [u64; 0]);
        let urgent = most_urgent(
            (0..9).map(|left| PromisedPage { left, tie: 0, ordinal: left as u64, promise: 0 }).collect(),
            3,
        );
        assert_eq!(urgent.iter().map(|page| page.ordinal).max(), Some(2));
    }

    proptest! {
        /// A simulated crawl with a feasible promise: pages are visited in the order in which they are chosen, a delay
        /// apart; some visits fail. All gaps stay within, but for those of a visit that fails
        /// and of the few that its repetition pushes aside.
        #[test]
        fn a_feasible_promise_is_kept(
            count in 1u64..150, within in 1u64..12, delay in 0u64..8, failing in 0u64..4, seed in any::<u64>(),
        ) {
            let (period, within) = (Duration::from_millis(PERIOD), Duration::from_millis(within * PERIOD));
            let Some(rhythm) = Rhythm::slowest(within, period, Duration::from_millis(count * delay)) else {
                return Ok(());
            };
            let (within, spread) = (within.as_millis() as i64, rhythm.spread.as_millis() as i64 + 1);
            let visits = rhythm.visits(count);
            // All pages were found at once, and lie at any time within the first cycle.
            let mut last: Vec<i64> = (0..count).map(|page| (page * delay) as i64).collect();
            let mut lot = seed;
            let (mut failed, mut late) = (0u64, 0u64);
            for cycle in 1..60i64 {
                let now = cycle * PERIOD as i64;
                let mut pages = DuePages::new(PERIOD as i64, rhythm.every, count);
                for (ordinal, last) in (0..).zip(&last) {
                    let tie = (ordinal + 1u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    pages.offer(PromisedPage { left: within - spread - (now - last), tie, ordinal, promise: 0 });
                }
                for (place, page) in (1..).zip(pages.finish(visits)) {
                    lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let at = now + place * delay as i64;
                    if lot >> 33 & 127 < failing {
                        failed += 1;
                        continue;
                    }
                    let gap = at - last[page.ordinal as usize];
                    late += u64::from(gap > within);
                    last[page.ordinal as usize] = at;
                }
            }
            prop_assert!(late <= 3 * failed, "{late} gaps late, {failed} visits failed, every {} cycles", rhythm.every);
        }
    }
}
