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
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use recrawl_crawl::clock::{self, SoFar};
    use recrawl_crawl::report::RoundReport;
    use recrawl_crawl::round::RoundKind;

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

    /// Ten thousand lives of a daemon: rounds, kills, clocks that are set, machines that sleep. After a
    /// restart the next round is the one before it. No cycle begins early, unless the clock ran ahead; and
    /// none is kept waiting for longer than a period after the last restart.
    #[test]
    fn a_restart_decides_the_same_in_ten_thousand_lives() {
        use RoundKind::{Fill, Revisit, Urgent};
        let (mut cycles, mut fills, mut restarts) = (0, 0, 0);
        for seed in 0..10_000 {
            let mut lot = StdRng::seed_from_u64(seed);
            let (mut wall, mut steady, mut since_restart) = (NOON, Duration::ZERO, Duration::ZERO);
            // True time, and how far the clock was set ahead since the cycle began.
            let (mut time, mut begun, mut ahead) = (Duration::ZERO, None::<Duration>, Duration::ZERO);
            let (mut reports, mut so_far) = (Vec::new(), SoFar::default());
            let mut timer = CycleTimer::new(None, wall, steady);
            for _ in 0..40 {
                let left = timer.left(DAY, wall, steady);
                let urgent = lot.random_bool(0.2);
                let waiting =
                    |cycle| clock::WaitingWork { cycle, urgent, fill: true, ..clock::WaitingWork::default() };
                let next = clock::next(&so_far, &waiting(left.is_zero()));
                match (next.map(|next| next.kind), lot.random_range(0..6)) {
                    (Some(kind), 0..4) => {
                        if kind == Revisit {
                            let early = begun.is_some_and(|begun| time + ahead < begun + DAY);
                            assert!(!early, "life {seed}: a cycle began early");
                            (begun, ahead, cycles) = (Some(time), Duration::ZERO, cycles + 1);
                        }
                        fills += u32::from(kind == Fill);
                        let cycle = reports.last().map_or(0, |last: &RoundReport| last.cycle);
                        let report = committed(
                            cycle + u32::from(kind == Revisit),
                            kind,
                            if kind == Urgent { 1 } else { lot.random_range(0..3) },
                            if kind == Revisit { wall } else { so_far.started.unwrap() },
                        );
                        so_far.add(&report);
                        timer.is_in_cycle_since(report.cycle_started(), wall, steady);
                        reports.push(report);
                    }
                    (None, _) if left > DAY => panic!("life {seed}: the next cycle is {left:?} away"),
                    (_, 4) => {
                        // Killed; the clock may be set while nobody looks.
                        restarts += 1;
                        let set_back = lot.random_bool(0.2);
                        if set_back {
                            wall -= lot.random_range(0..DAY.as_millis() as u64);
                        }
                        since_restart = Duration::ZERO;
                        let mut again = SoFar::default();
                        reports.iter().for_each(|report| again.add(report));
                        assert_eq!(again, so_far, "life {seed}");
                        timer = CycleTimer::new(again.started, wall, steady);
                        let is_due = timer.left(DAY, wall, steady).is_zero();
                        if !set_back && is_due == left.is_zero() {
                            assert_eq!(clock::next(&again, &waiting(is_due)), next, "life {seed}");
                        }
                    }
                    (_, 5) => {
                        // The machine sleeps, or somebody sets its clock forward. The monotonic clock stands still.
                        let step = Duration::from_millis(lot.random_range(0..DAY.as_millis() as u64));
                        wall += step.as_millis() as u64;
                        if lot.random_bool(0.5) {
                            time += step;
                        } else {
                            ahead += step;
                        }
                    }
                    _ => {}
                }
                let gone_by = Duration::from_millis(lot.random_range(0..6 * 3_600_000));
                (wall, steady, time) = (wall + gone_by.as_millis() as u64, steady + gone_by, time + gone_by);
                since_restart += gone_by;
                let is_late = since_restart >= DAY && begun.is_some_and(|begun| time >= begun + DAY);
                assert!(
                    !is_late || timer.left(DAY, wall, steady).is_zero(),
                    "life {seed}: it waits for ever"
                );
            }
        }
        println!("{cycles} cycles, {fills} fill rounds, {restarts} restarts in 10,000 lives");
        assert!(cycles > 20_000 && fills > 20_000 && restarts > 20_000);
    }

    /// The report of a round that fetched this many pages.
    fn committed(cycle: u32, kind: RoundKind, fetched: u64, cycle_started: u64) -> RoundReport {
        let json = serde_json::json!({
            "cycle": cycle, "kind": kind, "fetched": fetched, "cycle_started": cycle_started,
            "started": if kind == RoundKind::Revisit { cycle_started } else { 0 },
            "scheduled": 0, "gone": 0, "links_new": 0, "links_pending": 0, "pages_known": 0,
            "pages_visited": 0, "never_tried": 0, "formula": "age", "seconds": 0.0, "stopped_by": "schedule",
        });
        serde_json::from_value(json).unwrap()
    }
}
