//! Ships captures on a thread of its own, beside the process that makes them.

use crate::error::VaultError;
use crate::vault::{Capture, CapturedFile, Extent, Shipped, Vault};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// See [`Limits::wait`].
const LONGEST: Duration = Duration::from_secs(30);
/// Interval at which a waiting process is asked whether it still wants to wait.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a shipper tries again.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At most so long after its last success.
    pub ending: Duration,
    /// Wait after a failure; doubled after each further one, up to half a minute.
    pub wait: Duration,
}

/// How far the vault is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes that are captured and that the vault has not: of files that count.
    pub unshipped: u64,
    /// When the vault was last as new as the folder, in milliseconds since 1970; 0 for never.
    pub last: u64,
    /// Bytes shipped by this process.
    pub shipped: u64,
    /// Are some files to be shipped alone, such as decisions?
    pub has_waiting: bool,
    /// Why the last attempt failed; none after a success.
    pub error: Option<String>,
    /// Why this process ships no more; then it must not go on.
    pub lost: Option<String>,
}

/// A file as the vault has it.
#[derive(Clone, Debug)]
pub struct Known {
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
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Default)]
struct State {
    /// The newest capture that nobody took.
    pending: Option<Capture>,
    /// Files to be shipped alone, captured after it.
    alone: BTreeMap<String, CapturedFile>,
    known: Arc<BTreeMap<String, Known>>,
    figures: Figures,
    is_ending: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }
}

