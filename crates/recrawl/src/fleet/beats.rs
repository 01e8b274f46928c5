//! Signs of life of an owner, and its end when they do not arrive.

use super::NodeStatus;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{Lease, Partition, beat, release};
use recrawl_vault::{Store, VaultError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Beats in a lease.
const BEATS: u64 = 6;
/// How often the end of the lease is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Makes the status of the node, as of now.
pub type TellStatus = Box<dyn Fn() -> NodeStatus + Send>;

/// An owner's beats: on two threads, since a store may take long to answer, and the lease ends all the same.
pub struct Beats {
    shared: Arc<SharedLease>,
    threads: Vec<JoinHandle<()>>,
    store: Arc<dyn Store>,
    partition: Arc<Partition>,
}

struct SharedLease {
    state: Mutex<LeaseState>,
    changed: Condvar,
    /// Stops the crawl.
    stop: CancellationToken,
}

struct LeaseState {
    lease: Lease,
    has_ended: bool,
    lost: Option<String>,
}

impl SharedLease {
    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, why: String) {
        let mut state = self.state();
        if state.lost.is_none() && !state.has_ended {
            tracing::error!("this process asks no host and ships nothing more: {why}");
            state.lost = Some(why);
        }
        drop(state);
        self.stop.cancel();
    }

    /// Waits; true at the end.
    fn wait(&self, time: Duration) -> bool {
        let wait = self.changed.wait_timeout_while(self.state(), time, |state| !state.has_ended);
        wait.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }
}

impl Beats {
    /// Begins, for an owner whose epoch was taken after `began`. When the lease is over, or another process has the partition, `stop`
    /// is cancelled.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn begin(
        store: Arc<dyn Store>,
        partition: Arc<Partition>,
        began: u64,
        stop: CancellationToken,
        status: TellStatus,
    ) -> Result<Beats, Failure> {
        let length = partition.map().lease();
        let state = LeaseState { lease: Lease::new(length, began), has_ended: false, lost: None };
        let shared = Arc::new(SharedLease { state: Mutex::new(state), changed: Condvar::new(), stop });
        let (beating, of_beats, own) = (shared.clone(), store.clone(), partition.clone());
        let (id, epoch) = (partition.id(), partition.epoch());
        let asking = shared.clone();
        partition.hold_to(Box::new(move || asking.state().lease.holds(boot_clock())));
        let every = Duration::from_millis(length / BEATS);
        let beats = move || {
            let mut has_told = false;
            for counter in 1.. {
                let sent = boot_clock();
                let told = beat(&*of_beats, id, epoch, counter).and_then(|()| {
                    beating.state().lease.beaten(sent, boot_clock());
                    status().write(&*of_beats)?;
                    own.hear_call()
                });
                match told {
                    Ok(()) => has_told = false,
                    Err(VaultError::Lost { object }) => {
                        return beating.lose(format!("another process has taken partition {id} ({object})"));
                    }
                    Err(error) if !std::mem::replace(&mut has_told, true) => {
                        tracing::warn!("cannot show the fleet that this process is alive: {error}");
                    }
                    Err(_) => {}
                }
                if beating.wait(every) {
                    return;
                }
            }
        };
        let guarding = shared.clone();
        let guard = move || {
            while !guarding.wait(LOOK_EVERY) {
                if !guarding.state().lease.holds(boot_clock()) {
                    return guarding
                        .lose("the store of the fleet does not answer, so another process may begin".into());
                }
            }
        };
        let threads = vec![
            thread::Builder::new().name("beats".into()).spawn(beats)?,
            thread::Builder::new().name("lease".into()).spawn(guard)?,
        ];
        Ok(Beats { shared, threads, store, partition })
    }

    /// Why the lease was lost, if so.
    pub fn lost(&self) -> Option<String> {
        self.shared.state().lost.clone()
    }

    /// Ends. If all is shipped, another process may begin at once.
    pub fn end(mut self, is_all_shipped: bool) {
        let has_lost = self.lost().is_some();
        self.stop_threads();
        if is_all_shipped
            && !has_lost
            && let Err(error) = release(&*self.store, self.partition.id(), self.partition.epoch())
        {
            tracing::warn!("the partition is free only when the lease is over: {error}");
        }
    }

    fn stop_threads(&mut self) {
        self.shared.state().has_ended = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that keeps the lease panicked");
            }
        }
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.stop_threads();
    }
}
