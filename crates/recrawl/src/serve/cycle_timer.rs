//! Timer of cycles, which copes with clock changes and sleeping machines.
//!
//! It uses two clocks: the system time, which may be set, and a monotonic clock, which stands still
//! while the machine sleeps. A cycle is due `cycle.period` after the start of the last one, by
//! whichever clock reaches that first. So a clock that is set back delays a cycle by less than a
//! period, and a machine that wakes up late starts a cycle at once. A cycle that takes longer than
//! the period is followed by one cycle at once; missed ones are not made up for.

use std::time::Duration;

/// The start of the last cycle, by both clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleTimer {
    /// In milliseconds since 1970; none before the first cycle.
    started: Option<u64>,
    /// How long ago that was when noted, by the system time.
    before: Duration,
    /// When that was noted, by the monotonic clock.
    since: Duration,
    /// No cycle before this time of the monotonic clock, since the last one failed.
    not_before: Duration,
}

impl CycleTimer {
    /// From the start of the last cycle. `wall` is in milliseconds since 1970, `steady` is the
    /// monotonic clock.
    pub fn new(started: Option<u64>, wall: u64, steady: Duration) -> CycleTimer {
        let before = started.map_or(Duration::ZERO, |at| Duration::from_millis(wall.saturating_sub(at)));
        CycleTimer { started, before, since: steady, not_before: Duration::ZERO }
    }

    /// Notes when the current cycle started.
    pub fn is_in_cycle_since(&mut self, started: u64, wall: u64, steady: Duration) {
        if self.started != Some(started) {
            *self = CycleTimer::new(Some(started), wall, steady);
        }
    }

    /// Notes a failed cycle, and when to retry it.
    pub fn retry_at(&mut self, steady: Duration) {
        self.not_before = steady;
    }

    /// Conditions changed: retry now.
    pub fn retry_now(&mut self) {
        self.not_before = Duration::ZERO;
    }

    /// Time until a failed cycle is retried.
    pub fn retry_in(&self, steady: Duration) -> Duration {
        self.not_before.saturating_sub(steady)
    }

    /// Time until the next cycle is due.
    pub fn left(&self, period: Duration, wall: u64, steady: Duration) -> Duration {
        let Some(started) = self.started else { return Duration::ZERO };
        let by_wall = Duration::from_millis(wall.saturating_sub(started));
        let by_steady = self.before + steady.saturating_sub(self.since);
        period.saturating_sub(by_wall.max(by_steady))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);
    const HOUR: Duration = Duration::from_secs(3600);
    const NOON: u64 = 1_790_000_000_000;

    fn after(hours: u64) -> u64 {
        NOON + hours * 3_600_000
    }

    #[test]
    fn the_first_cycle_is_due_at_once_and_the_next_after_a_period() {
        let mut timer = CycleTimer::new(None, NOON, Duration::ZERO);
        assert_eq!(timer.left(DAY, NOON, Duration::ZERO), Duration::ZERO);
        timer.is_in_cycle_since(NOON, NOON, Duration::ZERO);
        assert_eq!(timer.left(DAY, after(5), HOUR * 5), HOUR * 19);
        assert_eq!(timer.left(DAY, after(24), HOUR * 24), Duration::ZERO);
        assert_eq!(timer.left(HOUR, after(5), HOUR * 5), Duration::ZERO, "a cycle that overran");
    }

    #[test]
    fn a_restart_keeps_the_rhythm() {
        let timer = CycleTimer::new(Some(NOON), after(7), HOUR * 100);
        assert_eq!(timer.left(DAY, after(8), HOUR * 101), HOUR * 16);
    }

    #[test]
    fn a_clock_that_was_set_back_delays_by_no_more_than_a_period() {
        let mut timer = CycleTimer::new(None, NOON, Duration::ZERO);
        timer.is_in_cycle_since(NOON, NOON, Duration::ZERO);
        let set_back = NOON - 10 * 24 * 3_600_000;
        assert_eq!(timer.left(DAY, set_back, HOUR), HOUR * 23);
        assert_eq!(timer.left(DAY, set_back, DAY), Duration::ZERO);
        // Also if it was set back while the program was not running.
        let timer = CycleTimer::new(Some(NOON), set_back, Duration::ZERO);
        assert_eq!(timer.left(DAY, set_back, Duration::ZERO), DAY);
        assert_eq!(timer.left(DAY, set_back + 3_600_000, HOUR), HOUR * 23);
    }

    #[test]
    fn a_machine_that_slept_begins_when_it_wakes_up_and_once() {
        let mut timer = CycleTimer::new(None, NOON, Duration::ZERO);
        timer.is_in_cycle_since(NOON, NOON, Duration::ZERO);
        assert_eq!(timer.left(DAY, after(72), HOUR), Duration::ZERO);
        timer.is_in_cycle_since(after(72), after(72), HOUR);
        assert_eq!(timer.left(DAY, after(72), HOUR), DAY);
    }

    #[test]
    fn a_cycle_that_failed_is_left_alone_for_a_while() {
        let mut timer = CycleTimer::new(Some(NOON), NOON, HOUR);
        timer.retry_at(HOUR * 2);
        assert_eq!(timer.retry_in(HOUR), HOUR);
        assert_eq!(timer.retry_in(HOUR * 3), Duration::ZERO);
        timer.retry_now();
        assert_eq!(timer.retry_in(HOUR), Duration::ZERO, "somebody may have mended it");
    }
}
