//! Progress of a learning run on a terminal; nothing elsewhere.

use indicatif::ProgressBar;
use recrawl_crawl::process::Shutdown;
use recrawl_learner::Observer;
use recrawl_terminal::progress_bar;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A progress bar: fold, seed, generation, best fitness, mean size, evaluations per second, time
/// left.
pub struct LearnProgress<'a> {
    shutdown: &'a Shutdown,
    bar: ProgressBar,
    begun: Instant,
    /// Processor time to spend.
    cpu: Option<Duration>,
}

/// Part of the processor time that training may take; the rest is for the choice and the test.
const TRAINING: f64 = 0.85;

/// Processor time of this process.
fn spent() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

impl<'a> LearnProgress<'a> {
    /// Draws only if standard error is a terminal.
    pub fn new(shutdown: &'a Shutdown, cpu: Option<Duration>) -> LearnProgress<'a> {
        let bar = progress_bar::line(None, "{bar:20} {pos}/{len}  {msg}  {eta} left");
        LearnProgress { shutdown, bar, begun: Instant::now(), cpu }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for LearnProgress<'_> {
    fn generation(&mut self, at: &recrawl_learner::Progress) {
        if self.bar.length().is_none() {
            // The work of a resumed checkpoint must not count as speed.
            self.bar.set_length(at.all);
            self.bar.set_position(at.done);
            self.bar.reset_eta();
        }
        self.bar.set_position(at.done);
        let rate = at.work.asked as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        let by_page = match at.work.replays_by_page {
            0 => String::new(),
            replays => format!(", {} of {} replayed page by page", replays, at.work.replayed),
        };
        self.bar.set_message(format!(
            "fold {}, seed {}, generation {}: best {:.4}, mean size {:.0}, {rate:.0} evaluations/s{by_page}",
            at.fold + 1,
            at.seed,
            at.generation + 1,
            at.figures.best,
            at.figures.nodes
        ));
    }

    fn begins(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn stop(&mut self) -> bool {
        self.shutdown.requested()
    }

    fn ends_run(&mut self, at: &recrawl_learner::Progress) -> bool {
        let part = TRAINING * (at.run + 1) as f64 / at.runs as f64;
        self.cpu.is_some_and(|cpu| spent() >= cpu.mul_f64(part))
    }
}

impl Drop for LearnProgress<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}
