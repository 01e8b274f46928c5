//! fjall, a log-structured merge tree, with a lookup for each URL.

use super::Rival;
use crate::Failure;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

/// The contender.
pub struct FjallStore {
    database: Database,
    urls: Keyspace,
    new: u64,
}

impl FjallStore {
    /// A contender without known URLs, with files in this folder and a cache of half the memory.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn new(dir: &Path, memory_bytes: u64) -> Result<FjallStore, Failure> {
        let database = Database::builder(dir.join("fjall")).cache_size(memory_bytes / 2).open()?;
        let urls = database.keyspace("urls", KeyspaceCreateOptions::default)?;
        Ok(FjallStore { database, urls, new: 0 })
    }
}

impl Rival for FjallStore {
    fn load(&mut self, key: &[u8]) -> Result<(), Failure> {
        Ok(self.urls.insert(key, b"")?)
    }

    fn loaded(&mut self) -> Result<(), Failure> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn check(&mut self, key: &[u8]) -> Result<(), Failure> {
        if !self.urls.contains_key(key)? {
            self.urls.insert(key, b"")?;
            self.new += 1;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<u64, Failure> {
        self.database.persist(PersistMode::SyncAll)?;
        Ok(std::mem::take(&mut self.new))
    }

    fn is_point_by_point(&self) -> bool {
        true
    }
}
