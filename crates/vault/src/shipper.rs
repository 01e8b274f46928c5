//! Ships captures on a thread of its own, beside the process that makes them.

use crate::error::VaultError;
use crate::store::{Listed, Store, StoreError};
use crate::vault::{CaptureExtent, CapturedFile, FolderCapture, Shipped, Vault};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Wait after a failure at most.
const LONGEST: Duration = Duration::from_secs(30);
/// Interval at which a waiting process is asked whether it still wants to wait.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How far the vault is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShipperFigures {
    /// Bytes that are captured and that the vault has not: of files that count.
    pub unshipped: u64,
    /// When the vault was last as new as the folder, by this process or an earlier one, in milliseconds since 1970; 0 for
    /// never.
    pub last: u64,
    /// Bytes shipped by this process.
    pub shipped: u64,
    /// Are some files to be shipped alone, such as decisions?
    pub has_waiting: bool,
    /// When the oldest change that the vault has not was offered, in milliseconds since 1970; none if it has all.
    pub waiting_since: Option<u64>,
    /// Attempts that failed.
    pub failures: u64,
    /// Why the last attempt failed; none after a success.
    pub error: Option<String>,
    /// Why this process ships no more; then it must not go on.
    pub lost: Option<String>,
}

/// A file as the vault has it.
#[derive(Clone, Debug)]
pub struct ShippedFile {
    /// Its identity.
    pub identity: String,
    /// Its length.
    pub length: u64,
    /// Will its bytes never be asked for again?
    pub is_settled: bool,
}

/// The user's part, on the shipper's thread.
pub trait Upkeep: Send {
    /// The vault has a new manifest: what must go can be removed.
    ///
    /// # Errors
    /// Then the capture is shipped again.
    fn has_manifest(&mut self, vault: &mut Vault) -> Result<(), VaultError>;

    /// Notes, for the next process of this folder, what the vault has: after a manifest, and when the store has bytes that no
    /// step names yet.
    ///
    /// # Errors
    /// Then the capture is shipped again.
    fn note(&mut self, vault: &Vault) -> Result<(), VaultError>;
}

/// The time, in milliseconds since 1970.
pub type MillisClock = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Default)]
struct ShipperState {
    /// The newest capture that nobody took.
    pending: Option<FolderCapture>,
    /// Files to be shipped alone, captured after it.
    alone: BTreeMap<String, CapturedFile>,
    known: Arc<BTreeMap<String, ShippedFile>>,
    /// When the first of those was offered that nobody took.
    offered: Option<u64>,
    figures: ShipperFigures,
    /// Is a capture being shipped, and in no place above?
    is_shipping: bool,
    /// When the store last did what it was asked for.
    answered: Option<Instant>,
    /// The end has begun: when nothing more may be asked of the store.
    until: Option<Instant>,
    /// Has the thread ended?
    is_over: bool,
}

impl ShipperState {
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn offered_at(&mut self, now: u64) {
        self.offered.get_or_insert(now);
        self.figures.waiting_since.get_or_insert(now);
    }

    fn has_left(&self) -> bool {
        self.is_shipping || self.pending.is_some() || !self.alone.is_empty()
    }
}

struct SharedShipper {
    state: Mutex<ShipperState>,
    changed: Condvar,
    clock: MillisClock,
    /// Is the thread left behind? Then the folder may be another process's, and it notes nothing there any more.
    is_left_behind: Mutex<bool>,
}

impl SharedShipper {
    fn state(&self) -> MutexGuard<'_, ShipperState> {
        self.state.lock().expect("no panic under the lock")
    }
}

/// A thread that ships.
pub struct Shipper {
    shared: Arc<SharedShipper>,
}

