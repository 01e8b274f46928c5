//! Detects that the process or the machine was suspended.
//!
//! The failure of a request during a suspension says nothing about its host. The loop records a
//! heartbeat every [`HEARTBEAT`] while requests are in flight. If two heartbeats are more than
//! [`STANDSTILL`] late, by the monotonic clock or by the time of day, the process was suspended
//! between them. (Linux stops the monotonic clock while a machine sleeps, but not while a process
//! is stopped.)

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Time between two heartbeats.
pub const HEARTBEAT: Duration = Duration::from_secs(1);
/// Delay of a heartbeat that counts as a suspension. A busy machine is late too, and its
/// measurements are just as unreliable.
const STANDSTILL: Duration = Duration::from_secs(5);

/// The heartbeats of one run.
#[derive(Debug)]
pub struct Suspension(Mutex<Heartbeats>);

#[derive(Debug)]
struct Heartbeats {
    /// The last heartbeat, and its time of day in milliseconds since 1970.
    last: (Instant, u64),
    /// End of the last suspension.
    over: Option<Instant>,
}

impl Suspension {
    /// `wall` is the time of day in milliseconds since 1970.
    pub fn new(wall: u64) -> Suspension {
        Suspension(Mutex::new(Heartbeats { last: (Instant::now(), wall), over: None }))
    }

    /// Records a heartbeat.
    pub fn beat(&self, wall: u64) {
        drop(self.beats(wall));
    }

    /// Did a suspension end after `start`?
    pub fn ended_after(&self, start: Instant, wall: u64) -> bool {
        self.beats(wall).over.is_some_and(|over| over > start)
    }

    fn beats(&self, wall: u64) -> MutexGuard<'_, Heartbeats> {
        let mut beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let by_clock = Duration::from_millis(wall.saturating_sub(beats.last.1));
        if now.duration_since(beats.last.0).max(by_clock) > HEARTBEAT + STANDSTILL {
            beats.over = Some(now);
        }
        beats.last = (now, wall);
        beats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn either_clock_detects_a_suspension() {
        let watch = Suspension::new(1_000_000);
        let start = Instant::now();
        for second in 1..100 {
            advance(HEARTBEAT).await;
            watch.beat(1_000_000 + second * 1000);
        }
        assert!(!watch.ended_after(start, 1_099_000));
        advance(HEARTBEAT * 40).await;
        assert!(watch.ended_after(start, 1_139_000), "stopped");
        let later = Instant::now() + HEARTBEAT;
        advance(HEARTBEAT * 2).await;
        assert!(!watch.ended_after(later, 1_141_000), "it was before");
        assert!(watch.ended_after(later, 1_200_000), "asleep");
        advance(HEARTBEAT).await;
        assert!(!watch.ended_after(Instant::now(), 900_000), "a clock that was set back is none");
    }
}
