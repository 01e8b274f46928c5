//! Keeps copies in step while the daemon runs (`[[deliver]]`), each target on a thread of its own: none makes the crawl wait,
//! nor another target.

use crate::deliverer::{Committed, Holding, NotDelivered, release, told};
use crate::notifier::Crawled;
use recrawl_console::view::CopyFigures;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::failure::Failure;
use recrawl_delivery::SentChanges;
use recrawl_types::{Round, Span};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Interval at which a commit, a new configuration and decisions are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The pause after a failure, and the longest one that the target does not ask for.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));
/// The longest pause that a target may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// A thread, and how it is told to end.
type DeliverThread = (Arc<AtomicBool>, JoinHandle<()>);

/// The threads, by the target's address: a name says nothing of what a target holds.
#[derive(Default)]
pub struct DeliverThreads {
    started: Mutex<BTreeMap<String, DeliverThread>>,
    figures: Arc<Mutex<BTreeMap<String, CopyFigures>>>,
}

impl DeliverThreads {
    /// Starts the threads of new targets, and ends those of targets that are not configured any more.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn begin(
        &self,
        crawl: &Arc<impl Crawled + 'static>,
        decided: impl Fn() -> Arc<Decisions> + Clone + Send + 'static,
    ) -> Result<(), Failure> {
        let mut started = lock(&self.started);
        let settings = crawl.settings();
        let addresses: Vec<&String> = settings.deliver.iter().map(|target| &target.place.address).collect();
        let gone: Vec<String> =
            started.keys().filter(|address| !addresses.contains(address)).cloned().collect();
        end(gone.iter().filter_map(|address| started.remove(address)).collect());
        lock(&self.figures).retain(|address, _| !gone.contains(address));
        for target in &settings.deliver {
            let (address, file) = (target.place.address.clone(), target.file().map(Path::to_owned));
            if started.contains_key(&address) {
                continue;
            }
            let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
            let stop = Arc::new(AtomicBool::new(false));
            let (of, crawl, decided, ends) = (address.clone(), crawl.clone(), decided.clone(), stop.clone());
            let figures = self.figures.clone();
            let work = move || {
                let mut due = DueTarget::default();
                while !ends.load(Relaxed) {
                    if let Some(found) = deliver_due(&*crawl, &decided, &runtime, &of, &mut due, &ends) {
                        lock(&figures).insert(of.clone(), found);
                    }
                    thread::sleep(LOOK_EVERY);
                }
                file.iter().for_each(|file| release(file));
            };
            let thread = thread::Builder::new().name("deliver".into()).spawn(work).map_err(Failure::work)?;
            started.insert(address, (stop, thread));
        }
        Ok(())
    }

    /// Ends the threads. Of requests that are on their way only one to a bucket is waited for.
    pub fn end(&self) {
        end(std::mem::take(&mut *lock(&self.started)).into_values().collect());
    }

    /// The figures of each target that was tried since the start.
    pub fn figures(&self) -> Vec<CopyFigures> {
        lock(&self.figures).values().cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

fn end(threads: Vec<DeliverThread>) {
    threads.iter().for_each(|(end, _)| end.store(true, Relaxed));
    // A panic is in the log.
    threads.into_iter().for_each(|(_, thread)| drop(thread.join()));
}

/// A commit, a configuration and decisions.
#[derive(Clone, PartialEq)]
struct CommitSeen {
    generation: Round,
    reloads: u64,
    decided: Arc<Decisions>,
}

/// Up to where a target was brought, and when it is tried again after a failure.
#[derive(Default)]
struct DueTarget {
    seen: Option<CommitSeen>,
    failed: Option<FailedTarget>,
    /// As last shown; in milliseconds since 1970, when it last succeeded and first failed.
    holding: Holding,
    delivered_at: Option<u64>,
    failing_since: Option<u64>,
}

struct FailedTarget {
    since: Instant,
    pause: Duration,
    seen: CommitSeen,
}

impl DueTarget {
    /// Is it to be brought here now? Another configuration may be the end of a failure.
    fn is_due(&self, seen: &CommitSeen, now: Instant) -> bool {
        match &self.failed {
            Some(failed) => {
                failed.seen.reloads != seen.reloads || now.duration_since(failed.since) >= failed.pause
            }
            None => self.seen.as_ref() != Some(seen),
        }
    }

    /// Notes a failure; gives the pause.
    fn fail(&mut self, seen: CommitSeen, retry_after: Option<Duration>, now: Instant) -> Duration {
        let before = self.failed.as_ref().filter(|failed| failed.seen.reloads == seen.reloads);
        let next = before.map_or(RETRY.0, |failed| failed.pause * 2).min(RETRY.1);
        let pause = next.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER));
        self.failed = Some(FailedTarget { since: now, pause, seen });
        pause
    }
}

