//! Keeps copies in step while the daemon runs (`[[deliver]]`), on a thread of its own: no target makes the crawl wait.

use crate::deliverer::{Committed, told};
use crate::notifier::Crawled;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::failure::Failure;
use recrawl_delivery::Sent;
use recrawl_types::Round;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Interval at which a commit, a new configuration and decisions are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The pause after a failure, and the longest one.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));

/// The thread.
#[derive(Default)]
pub struct DeliverThread(Mutex<Option<(Arc<AtomicBool>, JoinHandle<()>)>>);

impl DeliverThread {
    /// Starts the thread, once there is a target.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn begin(
        &self,
        crawl: &Arc<impl Crawled + 'static>,
        decided: impl Fn() -> Arc<Decisions> + Send + 'static,
    ) -> Result<(), Failure> {
        let mut started = self.0.lock().expect("no panic under the lock");
        if started.is_some() || crawl.settings().deliver.is_empty() {
            return Ok(());
        }
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
        let end = Arc::new(AtomicBool::new(false));
        let (stop, crawl) = (end.clone(), crawl.clone());
        let work = move || {
            let mut targets = BTreeMap::new();
            while !stop.load(Relaxed) {
                deliver_due(&*crawl, decided(), &runtime, &mut targets, &stop);
                thread::sleep(LOOK_EVERY);
            }
        };
        let thread = thread::Builder::new().name("deliver".into()).spawn(work).map_err(Failure::work)?;
        *started = Some((end, thread));
        Ok(())
    }

    /// Ends the thread. A request that is on its way is not waited for.
    pub fn end(&self) {
        if let Some((end, thread)) = self.0.lock().expect("no panic under the lock").take() {
            end.store(true, Relaxed);
            // A panic is in the log.
            drop(thread.join());
        }
    }
}

/// Up to where a target was brought, and when it is tried again after a failure.
#[derive(Default)]
struct DueTarget {
    seen: Option<(Round, u64, Arc<Decisions>)>,
    failed: Option<(Instant, Duration)>,
}

/// Brings the targets up to date that are not, and are not resting from a failure.
fn deliver_due(
    crawl: &dyn Crawled,
    decided: Arc<Decisions>,
    runtime: &Runtime,
    targets: &mut BTreeMap<String, DueTarget>,
    stop: &AtomicBool,
) {
    // First: a reload behind it is another look.
    let reloads = crawl.reloads();
    let (settings, generation) = (crawl.settings(), crawl.generation());
    let seen = (generation.number(), reloads, decided.clone());
    targets.retain(|name, _| settings.deliver.iter().any(|target| target.name == *name));
    for target in &settings.deliver {
        let due = targets.entry(target.name.clone()).or_default();
        let rests = due.failed.is_some_and(|(since, pause)| since.elapsed() < pause);
        if rests || (due.failed.is_none() && due.seen.as_ref() == Some(&seen)) || stop.load(Relaxed) {
            continue;
        }
        let committed = Committed {
            settings: &settings,
            blocks: Blocks::of(decided.blocks.keys()),
            generation: &generation,
            storage: &**crawl.storage(),
            now: crawl.now(),
        };
        match committed.deliver(target, runtime, &|| stop.load(Relaxed)) {
            Ok(sent) => {
                if sent != Sent::default() {
                    tracing::info!("{}", told(&target.name, sent));
                }
                *due = DueTarget { seen: Some(seen.clone()), failed: None };
            }
            Err(_) if stop.load(Relaxed) => {}
            Err(failure) => {
                let pause = due.failed.map_or(RETRY.0, |(_, pause)| (pause * 2).min(RETRY.1));
                if due.failed.is_none() {
                    tracing::warn!("{failure}; it is tried again");
                }
                due.failed = Some((Instant::now(), pause));
            }
        }
    }
}
