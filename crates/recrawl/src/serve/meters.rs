//! Figures of the process for metrics, and the thread that takes points of the last hour.
//!
//! It takes a point every [`EVERY`] from counters that count anyway. Nothing is added to what a page costs.

use super::improve::learn;
use super::recent::{EVERY, RecentCounters, counts};
use super::shared_state::SharedState;
use super::ticker::Ticker;
use recrawl_console::view::{Meters, Rendering, RequisiteMeters};
use recrawl_crawl::parts::requisites::RequisiteFigures;
use recrawl_crawl::progress::answers;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::sync::Arc;

/// Takes a point every [`EVERY`], and looks whether the learner has ended.
///
/// # Errors
/// When no thread can be started.
pub fn watch(shared: Arc<SharedState>) -> io::Result<Ticker> {
    let mut before = RecentCounters::read(&shared.live, shared.uptime());
    Ticker::start("recent", EVERY, move || {
        let now = RecentCounters::read(&shared.live, shared.uptime());
        shared.recent.push(now.since(&before, shared.now()));
        before = now;
        learn::look(&shared);
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
        requisites: shared.live.requisites().map(|figures| {
            let RequisiteFigures { requested, archived, same, refused, failed, left_out, bytes } = figures;
            RequisiteMeters { requested, archived, same, refused, failed, left_out, bytes }
        }),
    }
}
