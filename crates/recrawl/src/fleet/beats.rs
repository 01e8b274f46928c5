//! Signs of life of an owner, and its end when they do not arrive.

use super::{FleetWatch, NodeIdentity, NodeOrder, NodeStatus};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::partition::boot_clock;
use recrawl_fleet::{FORMAT, GivingUp, Lease, Partition, beat, hand_over, release, unknown_format};
use recrawl_vault::{Shipper, Store, VaultError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Beats in a lease.
const BEATS: u64 = 6;
/// Beats from one look at the other processes to the next.
const LOOK_EACH: u64 = 2;
/// How often the end of the lease is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An epoch that was just taken.
#[derive(Clone, Copy)]
pub struct OwnEpoch {
    /// The partition.
    pub partition: u32,
    /// Its epoch.
    pub epoch: u64,
    /// A time before it was taken, by [`boot_clock`].
    pub began: u64,
    /// Milliseconds of a lease.
    pub lease: u64,
}

/// An owner's beats. They have a thread of their own, since a store may take long to answer whatever else is asked, and the lease
/// ends all the same.
pub struct Beats {
    shared: Arc<SharedLease>,
    threads: Vec<JoinHandle<()>>,
}

struct SharedLease {
    store: Arc<dyn Store>,
    own: OwnEpoch,
    node: OwnNode,
    state: Mutex<LeaseState>,
    changed: Condvar,
    /// Stops the crawl.
    stop: CancellationToken,
    /// Known once the crawl is open.
    crawl: OnceLock<(Arc<Partition>, Arc<Shipper>)>,
}

/// The process that owns it, as it tells of itself.
#[derive(Clone)]
pub struct OwnNode {
    /// Its account, as of one that owns nothing.
    pub status: NodeStatus,
    /// Among others of its name.
    pub identity: Arc<NodeIdentity>,
    /// Its view of the others.
    pub watch: Arc<FleetWatch>,
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

    fn holds(&self) -> bool {
        let state = self.state();
        state.lost.is_none() && state.lease.holds(boot_clock())
    }

    fn lose(&self, why: String) {
        let mut state = self.state();
        if state.lost.is_some() || state.has_ended {
            return;
        }
        let OwnEpoch { partition, epoch, .. } = self.own;
        tracing::error!(
            "lost partition {partition} (epoch {epoch}); this process asks no host and ships nothing more: {why}"
        );
        state.lost = Some(why.clone());
        drop(state);
        self.stop.cancel();
        if let Some((_, shipper)) = self.crawl.get() {
            shipper.abandon(&why);
        }
    }

    /// Waits; true at the end.
    fn wait(&self, time: Duration) -> bool {
        let wait = self.changed.wait_timeout_while(self.state(), time, |state| !state.has_ended);
        wait.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    fn every(&self) -> Duration {
        Duration::from_millis(self.own.lease / BEATS)
    }

    /// Beats until the end, or until the lease is lost: then others may begin at once.
    fn beat_on(&self) {
        let OwnEpoch { partition, epoch, .. } = self.own;
        let mut has_told = false;
        for counter in 1.. {
            let sent = boot_clock();
            match beat(&*self.store, partition, epoch, counter) {
                Ok(()) => {
                    self.state().lease.beaten(sent, boot_clock());
                    has_told = false;
                }
                Err(VaultError::Lost { object }) => {
                    // First: the store may take long to tell who it was, and that one asks the hosts.
                    self.lose(format!("another process has taken it ({object})"));
                    self.tell_taker();
                }
                Err(error) if !std::mem::replace(&mut has_told, true) => {
                    tracing::warn!("cannot show the fleet that this process is alive: {error}");
                }
                Err(_) => {}
            }
            if self.wait(self.every()) || self.state().lost.is_some() {
                return;
            }
        }
    }

    /// Logs which process says that it owns the partition by a later epoch.
    fn tell_taker(&self) {
        let nodes = NodeStatus::all(&*self.store, recrawl_fetcher::system_clock()()).unwrap_or_default();
        let OwnEpoch { partition, epoch, .. } = self.own;
        let taker = nodes.iter().find(|node| node.partition == Some(partition) && node.epoch > epoch);
        if let Some(NodeStatus { name, .. }) = taker {
            tracing::error!("{name} has taken partition {partition}");
        }
    }

    /// Tells others of this node, and hears what they begin. That this fails is told by the beats.
    fn tell_on(&self) {
        let OwnNode { status: node, identity, watch } = &self.node;
        for beat in 0u64.. {
            let crawl = self.crawl.get();
            let status = NodeStatus {
                at: recrawl_fetcher::system_clock()(),
                partition: Some(self.own.partition),
                epoch: self.own.epoch,
                unshipped: crawl.map_or(0, |(_, shipper)| shipper.figures().unshipped),
                cycle: crawl.map_or(0, |(partition, _)| partition.planned()),
                untaken: crawl.map_or(0, |(partition, _)| partition.untaken()),
                ..node.clone()
            };
            let at = status.at;
            let told = identity.tell(&*self.store, status, boot_clock());
            watch.answered(&told, boot_clock());
            // A list costs as much as a create.
            if told.is_ok() && beat % LOOK_EACH == 0 {
                watch.look(&*self.store, boot_clock(), at);
            }
            if let Some((partition, _)) = crawl {
                if let Ok(false) = told {
                    partition.give_up(GivingUp::NameTaken);
                }
                let _ = self.hear(partition, &node.name);
            }
            if self.wait(self.every()) || self.state().lost.is_some() {
                return;
            }
        }
    }

    /// Hears which plan others begin, whether the map has changed, and what an operator orders.
    fn hear(&self, partition: &Partition, name: &str) -> Result<(), VaultError> {
        partition.hear_call()?;
        if unknown_format(&*self.store, FORMAT)?.is_some() {
            partition.give_up(GivingUp::NewerFormat);
        }
        if partition.is_outdated()? {
            partition.give_up(GivingUp::Outdated);
        }
        match NodeOrder::read(&*self.store, name)? {
            Some(NodeOrder::Drain) => partition.give_up(GivingUp::Drained),
            Some(NodeOrder::HandOver { partition: id, epoch })
                if (id, epoch) == (partition.id(), partition.epoch()) =>
            {
                partition.give_up(GivingUp::HandedOver);
            }
            Some(NodeOrder::HandOver { .. } | NodeOrder::Take { .. }) | None => {}
        }
        Ok(())
    }

    fn guard(&self) {
        while !self.wait(LOOK_EVERY) {
            if !self.holds() {
                let why =
                    "no beat came to the store in time: its lease is over, and another process may begin";
                return self.lose(why.into());
            }
        }
    }
}

/// How an owner ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeatsEnd {
    /// Not all is shipped, or this process goes on at once: others wait for the lease.
    Silent,
    /// All is shipped: another process may begin at once.
    Free,
    /// All is shipped, for a command that asked for the partition.
    HandedOver,
}

impl Beats {
    /// Begins, as soon as an epoch is taken: the lease runs. When it is over, or another process has the partition, `stop` is
    /// cancelled.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn begin(
        store: Arc<dyn Store>,
        own: OwnEpoch,
        stop: CancellationToken,
        node: OwnNode,
    ) -> Result<Beats, Failure> {
        let lease = Lease::new(own.lease, own.began);
        let state = Mutex::new(LeaseState { lease, has_ended: false, lost: None });
        let (changed, crawl) = (Condvar::new(), OnceLock::new());
        let shared = Arc::new(SharedLease { store, own, node, state, changed, stop, crawl });
        let (beating, telling, guarding) = (shared.clone(), shared.clone(), shared.clone());
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let threads = vec![
            thread("beats").spawn(move || beating.beat_on())?,
            thread("node").spawn(move || telling.tell_on())?,
            thread("lease").spawn(move || guarding.guard())?,
        ];
        Ok(Beats { shared, threads })
    }

    /// The crawl of the partition is open: it asks hosts, and ships, only while the lease holds.
    pub fn keep(&self, partition: Arc<Partition>, shipper: Arc<Shipper>) {
        let shared = self.shared.clone();
        partition.hold_to(Box::new(move || shared.holds()));
        self.shared.crawl.get_or_init(|| (partition, shipper.clone()));
        if let Some(why) = self.lost() {
            shipper.abandon(&why);
        }
    }

    /// Beats no more, while the lease holds as it is; says why it was lost, if so.
    pub fn rest(&self) -> Option<String> {
        self.shared.state().has_ended = true;
        self.shared.changed.notify_all();
        self.lost().or_else(|| (!self.shared.holds()).then(|| "its lease is over".to_owned()))
    }

    /// Why the lease was lost, if so.
    pub fn lost(&self) -> Option<String> {
        self.shared.state().lost.clone()
    }

    /// Ends.
    pub fn end(mut self, how: BeatsEnd) {
        let has_lost = self.lost().is_some();
        self.stop_threads();
        let OwnEpoch { partition, epoch, .. } = self.shared.own;
        let told = match how {
            _ if has_lost => Ok(()),
            BeatsEnd::Silent => Ok(()),
            BeatsEnd::Free => release(&*self.shared.store, partition, epoch),
            BeatsEnd::HandedOver => hand_over(&*self.shared.store, partition, epoch),
        };
        match how {
            _ if has_lost || told.is_err() => {}
            BeatsEnd::Silent => {}
            BeatsEnd::Free => {
                tracing::info!("freed partition {partition} (epoch {epoch}): another process may take it")
            }
            BeatsEnd::HandedOver => tracing::info!("handed partition {partition} over (epoch {epoch})"),
        }
        if let Err(error) = told {
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

#[cfg(test)]
mod tests;