impl Shipper {
    /// Starts the thread. After a failure it waits so long, and twice as long after each further one, up to half a minute.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(
        mut vault: Vault,
        wait: Duration,
        clock: MillisClock,
        upkeep: Box<dyn Upkeep>,
    ) -> io::Result<Shipper> {
        let last = vault.began_behind().map_or(0, |(_, at)| at);
        let figures = ShipperFigures { last, ..ShipperFigures::default() };
        let (known, answered) = (known(&vault), Some(Instant::now()));
        let state = ShipperState { known, figures, answered, ..ShipperState::default() };
        let (state, is_left_behind) = (Mutex::new(state), Mutex::new(false));
        let shared = Arc::new(SharedShipper { state, changed: Condvar::new(), clock, is_left_behind });
        vault.store = Arc::new(UntilTheEnd { store: vault.store, shared: shared.clone() });
        let work = ShipperThread { shared: shared.clone(), vault, wait, upkeep };
        thread::Builder::new().name("vault".into()).spawn(move || work.run())?;
        Ok(Shipper { shared })
    }

    /// The files that the vault has.
    pub fn known(&self) -> Arc<BTreeMap<String, ShippedFile>> {
        self.shared.state().known.clone()
    }

    /// Gives it a newer capture to ship, in place of one that waits. Captures, and files to be shipped alone, must be
    /// offered in the order in which they were made.
    pub fn offer(&self, capture: FolderCapture) {
        let mut state = self.shared.state();
        let extent = state.pending.as_ref().map_or(capture.extent, |old| old.extent.max(capture.extent));
        let capture = FolderCapture { extent, ..capture };
        state.figures.unshipped = missing(&capture, &state.known);
        state.pending = Some(capture);
        state.offered_at((self.shared.clock)());
        self.shared.changed.notify_all();
    }

    /// Gives it a file that is to be shipped soon, whatever else waits.
    pub fn offer_file(&self, file: CapturedFile) {
        let mut state = self.shared.state();
        state.alone.insert(file.name.clone(), file);
        state.figures.has_waiting = true;
        state.offered_at((self.shared.clock)());
        self.shared.changed.notify_all();
    }

    /// How far it is.
    pub fn figures(&self) -> ShipperFigures {
        self.shared.state().figures.clone()
    }

    /// Waits while more than `most` bytes are unshipped, as long as `goes_on` says so.
    pub fn wait_below(&self, most: u64, goes_on: &mut dyn FnMut() -> bool) {
        let mut state = self.shared.state();
        while state.figures.unshipped > most && state.figures.lost.is_none() {
            drop(state);
            if !goes_on() {
                return;
            }
            state = self.shared.state();
            if state.figures.unshipped > most {
                state =
                    self.shared.changed.wait_timeout(state, LOOK_EVERY).expect("no panic under the lock").0;
            }
        }
    }

    /// Waits until all that was offered is shipped, or the store has failed for so long, or was silent for five times as long:
    /// a large object on a slow line takes a while. Is all shipped?
    pub fn wait_while_it_answers(&self, patience: Duration) -> bool {
        let mut state = self.shared.state();
        while state.has_left() && !state.is_over {
            let patience = if state.figures.error.is_some() { patience } else { 5 * patience };
            if state.answered.is_none_or(|at| at.elapsed() >= patience) {
                break;
            }
            state = self.shared.changed.wait_timeout(state, LOOK_EVERY).expect("no panic under the lock").0;
        }
        !state.has_left()
    }

    /// Ships nothing more: what is on its way is left behind.
    pub fn abandon(&self, why: &str) {
        let mut state = self.shared.state();
        state.figures.lost.get_or_insert_with(|| why.to_owned());
        state.until = Some(Instant::now());
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Waits until all that was offered is shipped, at most until then; gives the last figures, of which `error` or `lost`
    /// says why if something was not. A request that is not answered is left behind.
    pub fn finish(&self, until: Instant) -> ShipperFigures {
        let mut state = self.shared.state();
        state.until = Some(state.until.map_or(until, |earlier| earlier.min(until)));
        self.shared.changed.notify_all();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                break;
            }
            state = self.shared.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
        drop(state);
        *self.shared.is_left_behind.lock().expect("no panic under the lock") = true;
        let mut state = self.shared.state();
        if state.has_left() && state.figures.lost.is_none() {
            state.figures.error.get_or_insert_with(|| TOO_LATE.into());
        }
        state.figures.clone()
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.finish(Instant::now());
    }
}

