//! What the data directory takes, and what its disk and the process have left.

use recrawl_repository::storage::Storage;
use std::fs;
use std::path::Path;

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
