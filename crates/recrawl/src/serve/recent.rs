//! The last hour of the crawl, as a ring of points.

use recrawl_console::view::{Answers, Recent, RecentPoint};
use recrawl_crawl::progress::answers::{self, AnswerKind};
use recrawl_crawl::progress::figures::RoundProgress;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Distance of two points.
pub const EVERY: Duration = Duration::from_secs(10);
/// Maximum points in memory: one hour, about 40 kB.
const MAX_POINTS: usize = 360;

/// The ring of points.
#[derive(Default)]
pub struct Ring(Mutex<VecDeque<RecentPoint>>);

impl Ring {
    fn points(&self) -> MutexGuard<'_, VecDeque<RecentPoint>> {
        self.0.lock().expect("no panic under the lock")
    }

    pub fn push(&self, point: RecentPoint) {
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
pub struct RecentCounters {
    uptime: Duration,
    answers: answers::AnswerCounts,
    bytes: u64,
}

impl RecentCounters {
    pub fn read(live: &RoundProgress, uptime: Duration) -> RecentCounters {
        RecentCounters { uptime, answers: live.answers.read(), bytes: live.totals().bytes }
    }

    /// What came since `before`.
    pub fn since(&self, before: &RecentCounters, at: u64) -> RecentPoint {
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

pub fn counts(answers: &answers::AnswerCounts) -> Answers {
    Answers {
        success: answers.count(AnswerKind::Success),
        redirect: answers.count(AnswerKind::Redirect),
        not_modified: answers.count(AnswerKind::NotModified),
        client_error: answers.count(AnswerKind::ClientError),
        server_error: answers.count(AnswerKind::ServerError),
        failed: answers.count(AnswerKind::Failed),
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
        let counters = |seconds, bytes| RecentCounters {
            uptime: Duration::from_secs(seconds),
            answers: answers::AnswerCounts::default(),
            bytes,
        };
        let point = counters(21, 700).since(&counters(10, 200), 5);
        assert_eq!((point.at, point.ms, point.bytes, point.median_ms), (5, 11_000, 500, None));
    }
}
