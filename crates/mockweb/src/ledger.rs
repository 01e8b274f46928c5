//! Accounts of the clients: requests, held versions and broken rules.

mod holdings;
mod log;
mod manners;

pub use holdings::{Count, CountKey, HeldChanges, HeldFreshness, HeldPage, HeldVersions};
pub use log::{AccessEntry, AccessLogError, LogLines};
pub use manners::{AddressManners, GapFigures, HostManners, Violations};

use crate::web::Web;
use holdings::Holdings;
use log::AccessLog;
use manners::MannersLedger;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Attempts, and the pause between them, to wait until the accounts are settled.
pub(crate) const PATIENCE: (u32, Duration) = (200, Duration::from_millis(1));

/// The accounts of one server. Every part has a lock of its own, held for moments.
pub struct Ledger {
    started: Instant,
    serial: AtomicU64,
    /// Exchanges whose last byte has been handed over but not yet been seen to reach the socket.
    unsettled: AtomicUsize,
    log: Mutex<AccessLog>,
    holdings: Mutex<Holdings>,
    manners: Mutex<MannersLedger>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics with the ledger open")
}

impl Ledger {
    /// Empty accounts, or those restored from the log file of an earlier run.
    ///
    /// # Errors
    /// [`AccessLogError`] if the file cannot be read or belongs to another web.
    pub fn open(
        web: &dyn Web,
        addresses: usize,
        file: Option<&Path>,
        max_lines: usize,
    ) -> Result<Ledger, AccessLogError> {
        let mut holdings = Holdings::new(web);
        let log = match file {
            None => AccessLog::in_memory(max_lines),
            Some(path) => AccessLog::in_file(path, |access| {
                if access
                    .page_id
                    .is_some_and(|page| page >= web.pages() || web.address(page).target != access.path)
                {
                    return false;
                }
                holdings.settle(access, web);
                true
            })?,
        };
        Ok(Ledger {
            started: Instant::now(),
            serial: AtomicU64::new(log.next()),
            unsettled: AtomicUsize::new(0),
            log: Mutex::new(log),
            holdings: Mutex::new(holdings),
            manners: Mutex::new(MannersLedger::new(web.hosts() as usize, addresses)),
        })
    }

    /// Time since the server started.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// A new serial number for a response.
    pub fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn connected(&self, address: usize) {
        lock(&self.manners).connected(address);
    }

    pub(crate) fn disconnected(&self, address: usize) {
        lock(&self.manners).disconnected(address);
    }

    pub(crate) fn arrived(&self, arrival: &Arrival<'_>) {
        lock(&self.manners).arrived(arrival);
    }

    pub(crate) fn handed_over(&self) {
        self.unsettled.fetch_add(1, Ordering::AcqRel);
    }

    /// Enters a finished exchange; `was_handed_over` pairs it with [`Ledger::handed_over`].
    pub(crate) fn settle(&self, address: usize, access: AccessEntry, web: &dyn Web, was_handed_over: bool) {
        let read_robots = access.complete && access.path == "/robots.txt";
        lock(&self.manners).finished(address, access.host_id, read_robots);
        lock(&self.holdings).settle(&access, web);
        lock(&self.log).push(access);
        if was_handed_over {
            self.unsettled.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Enters a request that was lost on its way; it is not judged.
    pub(crate) fn lost(&self, access: AccessEntry) {
        lock(&self.log).push(access);
    }

    /// Whether every response that a client may have read completely is entered. The server learns
    /// of the end a moment after the client, so readers of accounts wait for this, at most for
    /// [`PATIENCE`]: a slow client must not block them.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.load(Ordering::Acquire) == 0
    }

    /// The lines from number `from` on.
    pub fn log(&self, from: u64) -> Result<LogLines, AccessLogError> {
        lock(&self.log).lines(from)
    }

    /// The held version of each page, by what was served.
    pub fn held(&self, web: &dyn Web, cycle: u32) -> HeldVersions {
        lock(&self.holdings).held(web, cycle)
    }

    /// The changes of held pages by host: seen, and overwritten unseen.
    pub fn changes(&self, web: &dyn Web, cycle: u32) -> Vec<HeldChanges> {
        lock(&self.holdings).changes(web, cycle)
    }

    /// Complete responses by page.
    pub fn counts(&self) -> Vec<(CountKey, u64)> {
        lock(&self.holdings).counts().collect()
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        lock(&self.manners).is_idle()
    }

    /// Broken rules by host and address.
    pub fn violations(
        &self,
        delay: Duration,
        names: &[String],
        addresses: &[std::net::Ipv4Addr],
    ) -> Violations {
        lock(&self.manners).violations(delay, names, addresses)
    }

    /// Clears the log, the counts and the broken rules; held versions stay.
    ///
    /// # Errors
    /// [`AccessLogError`] when the log file cannot be emptied.
    pub fn reset(&self) -> Result<(), AccessLogError> {
        lock(&self.log).clear()?;
        lock(&self.holdings).clear_counts();
        lock(&self.manners).clear();
        Ok(())
    }
}

/// A request at the moment its head has been read.
pub(crate) struct Arrival<'a> {
    pub(crate) at: Duration,
    pub(crate) address: usize,
    pub(crate) host: Option<u32>,
    pub(crate) target: &'a str,
    pub(crate) is_forbidden: bool,
}
