//! Objects in memory: for tests.

use super::{Listed, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Objects in memory.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Objects>);

#[derive(Debug, Default)]
struct Objects {
    by_key: BTreeMap<String, (Vec<u8>, u64)>,
    /// The time, in milliseconds since 1970.
    now: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().expect("no panic under the lock")
    }

    /// Sets its clock, in milliseconds since 1970.
    pub fn set_time(&self, now: u64) {
        self.objects().now = now;
    }

    /// All objects.
    pub fn image(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects().by_key.iter().map(|(key, (bytes, _))| (key.clone(), bytes.clone())).collect()
    }

    /// Changes the bytes of an object, as damage does.
    ///
    /// # Panics
    /// If there is none.
    pub fn damage(&self, key: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.objects().by_key.get_mut(key).expect("an object to damage").0);
    }
}

impl Store for MemoryStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut objects = self.objects();
        if objects.by_key.contains_key(key) {
            return Err(StoreError::Exists(key.to_owned()));
        }
        let now = objects.now;
        objects.by_key.insert(key.to_owned(), (bytes.to_vec(), now));
        Ok(())
    }

    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let objects = self.objects();
        let (found, _) = objects.by_key.get(key).ok_or_else(|| StoreError::Absent(key.to_owned()))?;
        match found.len() as u64 {
            bytes if bytes > most => Err(StoreError::TooLong { object: self.locate(key), bytes }),
            _ => Ok(found.clone()),
        }
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut objects = self.objects();
        let now = objects.now;
        objects.by_key.insert(key.to_owned(), (bytes.to_vec(), now));
        Ok(())
    }

    fn exchange(&self, key: &str, before: &[u8], bytes: &[u8]) -> Result<(), StoreError> {
        match self.objects().by_key.get_mut(key) {
            Some((found, _)) if found == before => {
                *found = bytes.to_vec();
                Ok(())
            }
            Some(_) => Err(StoreError::Exists(self.locate(key))),
            None => Err(StoreError::Absent(self.locate(key))),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        let objects = self.objects();
        let listed = objects.by_key.iter().filter(|(key, _)| key.starts_with(folder));
        let listed = listed.map(|(key, (bytes, created))| Listed {
            key: key.clone(),
            bytes: bytes.len() as u64,
            created: *created,
        });
        Ok(listed.collect())
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.objects().by_key.remove(key);
        Ok(())
    }

    fn locate(&self, key: &str) -> String {
        format!("memory:{key}")
    }
}
