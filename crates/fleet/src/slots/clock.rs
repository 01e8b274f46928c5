//! The store's clock, by the own one.

use super::CLOCK_BOUND;

/// Milliseconds by which times of objects may be off: some stores tell whole seconds, rounded down.
const STEP: i64 = 1_000;
/// Milliseconds by which clocks of a store's machines may differ.
const SKEW: i64 = 100;
/// Part of the time since a measurement by which the own clock may have drifted.
const DRIFT: u64 = 4_000;

/// The store's clock as a process measured it, in milliseconds since 1970. The own clock is never set, and runs on while the
/// machine is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreClock {
    ahead: Option<ClockLead>,
    /// A measurement contradicted what was known: others may not have noticed before this time.
    doubt_until: u64,
}

/// Bounds of the store's time minus the own one.
#[derive(Clone, Copy, Debug)]
struct ClockLead {
    least: i64,
    most: i64,
    at: u64,
}

impl ClockLead {
    fn widened(self, now: u64) -> ClockLead {
        let drift = (now.saturating_sub(self.at) / DRIFT + 1) as i64;
        ClockLead { least: self.least - drift, most: self.most + drift, at: now }
    }
}

impl StoreClock {
    /// An object was created between two times of the own clock; the store says when. After a contradiction nothing is known
    /// for `doubt` milliseconds: the store's clock was set, and others measure it again within that time.
    pub fn measured(&mut self, (asked, answered): (u64, u64), created: u64, doubt: u64) {
        let (least, most) =
            (created as i64 - answered as i64 - SKEW, created as i64 - asked as i64 + STEP + SKEW);
        let fresh = ClockLead { least, most, at: answered };
        let both = self.ahead.map(|known| known.widened(answered)).map(|known| ClockLead {
            least: known.least.max(least),
            most: known.most.min(most),
            at: answered,
        });
        self.ahead = Some(match both {
            Some(both) if both.least <= both.most => both,
            Some(_) => {
                self.doubt_until = answered + doubt;
                fresh
            }
            None => fresh,
        });
    }

    /// Was it measured?
    pub fn is_known(&self) -> bool {
        self.ahead.is_some()
    }

    /// By how many milliseconds [`StoreClock::time`] may be wrong; none if nothing was measured.
    pub fn bound(&self, now: u64) -> Option<u64> {
        let known = self.ahead?.widened(now);
        Some((known.most - known.least + 1) as u64 / 2)
    }

    /// The store's time; none if it may be wrong by more than [`CLOCK_BOUND`], or the store contradicts itself.
    pub fn time(&self, now: u64) -> Option<u64> {
        let known = self.ahead?.widened(now);
        let is_sure = self.bound(now)? <= CLOCK_BOUND && now >= self.doubt_until;
        is_sure.then(|| (now as i64 + (known.least + known.most) / 2).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the store rounds and however long its answers take, the time is within its bound.
        #[test]
        fn the_store_s_time_is_within_its_bound(
            offset in 0u64..10_000_000,
            waits in proptest::collection::vec((0u64..700, 0u64..700, 0u64..60_000), 1..20),
            step in prop::sample::select(vec![1u64, 1_000]),
        ) {
            let mut clock = StoreClock::default();
            let mut now = 5_000;
            for (to, back, pause) in waits {
                let created = (now + to + offset) / step * step;
                clock.measured((now, now + to + back), created, 1);
                now += to + back + pause;
                let bound = clock.bound(now).unwrap();
                prop_assert!(bound < 1_400, "{bound}");
                if let Some(time) = clock.time(now) {
                    prop_assert!(time.abs_diff(now + offset) <= bound.min(CLOCK_BOUND), "{time} {now}");
                }
            }
        }
    }

    #[test]
    fn slow_answers_and_a_store_whose_clock_is_set_leave_nothing_known() {
        let mut clock = StoreClock::default();
        assert!(!clock.is_known() && clock.time(0).is_none());
        clock.measured((0, 900), 50_000, 9_000);
        assert_eq!((clock.bound(900), clock.time(900)), (Some(1_051), None), "too slow an answer");
        clock.measured((1_000, 1_100), 51_000, 9_000);
        assert!(clock.time(1_100).unwrap().abs_diff(51_500) < 600);
        assert!(clock.time(6_000_000).is_none(), "its own clock may have drifted since");
        clock.measured((2_000, 2_100), 60_000, 9_000);
        assert_eq!((clock.time(2_100), clock.time(11_099)), (None, None));
        assert!(clock.time(11_100).unwrap().abs_diff(69_550) < 700);
    }
}
