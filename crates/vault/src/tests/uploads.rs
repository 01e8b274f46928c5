//! Bytes that a failed try leaves in the store are not sent again.

use super::{begin, bytes_of, capture, folder, in_vault};
use crate::store::{Listed, MemoryStore, Store, StoreError};
use crate::vault::{CaptureExtent, Founded, Inherited, Vault};
use crate::{Uploads, contents};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A line that breaks after some objects. The others count bytes of data.
#[derive(Debug, Default)]
struct Flaky {
    objects: MemoryStore,
    creates: AtomicUsize,
    sent: AtomicUsize,
}

const CREATES: usize = 5;

impl Store for Flaky {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if key.contains("/data/") {
            if self.creates.fetch_add(1, Ordering::Relaxed) >= CREATES {
                return Err(StoreError::Failed("the line broke".into()));
            }
            self.sent.fetch_add(bytes.len(), Ordering::Relaxed);
        }
        self.objects.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.objects.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.objects.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.objects.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }
}

fn flaky(store: &Arc<Flaky>, epoch: u64, before: &Inherited) -> Vault {
    let founded = Founded { id: "crawl".into(), epoch, nonce: epoch.to_string() };
    Vault::begin(store.clone(), &founded, &(epoch + 1).to_string(), 1, before).unwrap()
}

/// Each try, or each process, sends five objects of fifty.
#[test]
fn the_first_ship_of_many_files_ends_over_a_line_that_always_breaks_and_sends_each_byte_once() {
    for is_killed in [false, true] {
        let store = Arc::new(Flaky::default());
        let mut files: super::FolderImage = BTreeMap::new();
        for n in 0..50_u8 {
            files.insert(format!("w{n}"), ("1".into(), vec![n; 70_000]));
        }
        let mut vault = flaky(&store, 0, &Inherited::default());
        let mut tries = 0;
        while let Err(error) = vault.ship(&capture(&files, CaptureExtent::Commit), 1) {
            assert!(error.is_passing());
            tries += 1;
            // One of five is for the file that grows.
            assert!(tries <= 50 / (CREATES - 1) + 1, "no progress");
            store.creates.store(0, Ordering::Relaxed);
            // A file that grows meanwhile goes on behind what was sent of it.
            files.get_mut("w3").unwrap().1.extend_from_slice(b"more");
            if is_killed {
                let mut uploads = vault.uploads().clone();
                // Of one file the identity proves nothing any more.
                uploads.keep_identities(|name| name != "w4");
                let noted = serde_json::to_string(&uploads).unwrap();
                let uploads: Uploads = serde_json::from_str(&noted).unwrap();
                vault = flaky(&store, tries as u64, &Inherited { uploads, ..Inherited::default() });
            }
        }
        let all: usize = files.values().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(store.sent.load(Ordering::Relaxed), all);
        assert!(vault.uploads().is_empty());
        let found = contents(&*store).unwrap().unwrap();
        assert_eq!(super::restored(&*store, &found).unwrap(), bytes_of(&files));
    }
}

#[test]
fn bytes_that_changed_or_are_gone_from_the_store_are_sent_again() {
    let store = Arc::new(Flaky::default());
    let files = folder(&[("w1", &[1; 10]), ("w2", &[2; 10]), ("w3", &[3; 10])]);
    store.creates.store(CREATES - 2, Ordering::Relaxed);
    let mut vault = flaky(&store, 0, &Inherited::default());
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap_err();
    let mut uploads = vault.uploads().clone();
    uploads.keep_identities(|_| false);
    store.objects.remove("0000000001/data/0000000000").unwrap();
    let mut vault = flaky(&store, 1, &Inherited { uploads, ..Inherited::default() });
    store.creates.store(0, Ordering::Relaxed);
    let files = folder(&[("w1", &[1; 10]), ("w2", &[9; 10]), ("w3", &[3; 10])]);
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    assert_eq!(store.sent.load(Ordering::Relaxed), 50);
    let found = contents(&*store).unwrap().unwrap();
    assert_eq!(super::restored(&*store, &found).unwrap(), bytes_of(&files));
}

#[test]
fn a_capture_is_shipped_in_portions_and_a_sweep_between_them_leaves_what_was_sent() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    vault.ship(&capture(&folder(&[("w0", b"0")]), CaptureExtent::Commit), 1).unwrap();
    vault.portion = 15;
    let files = folder(&[("w1", &[1; 10]), ("w2", &[2; 10]), ("w3", &[3; 10])]);
    let first = vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    assert_eq!((first.bytes, first.is_whole), (20, false));
    vault.sweep(u64::MAX).unwrap();
    let rest = vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    assert_eq!((rest.bytes, rest.is_whole, rest.is_manifest), (10, true, true));
    assert_eq!(in_vault(&store), bytes_of(&files));
}

/// A takedown: the vault keeps nothing that no step names.
#[test]
fn a_purge_removes_what_was_sent_and_not_named() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    vault.portion = 5;
    let files = folder(&[("w1", b"SECRET 1"), ("w2", b"SECRET 2")]);
    assert!(!vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap().is_whole);
    let clean = folder(&[("w3", b"clean")]);
    vault.portion = 100;
    vault.ship(&capture(&clean, CaptureExtent::Commit), 1).unwrap();
    vault.purge().unwrap();
    assert!(store.image().values().all(|bytes| !bytes.windows(6).any(|part| part == b"SECRET")));
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
}
