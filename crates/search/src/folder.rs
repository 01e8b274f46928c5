//! The files of an index, mapped into memory. Those who only read write nothing, not even a lock file.
//!
//! A sector of a mapped file that cannot be read kills the process. Reads by calls were measured: tantivy reads the whole
//! dictionary of each field, a tenth of the index, so a query over 10⁶ pages would copy some 130 MB. So only
//! [`check`](crate::check) reads by calls: the next start finds such a sector, and the index is made anew.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// The folder of an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexFolder {
    path: PathBuf,
    files: MmapDirectory,
    is_writer: bool,
}

impl IndexFolder {
    pub fn to_read(path: &Path) -> Result<IndexFolder, OpenDirectoryError> {
        Ok(IndexFolder { path: path.into(), files: MmapDirectory::open(path)?, is_writer: false })
    }

    pub fn to_write(path: &Path) -> Result<IndexFolder, OpenDirectoryError> {
        Ok(IndexFolder { is_writer: true, ..IndexFolder::to_read(path)? })
    }
}

impl Directory for IndexFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.files.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.files.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.files.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    /// A writer holds a lock alone while it removes files. Readers share it, if there was ever a writer.
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if self.is_writer {
            return self.files.acquire_lock(lock);
        }
        match File::open(self.path.join(&lock.filepath)) {
            Ok(file) => {
                flock(&file, FlockOperation::LockShared).map_err(|e| LockError::wrap_io_error(e.into()))?;
                Ok(DirectoryLock::from(Box::new(file)))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(DirectoryLock::from(Box::new(()))),
            Err(e) => Err(LockError::wrap_io_error(e)),
        }
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(watch_callback)
    }
}
