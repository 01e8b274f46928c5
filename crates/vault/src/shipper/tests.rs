//! Ends, waits and notes of the thread that ships, over a store that is away or silent.

use super::*;
use crate::store::MemoryStore;
use crate::tests::{begin_in, capture, folder};
use crate::vault::Inherited;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store that is away.
#[derive(Debug, Default)]
struct SwitchedStore {
    objects: MemoryStore,
    /// For so many requests.
    away: AtomicUsize,
    /// Held, no request is answered.
    silent: RwLock<()>,
    asked: AtomicUsize,
}

impl SwitchedStore {
    fn answers<T>(&self, answer: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let _heard = self.silent.read().unwrap();
        let away = self.away.load(Ordering::Relaxed);
        self.away.store(away.saturating_sub(usize::from(away < usize::MAX)), Ordering::Relaxed);
        if away > 0 { Err(StoreError::Failed("no answer".into())) } else { answer() }
    }
}

impl Store for SwitchedStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.answers(|| self.objects.create(key, bytes))
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.answers(|| self.objects.read(key, most))
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.answers(|| self.objects.replace(key, bytes))
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.answers(|| self.objects.list(folder))
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.answers(|| self.objects.remove(key))
    }
    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }
}

/// An hour, which no test takes.
fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// Counts notes.
struct Nothing(Arc<AtomicUsize>);

