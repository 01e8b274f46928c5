//! The learner of a daemon: a child process of the lowest priority, that ends with the daemon.

use recrawl_console::view::{LearnerEnd, LearnerNow};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::improve::store::LoopStore;
use recrawl_types::Cycle;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};

/// Parts of a second in which Linux counts processor time for other processes (USER_HZ).
const TICKS: f64 = 100.0;
/// Bytes of the learner's last words that are read.
const MAX_WORDS: u64 = 4096;

/// Learns formulas from the crawl's own visits, one at a time.
#[derive(Default)]
pub struct Learner(Mutex<LearningState>);

#[derive(Default)]
struct LearningState {
    running: Option<RunningLearner>,
    is_asked: bool,
    /// Processor time of learners that ended, in seconds.
    cpu_before: f64,
    failures: u64,
    ended: Option<LearnerEnd>,
}

struct RunningLearner {
    child: Child,
    /// The cycle after which it began.
    cycle: Cycle,
    /// In milliseconds since 1970.
    since: u64,
    /// As last read, in seconds.
    cpu: f64,
    /// Has it ended, and is only to be noted?
    has_ended: bool,
}

impl Learner {
    fn inner(&self) -> MutexGuard<'_, LearningState> {
        self.0.lock().expect("no panic under the lock")
    }

    /// Asks the crawl thread to begin; false if a learner runs or is asked for.
    pub fn ask(&self) -> bool {
        let mut inner = self.inner();
        let is_new = inner.running.is_none() && !inner.is_asked;
        inner.is_asked = true;
        is_new
    }

    /// Does an operator want it to begin?
    pub fn is_asked(&self) -> bool {
        self.inner().is_asked
    }

    /// Notes that learning ended, or could not begin, for this reason.
    pub fn failed(&self, now: u64, why: String) {
        self.inner().ended(now, Err(why));
    }

    /// Begins if it is due, or an operator asked; true if it has begun. Only the crawl thread may call this: the child
    /// ends with the thread that starts it.
    ///
    /// # Errors
    /// When the state of the loop cannot be read, or no process be started.
    pub fn begin(&self, crawl: &Crawl, now: u64, config: Option<&Path>) -> Result<bool, Failure> {
        let is_asked = std::mem::take(&mut self.inner().is_asked);
        let Some(rules) = crawl.settings.loop_rules else { return Ok(false) };
        let cycle = crawl.repository.current().cycle();
        // In this order: what has ended is noted before it runs no more.
        if self.inner().running.is_some() {
            return Ok(false);
        }
        let state = crawl.improve.read()?;
        if !(state.wants_learning(cycle, &rules) || is_asked && state.is_free()) {
            return Ok(false);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["improve", "run", "--quiet", "--threads", "1", "--child-of"]);
        command.arg(std::process::id().to_string()).arg("--tries").arg(state.tries.to_string());
        command.arg("--data-dir").arg(&crawl.settings.data_dir);
        if let Some(config) = config {
            command.arg("--config").arg(config);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        self.inner().running = Some(RunningLearner { child, cycle, since: now, cpu: 0.0, has_ended: false });
        tracing::info!("learning from the crawl's visits");
        Ok(true)
    }

    /// Notes how learning ended, if it did since the last look; true then.
    ///
    /// # Errors
    /// When the state of the loop cannot be stored.
    pub fn look(&self, store: &LoopStore, now: u64) -> Result<bool, Failure> {
        let ended = self.inner().look(now);
        let Some(cycle) = ended else { return Ok(false) };
        // Kept only now, so a daemon that ends while it learns begins again. No other learner begins before it is kept.
        let kept = store.change(|state| state.learned = state.learned.max(cycle));
        self.inner().running = None;
        kept.map(|()| true)
    }

    /// The cycle after which the learner began that runs.
    pub fn began_after(&self) -> Option<Cycle> {
        self.inner().running.as_ref().map(|running| running.cycle)
    }

    /// What it does now, and since the daemon started.
    pub fn tell(&self, told: &mut LearnerNow) {
        let mut inner = self.inner();
        let running = inner.running.as_mut().filter(|running| !running.has_ended).map(|running| {
            running.read_cpu();
            (running.since, running.cpu)
        });
        told.running_since = running.map(|(since, _)| since);
        told.cpu_seconds = inner.cpu_before + running.map_or(0.0, |(_, cpu)| cpu);
        told.is_asked = inner.is_asked;
        told.failures = inner.failures;
        told.ended.clone_from(&inner.ended);
    }

    /// Ends the learner, as the daemon ends. Its files are whole or not there.
    pub fn end(&self) {
        if let Some(mut running) = self.inner().running.take() {
            let _ended = running.child.kill();
            let _status = running.child.wait();
        }
    }
}

