//! sled, a tree, with a lookup for each URL.

use super::Rival;
use crate::Failure;
use std::path::Path;

/// The contender.
pub struct SledStore {
    urls: sled::Db,
    new: u64,
}

impl SledStore {
    /// A contender without known URLs, with files in this folder and a cache of a quarter of the
    /// memory. With half of the memory it would exceed the limit.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn new(dir: &Path, memory_bytes: u64) -> Result<SledStore, Failure> {
        let urls = sled::Config::new().path(dir.join("sled")).cache_capacity(memory_bytes / 4).open()?;
        Ok(SledStore { urls, new: 0 })
    }
}

impl Rival for SledStore {
    fn load(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.urls.insert(key, b"")?;
        Ok(())
    }

    fn loaded(&mut self) -> Result<(), Failure> {
        self.urls.flush()?;
        Ok(())
    }

    fn check(&mut self, key: &[u8]) -> Result<(), Failure> {
        if !self.urls.contains_key(key)? {
            self.urls.insert(key, b"")?;
            self.new += 1;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<u64, Failure> {
        self.urls.flush()?;
        Ok(std::mem::take(&mut self.new))
    }

    fn is_point_by_point(&self) -> bool {
        true
    }
}