/// The files that a vault has, as far as this process knows that they are the same here.
fn known(vault: &Vault) -> Arc<BTreeMap<String, ShippedFile>> {
    let known = vault.files.iter().filter_map(|(name, known)| {
        let (length, is_settled) = (known.file.length(), known.file.is_settled());
        Some((name.clone(), ShippedFile { identity: known.identity.clone()?, length, is_settled }))
    });
    Arc::new(known.collect())
}

/// Bytes of a capture that the vault has not, of files that count.
fn missing(capture: &FolderCapture, known: &BTreeMap<String, ShippedFile>) -> u64 {
    let missing = |file: &CapturedFile| {
        let known = known.get(&file.name).filter(|known| known.identity == file.identity);
        file.length.saturating_sub(known.map_or(0, |known| known.length))
    };
    capture.files.iter().filter(|file| file.counts).map(missing).sum()
}

/// Ships a capture again, unless a newer one waits.
fn put_back(state: &mut ShipperState, capture: FolderCapture) {
    state.is_shipping = false;
    match (capture.extent, &mut state.pending) {
        (CaptureExtent::Some, Some(_)) => {}
        (CaptureExtent::Some, None) => {
            for file in capture.files {
                state.alone.entry(file.name.clone()).or_insert(file);
            }
        }
        (extent, Some(newer)) => newer.extent = newer.extent.max(extent),
        (_, none) => *none = Some(capture),
    }
}

/// Why nothing more is asked at the end.
const TOO_LATE: &str = "the store did not take it in the time that the end has";

/// The store, until the time for the end is over.
struct UntilTheEnd {
    store: Arc<dyn Store>,
    shared: Arc<SharedShipper>,
}

impl fmt::Debug for UntilTheEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl UntilTheEnd {
    fn ask<T>(&self, request: impl FnOnce(&dyn Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.shared.state().is_late() {
            return Err(StoreError::Failed(TOO_LATE.into()));
        }
        let answer = request(&*self.store);
        if !matches!(answer, Err(StoreError::Failed(_) | StoreError::Refused(_))) {
            self.shared.state().answered = Some(Instant::now());
        }
        answer
    }
}

impl Store for UntilTheEnd {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.ask(|store| store.create(key, bytes))
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.ask(|store| store.read(key, most))
    }
    fn read_range(&self, key: &str, at: u64, bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.ask(|store| store.read_range(key, at, bytes))
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.ask(|store| store.replace(key, bytes))
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.ask(|store| store.list(folder))
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.ask(|store| store.remove(key))
    }
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
}

/// The thread.
struct ShipperThread {
    shared: Arc<SharedShipper>,
    vault: Vault,
    wait: Duration,
    upkeep: Box<dyn Upkeep>,
}

/// Says that the thread has ended, also when it panics.
struct Over(Arc<SharedShipper>);

