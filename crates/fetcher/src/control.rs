//! A run is steered, and looked at, while it goes on.
//!
//! Whoever holds a [`Steering`] may hold all of a run, hold single hosts, and ask for pages; what is held is not looked
//! at, and is still there when it is let go. In the other direction the run tells now and then where it stands. A
//! control outlives its runs: what is held stays held in the next one.

use recrawl_types::ScheduleEntry;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// Hosts that are held at most. An open run remembers a little of each.
pub const MAX_HELD_HOSTS: usize = 10_000;
/// Pages that are asked for and not taken up yet, at most.
pub const MAX_ASKED: usize = 10_000;
/// Hosts in [`Figures::slowest`].
pub const MAX_SLOWEST: usize = 1000;
/// How long [`Figures::slowest`] may be old while there is something to do.
pub(crate) const FIGURES_EVERY: Duration = Duration::from_secs(1);

/// What is decided of runs while they go on, and what they publish.
#[derive(Debug, Default)]
pub struct Steering {
    is_held: AtomicBool,
    /// How many of `hosts`: nearly always none, and then there is nothing to look up.
    held_hosts: AtomicUsize,
    hosts: Mutex<BTreeSet<String>>,
    asked: Mutex<VecDeque<ScheduleEntry>>,
    in_flight: AtomicUsize,
    open_hosts: AtomicUsize,
    early: AtomicU64,
    slowest: Mutex<Arc<[HostFigures]>>,
    changed: Notify,
}

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Visits under way.
    pub in_flight: usize,
    /// Hosts that are being visited, those that are held among them.
    pub open_hosts: usize,
    /// The open hosts that will take longest, by what is left there and how fast it may be asked for.
    pub slowest: Arc<[HostFigures]>,
}

impl Figures {
    /// What a host of [`Figures::slowest`] is doing. Its own figures may be older than what is under way: none asks when
    /// nothing is.
    pub fn activity(&self, host: &HostFigures) -> HostActivity {
        match host.state {
            HostActivity::Asking if self.in_flight == 0 => HostActivity::Waiting,
            other => other,
        }
    }
}

/// Where a host stands in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFigures {
    /// Its canonical name.
    pub host: String,
    /// Pages that wait there.
    pub queue: u64,
    /// Pages that came out in this run.
    pub done: u64,
    /// The time between an answer and the next request.
    pub delay: Duration,
    /// How long answers take, smoothed.
    pub latency: Duration,
    /// Failures in a row.
    pub failures: u32,
    /// What it is doing.
    pub state: HostActivity,
}

/// What a host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostActivity {
    /// A request is under way.
    Asking,
    /// It waits for its turn.
    Waiting,
    /// It failed too often, and is left alone.
    BackedOff,
    /// It is held.
    Held,
}

impl Steering {
    /// Holds all of the run, or lets it go on. What is under way is finished.
    pub fn hold(&self, held: bool) {
        self.is_held.store(held, Relaxed);
        self.changed.notify_one();
    }

    /// Is all of the run held?
    pub fn is_held(&self) -> bool {
        self.is_held.load(Relaxed)
    }

    /// Holds a host, by its canonical name, or lets it go; false when there is nothing to do, or
    /// [`MAX_HELD_HOSTS`] are held already.
    pub fn hold_host(&self, host: &str, held: bool) -> bool {
        let mut hosts = lock(&self.hosts);
        let did = if held {
            hosts.len() < MAX_HELD_HOSTS && hosts.insert(host.to_owned())
        } else {
            hosts.remove(host)
        };
        self.held_hosts.store(hosts.len(), Relaxed);
        self.changed.notify_one();
        did
    }

    /// Is this host held? Not because all is.
    pub fn is_host_held(&self, host: &str) -> bool {
        self.held_hosts.load(Relaxed) > 0 && lock(&self.hosts).contains(host)
    }

    /// Asks for a page: before what else waits at its host, and by the rules that hold for any other page. It comes
    /// out once, unless it came out in this run already: from its place in the schedule where it has one, else as
    /// the entry given, without an index. False when [`MAX_ASKED`] are waiting already.
    pub fn ask(&self, entry: ScheduleEntry) -> bool {
        let mut asked = lock(&self.asked);
        let has_room = asked.len() < MAX_ASKED;
        if has_room {
            asked.push_back(entry);
        }
        self.changed.notify_one();
        has_room
    }

    /// Forgets the pages that were asked for and that no run took up.
    pub fn forget_asked(&self) {
        lock(&self.asked).clear();
    }

    /// Where the run stood a moment ago. Without a run, nothing is under way.
    pub fn figures(&self) -> Figures {
        let (in_flight, open_hosts) = (self.in_flight.load(Acquire), self.open_hosts.load(Relaxed));
        Figures { in_flight, open_hosts, slowest: lock(&self.slowest).clone() }
    }

    /// Requests of all runs that started before the configured delay of their host was over, by a watch of its own. More
    /// than none is a fault of ours.
    pub fn early_requests(&self) -> u64 {
        self.early.load(Relaxed)
    }

    pub(crate) fn count_early(&self) {
        self.early.fetch_add(1, Relaxed);
    }

    pub(crate) fn publish(&self, in_flight: usize, open_hosts: usize) {
        self.open_hosts.store(open_hosts, Relaxed);
        self.in_flight.store(in_flight, Release);
    }

    pub(crate) fn publish_slowest(&self, slowest: Vec<HostFigures>) {
        *lock(&self.slowest) = slowest.into();
    }

    pub(crate) fn has_asked(&self) -> bool {
        !lock(&self.asked).is_empty()
    }

    pub(crate) fn next_asked(&self) -> Option<ScheduleEntry> {
        lock(&self.asked).pop_front()
    }

    /// Waits until something is decided.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}