impl DueTarget {
    fn figures(&self, name: &str, error: Option<String>) -> CopyFigures {
        CopyFigures {
            name: name.to_owned(),
            delivered: self.holding.taken,
            waiting: self.holding.unsure,
            refused: self.holding.refused,
            delivered_at: self.delivered_at,
            failing_since: self.failing_since.filter(|_| error.is_some()),
            error,
        }
    }
}

/// Brings a target up to date that is not, and is not resting from a failure. Gives its figures, if so.
fn deliver_due(
    crawl: &dyn Crawled,
    decided: &dyn Fn() -> Arc<Decisions>,
    runtime: &Runtime,
    address: &str,
    due: &mut DueTarget,
    stop: &AtomicBool,
) -> Option<CopyFigures> {
    // First: a reload behind it is another look.
    let reloads = crawl.reloads();
    let (settings, generation) = (crawl.settings(), crawl.generation());
    let seen = CommitSeen { generation: generation.number(), reloads, decided: decided() };
    let target = settings.deliver.iter().find(|target| target.place.address == address);
    let target = target.filter(|_| due.is_due(&seen, Instant::now()))?;
    let committed = Committed {
        settings: &settings,
        blocks: Blocks::from_patterns(seen.decided.blocks.keys()),
        generation: &generation,
        storage: &**crawl.storage(),
        now: crawl.now(),
        outside: Cell::default(),
    };
    // A takedown does not wait until all is sent.
    let (looked, is_other) = (Cell::new(Instant::now()), Cell::new(false));
    let is_ended = || {
        if looked.get().elapsed() >= LOOK_EVERY {
            looked.set(Instant::now());
            let now = decided();
            let (now, then) =
                ((&now.taken_down, &now.blocks), (&seen.decided.taken_down, &seen.decided.blocks));
            is_other.set(is_other.get() || now != then);
        }
        stop.load(Relaxed) || crawl.reloads() != reloads || is_other.get()
    };
    let delivered = committed.deliver(target, runtime, &is_ended);
    let mut error = None;
    match delivered {
        Err(_) if is_ended() => return None,
        Ok(sent) => {
            let outside = committed.outside.get();
            if sent != SentChanges::default() || (outside > 0 && due.delivered_at.is_none()) {
                tracing::info!("{}", told(&target.name, sent, outside));
            }
            // What nothing was sent of is not counted again.
            if sent != SentChanges::default() || due.delivered_at.is_none() || due.failed.is_some() {
                due.holding = Holding::read(committed.storage, target, 0).unwrap_or_default();
            }
            (due.seen, due.failed, due.failing_since) = (Some(seen.clone()), None, None);
            due.delivered_at = Some(crawl.now());
        }
        Err(NotDelivered { failure, retry_after }) => {
            let is_second = due.failed.is_some();
            let pause = due.fail(seen.clone(), retry_after, Instant::now());
            tracing::warn!("{failure}; it is tried again in {}", Span(pause));
            due.failing_since = due.failing_since.or(Some(crawl.now()));
            due.holding = Holding::read(committed.storage, target, 0).unwrap_or_default();
            error = is_second.then(|| failure.to_string());
        }
    }
    Some(due.figures(&target.name, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_rests_longer_each_time_until_the_configuration_is_another() {
        let (begin, seconds) = (Instant::now(), Duration::from_secs);
        let seen = |generation, reloads| CommitSeen {
            generation: Round(generation),
            reloads,
            decided: Arc::default(),
        };
        let mut due = DueTarget::default();
        assert!(due.is_due(&seen(1, 0), begin));
        assert_eq!(due.fail(seen(1, 0), None, begin), seconds(5));
        // Another commit is no reason to ask again.
        assert!(!due.is_due(&seen(2, 0), begin + seconds(4)));
        assert!(due.is_due(&seen(1, 0), begin + seconds(5)));
        assert_eq!(due.fail(seen(1, 0), None, begin), seconds(10));
        assert_eq!(due.fail(seen(1, 0), Some(seconds(7)), begin), seconds(20));
        assert_eq!(due.fail(seen(1, 0), Some(seconds(90)), begin), seconds(90));
        assert!(!due.is_due(&seen(1, 0), begin + seconds(89)));
        assert!(due.is_due(&seen(1, 1), begin));
        assert_eq!(due.fail(seen(1, 1), None, begin), seconds(5));
        assert_eq!(due.fail(seen(1, 1), Some(seconds(1_000_000)), begin), MAX_RETRY_AFTER);
        due = DueTarget { seen: Some(seen(1, 1)), ..DueTarget::default() };
        assert!(!due.is_due(&seen(1, 1), begin));
        assert!(due.is_due(&seen(2, 1), begin));
    }
}
