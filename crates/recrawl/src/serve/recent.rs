//! The last hour of the crawl, as a ring of points, and figures of the process for metrics.
//!
//! A thread takes a point every [`EVERY`] from counters that count anyway. Nothing is added to what a page
//! costs.

use super::shared_state::SharedState;
use super::ticker::Ticker;
use recrawl_console::view::{Answers, Meters, Recent, RecentPoint, Rendering};
use recrawl_crawl::progress::answers::{self, Answer};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Distance of two points.
const EVERY: Duration = Duration::from_secs(10);
/// Maximum points in memory: one hour, about 40 kB.
const MAX_POINTS: usize = 360;

/// The ring of points.
#[derive(Default)]
pub struct Ring(Mutex<VecDeque<RecentPoint>>);

impl Ring {
    fn points(&self) -> MutexGuard<'_, VecDeque<RecentPoint>> {
        self.0.lock().expect("no panic under the lock")
    }

    fn push(&self, point: RecentPoint) {
        let mut points = self.points();
        if points.len() == MAX_POINTS {
            points.pop_front();
        }
        points.push_back(point);
    }

    /// The points after this time.
    pub fn after(&self, since: u64) -> Recent {
        let points = self.points().iter().filter(|point| point.at > since).cloned().collect();
        Recent { every_ms: EVERY.as_millis() as u64, points_max: MAX_POINTS as u64, points }
    }
}

/// Counters at one moment.
struct Counters {
    uptime: Duration,
    answers: answers::Answers,
    bytes: u64,
}

impl Counters {
    fn of(shared: &SharedState) -> Counters {
        let answers = shared.live.answers.read();
        Counters { uptime: shared.uptime(), answers, bytes: shared.live.totals().bytes }
    }

    /// What came since `before`.
    fn since(&self, before: &Counters, at: u64) -> RecentPoint {
        let answers = self.answers.since(&before.answers);
        RecentPoint {
            at,
            ms: self.uptime.saturating_sub(before.uptime).as_millis() as u64,
            answers: counts(&answers),
            bytes: self.bytes.saturating_sub(before.bytes),
            median_ms: answers.quantile(0.5),
            p95_ms: answers.quantile(0.95),
        }
    }
}

fn counts(answers: &answers::Answers) -> Answers {
    Answers {
        success: answers.of(Answer::Success),
        redirect: answers.of(Answer::Redirect),
        not_modified: answers.of(Answer::NotModified),
        client_error: answers.of(Answer::ClientError),
        server_error: answers.of(Answer::ServerError),
        failed: answers.of(Answer::Failed),
    }
}

/// Takes a point every [`EVERY`], and looks whether the learner has ended.
///
/// # Errors
/// When no thread can be started.
pub fn watch(shared: Arc<SharedState>) -> io::Result<Ticker> {
    let mut before = Counters::of(&shared);
    Ticker::start("recent", EVERY, move || {
        let now = Counters::of(&shared);
        shared.recent.push(now.since(&before, shared.now()));
        before = now;
        shared.learner.look(&shared);
    })
}

/// Figures for metrics.
pub fn meters(shared: &SharedState) -> Meters {
    let answers = shared.live.answers.read();
    let bounds = answers::BOUNDS.iter().map(|millis| *millis as f64 / 1000.0).collect();
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    Meters {
        answers: counts(&answers),
        times: (bounds, answers.buckets.to_vec()),
        total_time: answers.total_time.as_secs_f64(),
        cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
        // The listing itself has one open.
        open_files: fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1) as u64),
        max_files: getrlimit(Resource::Nofile).current,
        loop_events: shared.improving.events(),
        rendering: shared.live.rendering().map(|figures| Rendering {
            rendered: figures.rendered,
            failed: figures.failed,
            seconds: figures.millis as f64 / 1000.0,
            sent: figures.answered,
            kept: figures.cached,
            refused: figures.refused,
            starts: figures.starts,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_an_hour_and_tells_what_is_new() {
        let ring = Ring::default();
        for at in 1..=MAX_POINTS as u64 + 5 {
            ring.push(RecentPoint { at, ..RecentPoint::default() });
        }
        let all = ring.after(0);
        assert_eq!((all.points.len(), all.points[0].at, all.points_max), (MAX_POINTS, 6, 360));
        assert_eq!(EVERY * MAX_POINTS as u32, Duration::from_secs(3600));
        assert_eq!(ring.after(MAX_POINTS as u64 + 4).points.len(), 1);
        assert!(ring.after(u64::MAX).points.is_empty());
    }

    #[test]
    fn a_point_is_what_came_between() {
        let counters = |seconds, bytes| Counters {
            uptime: Duration::from_secs(seconds),
            answers: answers::Answers::default(),
            bytes,
        };
        let point = counters(21, 700).since(&counters(10, 200), 5);
        assert_eq!((point.at, point.ms, point.bytes, point.median_ms), (5, 11_000, 500, None));
    }
}