impl Drop for Over {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        if thread::panicking() {
            state.figures.lost = Some("the thread that ships has panicked".into());
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

impl ShipperThread {
    fn run(mut self) {
        let _over = Over(self.shared.clone());
        let (mut wait, mut has_told) = (self.wait, false);
        while let Some(capture) = self.next() {
            match self.ship(&capture) {
                Ok(is_whole) => {
                    if std::mem::take(&mut has_told) {
                        tracing::info!("the vault takes objects again");
                    }
                    wait = self.wait;
                    if !is_whole {
                        put_back(&mut self.shared.state(), capture);
                    }
                }
                Err(error) if error.is_passing() => {
                    if !has_told {
                        tracing::warn!("cannot ship to the vault, trying again: {error}");
                    }
                    has_told = true;
                    if !self.retry(capture, &error, &mut wait) {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!("nothing more is shipped to the vault: {error}");
                    let mut state = self.shared.state();
                    state.figures.lost = Some(error.to_string());
                    drop(state);
                    self.shared.changed.notify_all();
                    return;
                }
            }
        }
    }

    /// The next capture; none at the end.
    fn next(&self) -> Option<FolderCapture> {
        let mut state = self.shared.state();
        loop {
            if state.is_late() {
                return None;
            }
            state.is_shipping = state.has_left();
            if state.pending.is_none() || state.alone.is_empty() {
                state.offered = None;
            }
            if let Some(capture) = state.pending.take() {
                return Some(capture);
            }
            if !state.alone.is_empty() {
                let files = std::mem::take(&mut state.alone).into_values().collect();
                return Some(FolderCapture { files, extent: CaptureExtent::Some });
            }
            if state.until.is_some() {
                return None;
            }
            state = self.shared.changed.wait(state).expect("no panic under the lock");
        }
    }

    /// Ships a capture, or a portion of it: then it is false.
    fn ship(&mut self, capture: &FolderCapture) -> Result<bool, VaultError> {
        let now = (self.shared.clock)();
        let shipped = match self.vault.ship(capture, now) {
            Ok(shipped) if shipped.is_whole => shipped,
            unfinished => {
                // Where nothing more may be shipped, that is what counts.
                let is_over = unfinished.as_ref().is_err_and(|error| !error.is_passing());
                let noted = if is_over { Ok(()) } else { self.note() };
                let Shipped { bytes, .. } = unfinished?;
                noted?;
                let mut state = self.shared.state();
                state.figures.shipped += bytes;
                state.figures.error = None;
                return Ok(false);
            }
        };
        let known = known(&self.vault);
        let mut state = self.shared.state();
        state.known = known;
        state.figures.unshipped = state.pending.as_ref().map_or(0, |next| missing(next, &state.known));
        state.figures.shipped += shipped.bytes;
        state.figures.has_waiting = !state.alone.is_empty();
        (state.figures.error, state.figures.waiting_since) = (None, state.offered);
        if capture.extent != CaptureExtent::Some {
            state.figures.last = now;
        }
        drop(state);
        self.shared.changed.notify_all();
        if shipped.is_manifest {
            self.upkeep.has_manifest(&mut self.vault)?;
            self.note()?;
        }
        self.shared.state().is_shipping = false;
        self.shared.changed.notify_all();
        Ok(true)
    }

    fn note(&mut self) -> Result<(), VaultError> {
        let is_left_behind = self.shared.is_left_behind.lock().expect("no panic under the lock");
        if *is_left_behind { Err(VaultError::Away(TOO_LATE.into())) } else { self.upkeep.note(&self.vault) }
    }

    /// Puts a capture back, unless a newer one waits, and waits a while; false if there is no time left. When the end begins,
    /// it is tried at once.
    fn retry(&self, capture: FolderCapture, error: &VaultError, wait: &mut Duration) -> bool {
        let mut state = self.shared.state();
        if !state.is_late() || state.figures.error.is_none() {
            state.figures.error = Some(error.to_string());
        }
        state.figures.failures += 1;
        put_back(&mut state, capture);
        let (is_ending, again) = (state.until.is_some(), Instant::now() + *wait);
        loop {
            let now = Instant::now();
            if state.is_late() {
                return false;
            }
            if state.until.is_some() && !is_ending {
                *wait = self.wait;
                return true;
            }
            let until = state.until.map_or(again, |until| until.min(again));
            let left = until.saturating_duration_since(now);
            if left.is_zero() {
                *wait = (2 * *wait).min(LONGEST);
                return true;
            }
            state = self.shared.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
    }
}

#[cfg(test)]
mod tests;
