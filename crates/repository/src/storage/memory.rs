//! Storage in memory: for tests, and for crawls that need not outlive their process.

use super::{ReadFile, Storage, WriteFile};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

type Bytes = Arc<Numbered>;

/// A file with a number of its own.
#[derive(Debug)]
struct Numbered {
    number: u64,
    bytes: Mutex<Vec<u8>>,
}

fn numbered(bytes: Vec<u8>) -> Bytes {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Arc::new(Numbered { number: NEXT.fetch_add(1, Ordering::Relaxed), bytes: Mutex::new(bytes) })
}

/// A folder in memory. Everything is durable as long as the value lives.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    files: Mutex<BTreeMap<String, Bytes>>,
    locked: Arc<AtomicBool>,
}

impl MemoryStorage {
    /// An empty folder.
    pub fn new() -> MemoryStorage {
        MemoryStorage::default()
    }

    /// A folder with these files: a disk's image.
    pub fn with_files(files: BTreeMap<String, Vec<u8>>) -> MemoryStorage {
        let files = files.into_iter().map(|(name, bytes)| (name, numbered(bytes))).collect();
        MemoryStorage { files: Mutex::new(files), ..MemoryStorage::default() }
    }

    /// All files, as they are now.
    pub fn image(&self) -> BTreeMap<String, Vec<u8>> {
        self.files().iter().map(|(name, bytes)| (name.clone(), hold(bytes).clone())).collect()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.files.lock().expect("no panic under the lock")
    }

    fn get(&self, name: &str) -> io::Result<Bytes> {
        self.files().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn hold(bytes: &Bytes) -> MutexGuard<'_, Vec<u8>> {
    bytes.bytes.lock().expect("no panic under the lock")
}

impl Storage for MemoryStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let bytes = numbered(Vec::new());
        self.files().insert(name.to_owned(), bytes.clone());
        Ok(Box::new(MemoryHandle(bytes)))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(MemoryHandle(self.get(name)?)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(MemoryHandle(self.get(name)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        take_lock(&self.locked)
    }

    fn free(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn locate(&self, name: &str) -> String {
        format!("memory:{name}")
    }
}

/// Takes a lock that is one flag.
pub(super) fn take_lock(flag: &Arc<AtomicBool>) -> io::Result<Box<dyn Any + Send + Sync>> {
    if flag.swap(true, Ordering::SeqCst) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    Ok(Box::new(Locked(flag.clone())))
}

struct Locked(Arc<AtomicBool>);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

struct MemoryHandle(Bytes);

impl WriteFile for MemoryHandle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        hold(&self.0).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        hold(&self.0).truncate(length as usize);
        Ok(())
    }
}

impl ReadFile for MemoryHandle {
    fn length(&self) -> io::Result<u64> {
        Ok(hold(&self.0).len() as u64)
    }

    fn identity(&self) -> io::Result<String> {
        Ok(self.0.number.to_string())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        read_slice(&hold(&self.0), buffer, offset)
    }
}

/// Fills `buffer` from `bytes[offset..]`.
pub(super) fn read_slice(bytes: &[u8], buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let from = usize::try_from(offset).ok().filter(|&o| o <= bytes.len());
    let part = from.and_then(|o| bytes[o..].get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
    buffer.copy_from_slice(part);
    Ok(())
}
