//! A folder of a store, as a store.

use super::{Listed, Store, StoreError};
use std::fmt::Debug;
use std::ops::Deref;

/// The objects below a folder, by what follows it in their keys. The store is borrowed or shared.
#[derive(Debug)]
pub struct StoreWithin<S> {
    store: S,
    folder: String,
}

impl<S> StoreWithin<S> {
    /// The objects whose keys begin with `folder`, which ends with `/`.
    pub fn new(store: S, folder: String) -> StoreWithin<S> {
        StoreWithin { store, folder }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.folder)
    }
}

impl<'s, S: Deref<Target = dyn Store + 's> + Debug + Send + Sync> Store for StoreWithin<S> {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.create(&self.key(key), bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.store.read(&self.key(key), most)
    }
    fn read_range(&self, key: &str, at: u64, bytes: u64) -> Result<Vec<u8>, StoreError> {
        self.store.read_range(&self.key(key), at, bytes)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.replace(&self.key(key), bytes)
    }
    fn exchange(&self, key: &str, before: &[u8], bytes: &[u8]) -> Result<(), StoreError> {
        self.store.exchange(&self.key(key), before, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        let mut listed = self.store.list(&self.key(folder))?;
        listed.iter_mut().for_each(|object| drop(object.key.drain(..self.folder.len())));
        Ok(listed)
    }
    fn created(&self, key: &str) -> Result<u64, StoreError> {
        self.store.created(&self.key(key))
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.store.remove(&self.key(key))
    }
    fn locate(&self, key: &str) -> String {
        self.store.locate(&self.key(key))
    }
}
