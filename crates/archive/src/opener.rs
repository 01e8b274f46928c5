//! Where the archive of a data directory is. Nothing else knows: a back end elsewhere is opened here.

use recrawl_repository::storage::{FileStorage, MemoryStorage, Storage};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// The folder of the archive, in the data directory.
pub const FOLDER: &str = "warc";

/// The archive, to append to: created if there is none.
///
/// # Errors
/// When the folder cannot be created.
pub fn create(data_dir: &Path) -> io::Result<Arc<dyn Storage>> {
    Ok(Arc::new(FileStorage::create(&data_dir.join(FOLDER))?))
}

/// The archive, to read or overwrite; none if nothing was ever archived.
///
/// # Errors
/// With the name of the folder, when it cannot be read.
pub fn find(data_dir: &Path) -> io::Result<Option<Arc<dyn Storage>>> {
    let folder = data_dir.join(FOLDER);
    match FileStorage::existing(&folder) {
        Ok(storage) => Ok(Some(Arc::new(storage))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io::Error::new(e.kind(), format!("{}: {e}", folder.display()))),
    }
}

/// The same; an empty one if nothing was ever archived.
///
/// # Errors
/// As [`find`].
pub fn open(data_dir: &Path) -> io::Result<Arc<dyn Storage>> {
    Ok(find(data_dir)?.unwrap_or_else(|| Arc::new(MemoryStorage::new())))
}