impl Upkeep for Nothing {
    fn has_manifest(&mut self, _: &mut Vault) -> Result<(), VaultError> {
        Ok(())
    }
    fn note(&mut self, _: &Vault) -> Result<(), VaultError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn shipper(store: &Arc<SwitchedStore>) -> Shipper {
    noting(store, Arc::default())
}

fn noting(store: &Arc<SwitchedStore>, notes: Arc<AtomicUsize>) -> Shipper {
    let vault = begin_in(store.clone(), "a");
    store.away.store(usize::MAX, Ordering::Relaxed);
    Shipper::start(vault, Duration::from_millis(1), Arc::new(|| 7), Box::new(Nothing(notes))).unwrap()
}

#[test]
fn a_process_whose_vault_is_away_waits_until_it_is_back() {
    let store = Arc::new(SwitchedStore::default());
    let shipper = shipper(&store);
    let files = folder(&[("log", &[1; 1000])]);
    shipper.offer(capture(&files, CaptureExtent::Changes));
    assert_eq!((shipper.figures().unshipped, shipper.figures().waiting_since), (1000, Some(7)));
    shipper.wait_below(1000, &mut || panic!("as much may be unshipped"));
    let mut looks = 0;
    shipper.wait_below(999, &mut || {
        looks += 1;
        // It says why it waits, and is asked again and again.
        if looks == 3 {
            store.away.store(0, Ordering::Relaxed);
        }
        true
    });
    let figures = shipper.figures();
    assert!(looks >= 3 && figures.unshipped == 0, "{figures:?}");
    assert_eq!((figures.last, figures.shipped, figures.error), (7, 1000, None));
    assert_eq!((figures.waiting_since, figures.failures > 0), (None, true));
    // A file alone, such as a decision, is shipped without a capture of the others.
    let decided = capture(&folder(&[("decisions", b"no")]), CaptureExtent::Some).files.remove(0);
    shipper.offer_file(decided);
    assert_eq!(shipper.finish(later()).error, None);
    assert!(store.objects.image().keys().any(|key| key.ends_with("/log/0000000001")));
}

#[test]
fn a_process_ends_also_while_its_vault_is_away_and_says_what_is_missing() {
    let store = Arc::new(SwitchedStore::default());
    let shipper = shipper(&store);
    shipper.offer(capture(&folder(&[("log", &[1; 10])]), CaptureExtent::Commit));
    let mut looks = 0;
    shipper.wait_below(0, &mut || {
        looks += 1;
        looks < 3
    });
    let figures = shipper.finish(Instant::now());
    assert_eq!((figures.unshipped, figures.last), (10, 0));
    assert!(figures.error.is_some_and(|why| why.contains("no answer")));
}

#[test]
fn a_process_that_lost_its_vault_is_told_and_does_not_wait() {
    let store = Arc::new(SwitchedStore::default());
    let shipper = shipper(&store);
    store.away.store(0, Ordering::Relaxed);
    drop(begin_in(store.clone(), "b"));
    shipper.offer(capture(&folder(&[("log", &[1; 10])]), CaptureExtent::Commit));
    shipper.wait_below(0, &mut || true);
    let lost = shipper.figures().lost.expect("it is lost");
    assert!(lost.contains("epoch/0000000002") && lost.contains("another process"), "{lost}");
}

#[test]
fn a_process_knows_at_once_what_an_earlier_one_shipped() {
    let store = Arc::new(SwitchedStore::default());
    let files = capture(&folder(&[("w", &[1; 10])]), CaptureExtent::Commit);
    let mut earlier = begin_in(store.clone(), "a");
    earlier.ship(&files, 5).unwrap();
    let before = Inherited { identities: earlier.identities(), ..Inherited::default() };
    let founded = crate::found(&*store).unwrap().unwrap();
    let vault = Vault::begin(store.clone(), &founded, "b", 6, &before).unwrap();
    store.away.store(usize::MAX, Ordering::Relaxed);
    let shipper =
        Shipper::start(vault, Duration::from_millis(1), Arc::new(|| 7), Box::new(Nothing(Arc::default())))
            .unwrap();
    assert!(shipper.known()["w"].is_settled, "so it need not be held open");
    shipper.offer(files);
    let figures = shipper.figures();
    assert_eq!((figures.unshipped, figures.last), (0, 5));
}

/// A store that is silent keeps nobody from ending; when it answers at last, what the thread learns is nobody's.
#[test]
fn the_end_is_over_in_its_time_whatever_the_store_does_and_tells_what_is_missing() {
    let (store, notes) = (Arc::new(SwitchedStore::default()), Arc::<AtomicUsize>::default());
    let shipper = noting(&store, notes.clone());
    store.away.store(0, Ordering::Relaxed);
    let silence = store.silent.write().unwrap();
    let asked = store.asked.load(Ordering::Relaxed);
    shipper.offer(capture(&folder(&[("w", &[1; 10])]), CaptureExtent::Commit));
    while store.asked.load(Ordering::Relaxed) == asked {
        thread::yield_now();
    }
    let figures = shipper.finish(Instant::now());
    assert_eq!(figures.unshipped, 10);
    assert_eq!(figures.error.as_deref(), Some(TOO_LATE));
    drop(silence);
    let mut state = shipper.shared.state();
    while !state.is_over {
        state = shipper.shared.changed.wait(state).unwrap();
    }
    drop(state);
    assert_eq!(notes.load(Ordering::Relaxed), 0, "the folder may be another's by now");
    let objects = store.objects.image().into_keys();
    assert_eq!(objects.filter(|key| key.starts_with("0000000001/")).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_end_tries_as_long_as_it_may() {
    let store = Arc::new(SwitchedStore::default());
    let shipper = shipper(&store);
    shipper.offer(capture(&folder(&[("log", &[1; 10])]), CaptureExtent::Commit));
    shipper.wait_below(0, &mut || shipper.figures().error.is_none());
    store.away.store(5, Ordering::Relaxed);
    let figures = shipper.finish(later());
    assert_eq!((figures.unshipped, figures.error), (0, None));
}

#[test]
fn a_command_waits_while_the_store_answers_and_no_longer() {
    let store = Arc::new(SwitchedStore::default());
    let shipper = shipper(&store);
    shipper.offer(capture(&folder(&[("log", &[1; 10])]), CaptureExtent::Commit));
    shipper.wait_while_it_answers(Duration::ZERO);
    assert_eq!(shipper.figures().unshipped, 10);
    store.away.store(0, Ordering::Relaxed);
    shipper.wait_while_it_answers(Duration::from_secs(3600));
    assert_eq!(shipper.figures().unshipped, 0);
}
