//! Commands to a run and progress of a run, while it goes on.
//!
//! A [`RunControl`] holds a whole run or single hosts, and requests pages. Held pages are kept and
//! continue when the hold ends. In the other direction, the run publishes its progress. A
//! `RunControl` outlives its runs: a hold continues in the next one.

use recrawl_types::{CanonicalUrl, Origin, ScheduleEntry};
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

/// Maximum number of held hosts. A run keeps a little memory for each that is open.
pub const MAX_HELD_HOSTS: usize = 10_000;
/// Maximum number of requested pages that wait for a run.
pub const MAX_ASKED: usize = 10_000;
/// Maximum number of hosts in [`RunProgress::slowest`].
pub const MAX_SLOWEST: usize = 1000;
/// Maximum number of pages in [`RunProgress::fetching`].
pub const MAX_FETCHING: usize = 100;
/// Maximum age of the figures of hosts while the run is active.
pub(crate) const FIGURES_EVERY: Duration = Duration::from_secs(1);

/// Commands to runs, and their progress.
#[derive(Debug, Default)]
pub struct RunControl {
    is_held: AtomicBool,
    /// Does the run leave the rest of its schedule to a later one?
    is_ending: AtomicBool,
    /// Did the run find pages for the next one?
    has_found: AtomicBool,
    /// Length of `hosts`. It is nearly always 0, which saves the lookup.
    held_hosts: AtomicUsize,
    hosts: Mutex<BTreeSet<String>>,
    asked: Mutex<VecDeque<ScheduleEntry>>,
    in_flight: AtomicUsize,
    open_hosts: AtomicUsize,
    early: AtomicU64,
    spent: AtomicU64,
    hosts_now: Mutex<HostsNow>,
    changed: Notify,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// Visits in flight.
    pub in_flight: usize,
    /// Open hosts, including held ones.
    pub open_hosts: usize,
    /// Bytes of its cycle so far, as `budget.bytes_per_cycle` counts them.
    pub spent: u64,
    /// When the run stops waiting for slow hosts, in milliseconds since 1970; none if it waits for all.
    pub ends_by: Option<u64>,
    /// Of the open hosts, those in back-off.
    pub backed_off: usize,
    /// The open hosts that will take longest, by remaining pages times delay; the others with a request
    /// in flight follow.
    pub slowest: Arc<[HostFigures]>,
    /// Pages that are being fetched, the longest first.
    pub fetching: Arc<[PageInFlight]>,
}

/// The figures of hosts, at most [`FIGURES_EVERY`] old.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsNow {
    pub ends_by: Option<u64>,
    pub backed_off: usize,
    pub slowest: Arc<[HostFigures]>,
    pub fetching: Arc<[PageInFlight]>,
}

/// A page that is being fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct PageInFlight {
    /// The page.
    pub url: CanonicalUrl,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
}

impl RunProgress {
    /// Current activity of a host or origin of [`RunProgress::slowest`], as its figures tell it. Its own figures may be
    /// older than `in_flight`: if nothing is in flight, no host is asking.
    pub fn activity(&self, told: HostActivity) -> HostActivity {
        match told {
            HostActivity::Asking if self.in_flight == 0 => HostActivity::Waiting,
            other => other,
        }
    }
}

/// Progress of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFigures {
    /// Its canonical name.
    pub host: String,
    /// Pages left.
    pub queue: u64,
    /// Pages delivered in this run.
    pub done: u64,
    /// Time between a response and the next request, if no other host has the same address.
    pub delay: Duration,
    /// Smoothed latency.
    pub latency: Duration,
    /// Failures in a row.
    pub failures: u32,
    /// Its current activity.
    pub state: HostActivity,
    /// The same of its first origins that the run has to do with, sixteen at most.
    pub origins: Vec<OriginFigures>,
}

/// Origins of a host that its figures tell apart: a page may link to each port of a name.
pub(crate) const MAX_ORIGINS: usize = 16;

/// Progress of one origin of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginFigures {
    /// The origin.
    pub origin: Origin,
    /// Pages left.
    pub queue: u64,
    /// Pages delivered in this run.
    pub done: u64,
    /// Failures in a row.
    pub failures: u32,
    /// Its current activity.
    pub state: HostActivity,
}

