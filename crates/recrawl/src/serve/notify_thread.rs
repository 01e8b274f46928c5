//! Tells targets of changes while the daemon runs (`[[notify]]`), on a thread of its own.

use crate::notifier::{self, Crawled, Until};
use recrawl_console::view::TargetFigures;
use recrawl_crawl::failure::Failure;
use recrawl_notifications::Delivery;
use recrawl_notifications::store::Deliveries;
use recrawl_types::{Round, Span};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// Delay after it could not be read or stored where the targets stand.
const RETRY: Duration = Duration::from_secs(60);

/// The thread, and where the targets stand.
#[derive(Default)]
pub struct NotifyThread {
    started: Mutex<Option<(CancellationToken, JoinHandle<()>)>>,
    deliveries: Mutex<Deliveries>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

impl NotifyThread {
    /// Starts the thread, once there is a target.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn begin(&self, crawl: &Arc<impl Crawled + 'static>) -> Result<(), Failure> {
        let mut started = lock(&self.started);
        if started.is_some() || crawl.settings().notify.is_empty() {
            return Ok(());
        }
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
        let end = CancellationToken::new();
        let (stop, crawl) = (end.clone(), crawl.clone());
        let work = move || {
            runtime.block_on(async {
                while !stop.is_cancelled() {
                    if let Err(failure) = notifier::run(&*crawl, &stop, Until::Cancelled).await {
                        tracing::error!("cannot deliver changes, retrying in {}: {failure}", Span(RETRY));
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = tokio::time::sleep(RETRY) => {}
                        }
                    }
                }
            });
            // A disk that stands still is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("notify".into()).spawn(work).map_err(Failure::work)?;
        *started = Some((end, thread));
        Ok(())
    }

    /// Ends the thread. What was told is stored.
    pub fn end(&self) {
        if let Some((end, thread)) = lock(&self.started).take() {
            end.cancel();
            // A panic is in the log.
            drop(thread.join());
        }
    }

    /// Notes where the targets stand.
    pub fn publish(&self, deliveries: &Deliveries) {
        lock(&self.deliveries).clone_from(deliveries);
    }

    /// Where the targets stand after this round.
    pub fn figures(&self, committed: Round) -> Vec<TargetFigures> {
        let figures = |(name, delivery): (&String, &Delivery)| {
            let failing = delivery.failing.as_ref().filter(|_| delivery.is_failing());
            TargetFigures {
                name: name.clone(),
                delivered: delivery.delivered,
                waiting: delivery.held.len() as u64,
                given_up: delivery.given_up,
                rounds_behind: committed.next().since(delivery.place.round.min(committed.next())).into(),
                rounds_lost: delivery.place.lost,
                lost_at: Some(delivery.lost_at).filter(|at| *at > 0),
                failing_since: failing.map(|failing| failing.since),
                error: failing.map(|failing| failing.error.clone()),
            }
        };
        lock(&self.deliveries).iter().map(figures).collect()
    }
}
