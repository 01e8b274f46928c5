//! A storage that counts bytes read and written, by kind of file.

use recrawl_repository::storage::{FileStorage, ReadFile, Storage, WriteFile};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A storage in a folder that counts bytes.
#[derive(Debug)]
pub struct CountedStorage {
    inner: FileStorage,
    /// Counters by kind: the file extension.
    kinds: Mutex<BTreeMap<String, Arc<ByteCount>>>,
}

#[derive(Debug, Default)]
struct ByteCount {
    read: AtomicU64,
    written: AtomicU64,
}

/// Bytes of one kind of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes read, from the disk or from its cache.
    pub read: u64,
    /// Bytes passed to be written.
    pub written: u64,
}

impl CountedStorage {
    /// Counts what `inner` reads and writes.
    pub fn over(inner: FileStorage) -> CountedStorage {
        CountedStorage { inner, kinds: Mutex::default() }
    }

    /// Bytes so far, by kind of file.
    pub fn bytes(&self) -> BTreeMap<String, Bytes> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |count: &ByteCount| Bytes {
            read: count.read.load(Ordering::Relaxed),
            written: count.written.load(Ordering::Relaxed),
        };
        kinds.iter().map(|(kind, count)| (kind.clone(), bytes(count))).collect()
    }

    fn count(&self, name: &str) -> Arc<ByteCount> {
        let kind = name.rsplit_once('.').map_or(name, |(_, kind)| kind);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(kind.to_owned()).or_default().clone()
    }
}

struct Writer(Box<dyn WriteFile>, Arc<ByteCount>);

impl WriteFile for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }
}

struct CountedReader(Box<dyn ReadFile>, Arc<ByteCount>);

impl ReadFile for CountedReader {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.1.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.0.read_at(buffer, offset)
    }

    fn identity(&self) -> io::Result<String> {
        self.0.identity()
    }

    fn will_read(&self, offset: u64, length: u64) {
        self.0.will_read(offset, length);
    }
}

impl Storage for CountedStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Writer(self.inner.create(name)?, self.count(name))))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Writer(self.inner.append(name)?, self.count(name))))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(CountedReader(self.inner.open(name)?, self.count(name))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.inner.sync_dir()
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock()
    }

    fn free(&self) -> io::Result<u64> {
        self.inner.free()
    }

    fn locate(&self, name: &str) -> String {
        self.inner.locate(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_kind() {
        let dir = tempfile::tempdir().unwrap();
        let storage = CountedStorage::over(FileStorage::create(dir.path()).unwrap());
        storage.create("generation-1.keys").unwrap().write(b"abcde").unwrap();
        storage.append("generation-1.keys").unwrap().write(b"fg").unwrap();
        storage.create("MANIFEST").unwrap().write(b"m").unwrap();
        let mut buffer = [0; 3];
        storage.open("generation-1.keys").unwrap().read_at(&mut buffer, 2).unwrap();
        assert_eq!(&buffer, b"cde");
        let bytes = storage.bytes();
        assert_eq!(bytes["keys"], Bytes { read: 3, written: 7 });
        assert_eq!(bytes["MANIFEST"], Bytes { read: 0, written: 1 });
    }
}