impl OriginFigures {
    /// Those of this origin, added to the list if they are missing and there is room.
    pub(crate) fn in_list(list: &mut Vec<OriginFigures>, origin: Origin) -> Option<&mut OriginFigures> {
        match list.iter().position(|figures| figures.origin == origin) {
            Some(at) => Some(&mut list[at]),
            None if list.len() < MAX_ORIGINS => {
                let state = HostActivity::Waiting;
                list.push(OriginFigures { origin, queue: 0, done: 0, failures: 0, state });
                list.last_mut()
            }
            None => None,
        }
    }
}

/// Activity of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostActivity {
    /// A request is in flight.
    Asking,
    /// It waits for its delay or its address.
    Waiting,
    /// It failed too often and is in back-off.
    BackedOff,
    /// An operator holds it.
    Held,
}

impl RunControl {
    /// Holds the whole run, or ends the hold. Requests in flight are finished.
    pub fn hold(&self, held: bool) {
        self.is_held.store(held, Relaxed);
        self.changed.notify_one();
    }

    /// Is the whole run held?
    pub fn is_held(&self) -> bool {
        self.is_held.load(Relaxed)
    }

    /// Ends a run with [`RunPatience`](crate::RunPatience) now, or no longer: it starts no more requests.
    pub fn end_run(&self, ends: bool) {
        self.is_ending.store(ends, Relaxed);
        self.changed.notify_one();
    }

    /// The run found pages for the next one, so its hosts that are done do not wait long for the others.
    pub fn found_pages(&self) {
        if !self.has_found.swap(true, Relaxed) {
            self.changed.notify_one();
        }
    }

    pub(crate) fn begin_run(&self) {
        self.has_found.store(false, Relaxed);
    }

    pub(crate) fn has_found(&self) -> bool {
        self.has_found.load(Relaxed)
    }

    /// Does a run with patience end now?
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Relaxed)
    }

    /// Holds a host, by its canonical name, or ends the hold. False if this changes nothing, or if
    /// [`MAX_HELD_HOSTS`] are held.
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

    /// Is this host held by itself? Ignores a hold of the whole run.
    pub fn is_host_held(&self, host: &str) -> bool {
        self.held_hosts.load(Relaxed) > 0 && lock(&self.hosts).contains(host)
    }

    /// Requests a page before other pages of its host, under the same rules as any page. It is
    /// delivered once, unless this run delivered it before. If the schedule has it, its entry there
    /// is used. Otherwise the given entry is used, without an index. False if [`MAX_ASKED`] pages
    /// are waiting.
    pub fn ask(&self, entry: ScheduleEntry) -> bool {
        let mut asked = lock(&self.asked);
        let has_room = asked.len() < MAX_ASKED;
        if has_room {
            asked.push_back(entry);
        }
        self.changed.notify_one();
        has_room
    }

    /// Drops requested pages that no run has taken.
    pub fn forget_asked(&self) {
        lock(&self.asked).clear();
    }

    /// The progress of the run. Without a run, nothing is in flight.
    pub fn figures(&self) -> RunProgress {
        let (in_flight, open_hosts) = (self.in_flight.load(Acquire), self.open_hosts.load(Relaxed));
        let spent = self.spent.load(Relaxed);
        let HostsNow { ends_by, backed_off, slowest, fetching } = lock(&self.hosts_now).clone();
        // The list may be a second old.
        let is_stale = fetching.len() > in_flight;
        let fetching = if is_stale { fetching.iter().take(in_flight).cloned().collect() } else { fetching };
        RunProgress { in_flight, open_hosts, spent, ends_by, backed_off, slowest, fetching }
    }

    /// Requests in all runs that started before the configured delay of their host had passed, by
    /// an independent check. Any is a bug of recrawl.
    pub fn early_requests(&self) -> u64 {
        self.early.load(Relaxed)
    }

    pub(crate) fn count_early(&self) {
        self.early.fetch_add(1, Relaxed);
    }

    pub(crate) fn publish(&self, in_flight: usize, open_hosts: usize, spent: u64) {
        self.open_hosts.store(open_hosts, Relaxed);
        self.spent.store(spent, Relaxed);
        self.in_flight.store(in_flight, Release);
    }

    pub(crate) fn publish_hosts(&self, hosts: HostsNow) {
        *lock(&self.hosts_now) = hosts;
    }

    pub(crate) fn has_asked(&self) -> bool {
        !lock(&self.asked).is_empty()
    }

    pub(crate) fn next_asked(&self) -> Option<ScheduleEntry> {
        lock(&self.asked).pop_front()
    }

    /// Waits for the next command.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}