impl LearningState {
    /// The cycle after which the learner began that has ended since the last look.
    fn look(&mut self, now: u64) -> Option<Cycle> {
        let running = self.running.as_mut().filter(|running| !running.has_ended)?;
        // What has ended and is not waited for yet still has its figures.
        running.read_cpu();
        let ended = match running.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(last_words(&mut running.child, status)),
            Err(error) => Err(format!("lost the learner: {error}")),
        };
        running.has_ended = true;
        let cycle = running.cycle;
        self.cpu_before += std::mem::take(&mut running.cpu);
        match &ended {
            Ok(()) => tracing::info!("learned a candidate from the crawl's visits"),
            Err(why) => tracing::warn!("learning from the crawl's visits failed: {why}"),
        }
        self.ended(now, ended);
        Some(cycle)
    }

    fn ended(&mut self, at: u64, ended: Result<(), String>) {
        self.failures = if ended.is_ok() { 0 } else { self.failures + 1 };
        self.ended = Some(LearnerEnd { at, has_learned: ended.is_ok(), why: ended.err() });
    }
}

impl RunningLearner {
    /// Reads the processor time from /proc; the last one stays if there is none.
    fn read_cpu(&mut self) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        self.cpu = cpu_of(&stat).unwrap_or(0.0).max(self.cpu);
    }
}

/// Processor time of a process and its threads, in seconds, by the text of /proc/PID/stat.
fn cpu_of(stat: &str) -> Option<f64> {
    // The name in parentheses may have spaces. After it come the fields from the third on; user and system time are the
    // 14th and 15th.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / TICKS)
}

/// Why a learner failed.
fn last_words(child: &mut Child, status: ExitStatus) -> String {
    let mut words = String::new();
    if let Some(stdout) = child.stdout.take() {
        // Not UTF-8, or not readable: the status tells at least something.
        let _read = stdout.take(MAX_WORDS).read_to_string(&mut words);
    }
    match words.trim() {
        "" => format!("it ended with {status}"),
        words => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_any_name() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 39 19 1 0 12345 0 0";
        assert_eq!(cpu_of(stat), Some(3.0));
        assert_eq!(cpu_of(""), None);
        assert!(cpu_of(&fs::read_to_string("/proc/self/stat").unwrap()).is_some());
    }

    #[test]
    fn failures_in_a_row_are_counted_and_their_reason_is_kept() {
        let mut inner = LearningState::default();
        let run = |inner: &mut LearningState, words: &str, code: u8| {
            let mut shell = Command::new("sh");
            let script = format!("echo '{words}'; exit {code}");
            let child = shell.args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
            inner.running =
                Some(RunningLearner { child, cycle: Cycle(5), since: 1, cpu: 0.0, has_ended: false });
            while inner.look(7) != Some(Cycle(5)) {
                std::thread::yield_now();
            }
            assert_eq!(inner.look(8), None);
            inner.ended.clone().unwrap()
        };
        assert_eq!(run(&mut inner, "too little", 1).why.as_deref(), Some("too little"));
        assert!(run(&mut inner, "", 3).why.unwrap().contains('3'));
        assert_eq!(inner.failures, 2);
        let learned = run(&mut inner, "candidate", 0);
        assert_eq!((learned.has_learned, learned.why, inner.failures), (true, None, 0));
    }
}
