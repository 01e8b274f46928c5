//! Storage in a folder of the file system.

use super::{ReadFile, Storage, WriteFile};
#[cfg(target_os = "linux")]
use rustix::fs::{Advice, fadvise};
use rustix::fs::{FlockOperation, flock, statvfs};
use rustix::io::Errno;
use std::any::Any;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The file whose lock is the folder's lock. It stays when the process ends; the lock does not.
const LOCK: &str = "LOCK";

/// A folder of the file system.
#[derive(Debug)]
pub struct FileStorage {
    dir: PathBuf,
}

impl FileStorage {
    /// The folder `dir`, made if there is none; then its name is durable too.
    pub fn create(dir: &Path) -> io::Result<FileStorage> {
        if !dir.is_dir() {
            fs::create_dir_all(dir)?;
            sync_parent(dir)?;
        }
        Ok(FileStorage { dir: dir.to_path_buf() })
    }

    /// The folder `dir`, which must exist: for reading.
    pub fn existing(dir: &Path) -> io::Result<FileStorage> {
        if fs::metadata(dir)?.is_dir() {
            Ok(FileStorage { dir: dir.to_path_buf() })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Does a process hold the lock of the folder `dir`?
    ///
    /// # Errors
    /// When the file system has no locks, or the file cannot be opened.
    pub fn is_locked(dir: &Path) -> io::Result<bool> {
        let file = match File::open(dir.join(LOCK)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Ok(true),
            shared => shared.map(|()| false).map_err(io::Error::from),
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gives a file a second name in the folder of `to`, which must be on the same file system.
    ///
    /// # Errors
    /// Where it is not, or has no such names, or the file is gone.
    pub fn link(&self, name: &str, to: &FileStorage) -> io::Result<()> {
        fs::hard_link(self.path(name), to.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Storage for FileStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        // Removed first, not truncated: a reader that has the old file open keeps it whole.
        match fs::remove_file(self.path(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let file = OpenOptions::new().append(true).create_new(true).open(self.path(name))?;
        Ok(Box::new(Writer(file)))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(Writer(OpenOptions::new().append(true).open(self.path(name))?)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(FileReader(File::open(self.path(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            // A name that is not text is none of ours.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string())
                && name != LOCK
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.path(LOCK))?;
        // std's own lock needs a newer Rust than the workspace promises.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(file))
    }

    fn free(&self) -> io::Result<u64> {
        let disk = statvfs(&self.dir)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn locate(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

/// Makes the name of a folder durable, and what happened to names beside it.
pub fn sync_parent(dir: &Path) -> io::Result<()> {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(|e| io::Error::new(e.kind(), format!("{}: cannot sync: {e}", parent.display())))
}

struct Writer(File);

impl WriteFile for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        // All, not data alone: the length of a growing file is part of what was promised.
        self.0.sync_all()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)?;
        self.0.sync_all()
    }
}

struct FileReader(File);

impl ReadFile for FileReader {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn identity(&self) -> io::Result<String> {
        let file = self.0.metadata()?;
        // Numbers of inodes are used again; not every file system knows when a file was made.
        let made = file.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Ok(format!("{}-{}", file.ino(), made.map_or(0, |at| at.as_nanos())))
    }

    #[cfg(target_os = "linux")]
    fn will_read(&self, offset: u64, length: u64) {
        // A system that will not fetch ahead still reads.
        let _ = fadvise(&self.0, offset, std::num::NonZeroU64::new(length), Advice::WillNeed);
    }
}
