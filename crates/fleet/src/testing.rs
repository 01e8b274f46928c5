//! Fleets for tests.

use crate::{ExchangePatience, FleetMap, PartitionRange};
use recrawl_types::UrlRules;
use recrawl_vault::store::{Listed, MemoryStore};
use recrawl_vault::{Store, StoreError};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nobody waits.
pub(crate) struct Nobody;

impl ExchangePatience for Nobody {
    fn wait(&self, _times: u64) -> bool {
        false
    }
}

/// The first map of a fleet that is cut at these sites: partitions 1, 2 and so on.
pub(crate) fn first_map(begins: &[&str]) -> FleetMap {
    let begins = std::iter::once(None).chain(begins.iter().map(|begin| Some((*begin).to_owned())));
    let range = |(id, begin)| PartitionRange { id, begin, parent: None };
    FleetMap::new(1, (1..).zip(begins).map(range).collect()).unwrap()
}

/// The key of a URL.
pub(crate) fn key_of(url: &str) -> Vec<u8> {
    UrlRules::default().canonicalize(url).unwrap().key().to_vec()
}

/// A store that counts what is asked of it.
#[derive(Debug, Default)]
pub(crate) struct CountingStore {
    pub objects: MemoryStore,
    pub asked: AtomicU64,
}

impl CountingStore {
    fn counted(&self) -> &MemoryStore {
        self.asked.fetch_add(1, Relaxed);
        &self.objects
    }
}

impl Store for CountingStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.counted().create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.counted().read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.counted().replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.counted().list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.counted().remove(key)
    }
    fn locate(&self, key: &str) -> String {
        key.to_owned()
    }
}
