//! A storage that reports each write as progress, for plan, merge and commit.
//!
//! Only the thread of the cycle and its recorder write to a crawl's storage. Reads are not
//! reported, since API handlers read too and would hide a hanging cycle. Code that reads pages
//! reports its own progress.

use crate::progress::figures::RoundProgress;
use recrawl_repository::storage::{ReadFile, Storage, WriteFile};
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The storage of a crawl, which reports progress.
pub struct Watched {
    storage: Arc<dyn Storage>,
    live: Arc<RoundProgress>,
}

impl Watched {
    /// Reports writes to `storage` as progress of `live`.
    pub fn new(storage: Arc<dyn Storage>, live: Arc<RoundProgress>) -> Watched {
        Watched { storage, live }
    }

    /// Reports progress after a step has ended, not when it starts.
    fn told<T>(&self, done: io::Result<T>) -> io::Result<T> {
        self.live.moved();
        done
    }

    fn watched(&self, file: io::Result<Box<dyn WriteFile>>) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(WatchedFile { file: self.told(file)?, live: self.live.clone() }))
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.storage.fmt(f)
    }
}

impl Storage for Watched {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        self.watched(self.storage.create(name))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        self.watched(self.storage.append(name))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        self.storage.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.told(self.storage.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.told(self.storage.remove(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.storage.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.told(self.storage.sync_dir())
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.storage.lock()
    }

    fn free(&self) -> io::Result<u64> {
        self.storage.free()
    }

    fn locate(&self, name: &str) -> String {
        self.storage.locate(name)
    }
}

struct WatchedFile {
    file: Box<dyn WriteFile>,
    live: Arc<RoundProgress>,
}

impl WatchedFile {
    fn told(&self, done: io::Result<()>) -> io::Result<()> {
        self.live.moved();
        done
    }
}

impl WriteFile for WatchedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let done = self.file.write(bytes);
        self.told(done)
    }

    fn sync(&mut self) -> io::Result<()> {
        let done = self.file.sync();
        self.told(done)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let done = self.file.truncate(length);
        self.told(done)
    }
}

#[cfg(test)]
mod tests;
