//! Size of the data directory, free space on its disk, and memory of the process.

use super::ticker::Ticker;
use recrawl_repository::storage::Storage;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Interval at which free space is measured: a cycle may take a day, and a disk fills in minutes.
const EVERY: Duration = Duration::from_secs(5);

/// Maximum depth of folders that are counted.
const MAX_FOLDERS: usize = 4;

/// The data directory and its disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Bytes of its files.
    pub used: u64,
    /// Free bytes; none if the system does not tell.
    pub free: Option<u64>,
}

/// Counts all files.
pub fn measure(data_dir: &Path, storage: &dyn Storage) -> Disk {
    Disk { used: bytes_in(data_dir, MAX_FOLDERS), free: storage.free().ok() }
}

/// Tells the free space every [`EVERY`]; none if the system does not tell.
///
/// # Errors
/// When no thread can be started.
pub fn watch(storage: Arc<dyn Storage>, tell: impl Fn(Option<u64>) + Send + 'static) -> io::Result<Ticker> {
    Ticker::start("disk", EVERY, move || tell(storage.free().ok()))
}

/// Files that vanish meanwhile count as 0.
fn bytes_in(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() && depth > 0 => bytes_in(&entry.path(), depth - 1),
        Ok(data) if data.is_file() => data.len(),
        Ok(_) | Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}

/// Resident memory of the process in bytes; none if the system does not tell.
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
