//! What the data directory takes, and what its disk and the process have left.

use super::desk::Desk;
use recrawl_repository::storage::Storage;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often it is looked how much is free: a cycle may take a day, and a disk fills in minutes.
const EVERY: Duration = Duration::from_secs(5);

/// Folders within folders that are looked into.
const MAX_FOLDERS: usize = 4;

/// Of the data directory and its disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Bytes of its files.
    pub used: u64,
    /// Bytes that are free; none where the system does not say.
    pub free: Option<u64>,
}

/// Looks at all files.
pub fn measure(data_dir: &Path, storage: &dyn Storage) -> Disk {
    Disk { used: bytes_in(data_dir, MAX_FOLDERS), free: storage.free().ok() }
}

/// Sees to what is free, until it is dropped.
pub struct Watch(#[expect(dead_code, reason = "its end is the sign")] Sender<()>);

/// From now on the desk knows what is free, within [`EVERY`].
///
/// # Errors
/// When there is no thread to be had.
pub fn watch(desk: Arc<Desk>, storage: Arc<dyn Storage>) -> io::Result<Watch> {
    let (sender, end) = mpsc::channel();
    let look = move || {
        while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            desk.set_free(storage.free().ok());
        }
    };
    thread::Builder::new().name("disk".into()).spawn(look)?;
    Ok(Watch(sender))
}

/// Files that vanish while they are counted count for nothing.
fn bytes_in(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() && depth > 0 => bytes_in(&entry.path(), depth - 1),
        Ok(data) if data.is_file() => data.len(),
        Ok(_) | Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}

/// Bytes of memory that the process has; none where the system does not say.
pub fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::storage::MemoryStorage;

    #[test]
    fn files_are_counted_with_those_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("a"), [0; 10]).unwrap();
        fs::write(folder.path().join("in/b"), [0; 5]).unwrap();
        assert_eq!(measure(folder.path(), &MemoryStorage::new()).used, 15);
        assert_eq!(measure(&folder.path().join("none"), &MemoryStorage::new()).used, 0);
    }
}