/// A thread that ships.
pub struct Shipper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Shipper {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(vault: Vault, limits: Limits, clock: Clock, upkeep: Box<dyn Upkeep>) -> io::Result<Shipper> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let work = Work { shared: shared.clone(), vault, limits, clock, upkeep };
        let thread = thread::Builder::new().name("vault".into()).spawn(move || work.run())?;
        Ok(Shipper { shared, thread: Some(thread) })
    }

    /// The files that the vault has.
    pub fn known(&self) -> Arc<BTreeMap<String, Known>> {
        self.shared.state().known.clone()
    }

    /// Gives it a newer capture to ship, in place of one that waits. Captures, and files to be shipped alone, must be
    /// offered in the order in which they were made.
    pub fn offer(&self, capture: Capture) {
        let mut state = self.shared.state();
        let extent = state.pending.as_ref().map_or(capture.extent, |old| old.extent.max(capture.extent));
        let capture = Capture { extent, ..capture };
        state.figures.unshipped = missing(&capture, &state.known);
        state.pending = Some(capture);
        self.shared.changed.notify_all();
    }

    /// Gives it a file that is to be shipped soon, whatever else waits.
    pub fn offer_file(&self, file: CapturedFile) {
        let mut state = self.shared.state();
        state.alone.insert(file.name.clone(), file);
        state.figures.has_waiting = true;
        self.shared.changed.notify_all();
    }

    /// How far it is.
    pub fn figures(&self) -> Figures {
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

    /// Waits until all that was offered is shipped, within the limit for the end; gives the last figures.
    pub fn finish(mut self) -> Figures {
        self.end();
        self.figures()
    }

    fn end(&mut self) {
        self.shared.state().is_ending = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that ships to the vault panicked");
        }
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Bytes of a capture that the vault has not, of files that count.
fn missing(capture: &Capture, known: &BTreeMap<String, Known>) -> u64 {
    let missing = |file: &CapturedFile| {
        let known = known.get(&file.name).filter(|known| known.identity == file.identity);
        file.length.saturating_sub(known.map_or(0, |known| known.length))
    };
    capture.files.iter().filter(|file| file.counts).map(missing).sum()
}

/// Ships a capture again, unless a newer one waits.
fn put_back(state: &mut State, capture: Capture) {
    match (capture.extent, &mut state.pending) {
        (Extent::Some, Some(_)) => {}
        (Extent::Some, None) => {
            for file in capture.files {
                state.alone.entry(file.name.clone()).or_insert(file);
            }
        }
        (extent, Some(newer)) => newer.extent = newer.extent.max(extent),
        (_, none) => *none = Some(capture),
    }
}

/// The thread.
struct Work {
    shared: Arc<Shared>,
    vault: Vault,
    limits: Limits,
    clock: Clock,
    upkeep: Box<dyn Upkeep>,
}

impl Work {
    fn run(mut self) {
        let (mut wait, mut has_told) = (self.limits.wait, false);
        let mut success = Instant::now();
        while let Some(capture) = self.next() {
            match self.ship(&capture) {
                Ok(is_whole) => {
                    if std::mem::take(&mut has_told) {
                        tracing::info!("the vault takes objects again");
                    }
                    (wait, success) = (self.limits.wait, Instant::now());
                    if !is_whole {
                        put_back(&mut self.shared.state(), capture);
                    }
                }
                Err(error) if error.is_passing() => {
                    if !has_told {
                        tracing::warn!("cannot ship to the vault, trying again: {error}");
                    }
                    has_told = true;
                    if !self.retry(capture, &error, wait, success) {
                        return;
                    }
                    wait = (2 * wait).min(LONGEST);
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
    fn next(&self) -> Option<Capture> {
        let mut state = self.shared.state();
        loop {
            if let Some(capture) = state.pending.take() {
                return Some(capture);
            }
            if !state.alone.is_empty() {
                let files = std::mem::take(&mut state.alone).into_values().collect();
                return Some(Capture { files, extent: Extent::Some });
            }
            if state.is_ending {
                return None;
            }
            state = self.shared.changed.wait(state).expect("no panic under the lock");
        }
    }

    /// Ships a capture, or a portion of it: then it is false.
    fn ship(&mut self, capture: &Capture) -> Result<bool, VaultError> {
        let now = (self.clock)();
        let shipped = match self.vault.ship(capture, now) {
            Ok(shipped) if shipped.is_whole => shipped,
            unfinished => {
                self.upkeep.note(&self.vault)?;
                let Shipped { bytes, .. } = unfinished?;
                self.shared.state().figures.shipped += bytes;
                return Ok(false);
            }
        };
        let known = self.vault.files.iter().filter_map(|(name, known)| {
            let (length, is_settled) = (known.file.length(), known.file.is_settled());
            Some((name.clone(), Known { identity: known.identity.clone()?, length, is_settled }))
        });
        let known: Arc<BTreeMap<String, Known>> = Arc::new(known.collect());
        let mut state = self.shared.state();
        state.known = known;
        state.figures.unshipped = state.pending.as_ref().map_or(0, |next| missing(next, &state.known));
        state.figures.shipped += shipped.bytes;
        state.figures.has_waiting = !state.alone.is_empty();
        state.figures.error = None;
        if capture.extent != Extent::Some {
            state.figures.last = now;
        }
        drop(state);
        self.shared.changed.notify_all();
        if shipped.is_manifest {
            self.upkeep.has_manifest(&mut self.vault)?;
            self.upkeep.note(&self.vault)?;
        }
        Ok(true)
    }

    /// Puts a capture back, unless a newer one waits, and waits a while; false if there is no time left.
    fn retry(&self, capture: Capture, error: &VaultError, wait: Duration, success: Instant) -> bool {
        let mut state = self.shared.state();
        state.figures.error = Some(error.to_string());
        put_back(&mut state, capture);
        let until = Instant::now() + wait;
        loop {
            let now = Instant::now();
            if state.is_ending && success.elapsed() > self.limits.ending {
                return false;
            }
            let left = until.saturating_duration_since(now);
            if left.is_zero() {
                return true;
            }
            let left = if state.is_ending { left.min(LOOK_EVERY) } else { left };
            state = self.shared.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Listed, MemoryStore, Store, StoreError};
    use crate::tests::{begin_in, capture, folder};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A store that is away, until somebody brings it back.
    #[derive(Debug, Default)]
    struct Switched(MemoryStore, AtomicBool);

    impl Switched {
        fn answers<T>(&self, answer: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
            if self.1.load(Ordering::Relaxed) {
                Err(StoreError::Failed("no answer".into()))
            } else {
                answer()
            }
        }
    }

    impl Store for Switched {
        fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
            self.answers(|| self.0.create(key, bytes))
        }
        fn read(&self, key: &str) -> Result<Vec<u8>, StoreError> {
            self.answers(|| self.0.read(key))
        }
        fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
            self.answers(|| self.0.list(folder))
        }
        fn remove(&self, key: &str) -> Result<(), StoreError> {
            self.answers(|| self.0.remove(key))
        }
        fn locate(&self, key: &str) -> String {
            self.0.locate(key)
        }
    }

    struct Nothing;

    impl Upkeep for Nothing {
        fn has_manifest(&mut self, _: &mut Vault) -> Result<(), VaultError> {
            Ok(())
        }
        fn note(&mut self, _: &Vault) -> Result<(), VaultError> {
            Ok(())
        }
    }

    fn shipper(store: &Arc<Switched>) -> Shipper {
        let limits = Limits { ending: Duration::ZERO, wait: Duration::from_millis(1) };
        let vault = begin_in(store.clone(), "a");
        store.1.store(true, Ordering::Relaxed);
        Shipper::start(vault, limits, Arc::new(|| 7), Box::new(Nothing)).unwrap()
    }

    #[test]
    fn a_process_whose_vault_is_away_waits_until_it_is_back() {
        let store = Arc::new(Switched::default());
        let shipper = shipper(&store);
        let files = folder(&[("log", &[1; 1000])]);
        shipper.offer(capture(&files, Extent::Changes));
        assert_eq!(shipper.figures().unshipped, 1000);
        shipper.wait_below(1000, &mut || panic!("as much may be unshipped"));
        let mut looks = 0;
        shipper.wait_below(999, &mut || {
            looks += 1;
            // It says why it waits, and is asked again and again.
            if looks == 3 {
                store.1.store(false, Ordering::Relaxed);
            }
            true
        });
        let figures = shipper.figures();
        assert!(looks >= 3 && figures.unshipped == 0, "{figures:?}");
        assert_eq!((figures.last, figures.shipped, figures.error), (7, 1000, None));
        // A file alone, such as a decision, is shipped without a capture of the others.
        let decided = capture(&folder(&[("decisions", b"no")]), Extent::Some).files.remove(0);
        shipper.offer_file(decided);
        shipper.finish();
        assert!(store.0.image().keys().any(|key| key.ends_with("/log/0000000001")));
    }

    #[test]
    fn a_process_ends_also_while_its_vault_is_away_and_says_what_is_missing() {
        let store = Arc::new(Switched::default());
        let shipper = shipper(&store);
        shipper.offer(capture(&folder(&[("log", &[1; 10])]), Extent::Commit));
        let mut looks = 0;
        shipper.wait_below(0, &mut || {
            looks += 1;
            looks < 3
        });
        let figures = shipper.finish();
        assert_eq!((figures.unshipped, figures.last), (10, 0));
        assert!(figures.error.is_some_and(|why| why.contains("no answer")));
    }

    #[test]
    fn a_process_that_lost_its_vault_is_told_and_does_not_wait() {
        let store = Arc::new(Switched::default());
        let shipper = shipper(&store);
        store.1.store(false, Ordering::Relaxed);
        drop(begin_in(store.clone(), "b"));
        shipper.offer(capture(&folder(&[("log", &[1; 10])]), Extent::Commit));
        shipper.wait_below(0, &mut || true);
        let lost = shipper.figures().lost.expect("it is lost");
        assert!(lost.contains("epoch/0000000002") && lost.contains("another process"), "{lost}");
    }
}
