//! An archive to read from, in any storage.

use super::files::WarcFiles;
use super::records::{Records, Stored};
use recrawl_repository::storage::Storage;
use std::io;
use std::sync::Arc;

/// An archive to read from.
#[derive(Clone, Debug)]
pub struct ArchiveReader {
    storage: Arc<dyn Storage>,
    /// The files when it was opened.
    pub files: WarcFiles,
}

impl ArchiveReader {
    /// Lists the files of a storage. Positions committed later may be in files that are not listed.
    ///
    /// # Errors
    /// With the name of the storage, when it cannot be listed, or two files have one number.
    pub fn open(storage: Arc<dyn Storage>) -> io::Result<ArchiveReader> {
        let files = WarcFiles::in_storage(&*storage)?;
        Ok(ArchiveReader { storage, files })
    }

    /// The storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// A file from the record at this offset on, and its length.
    ///
    /// # Errors
    /// As [`WarcFiles::name`]; when the file cannot be opened.
    pub(crate) fn from(&self, number: u32, offset: u64) -> io::Result<Stored> {
        Stored::open(&*self.storage, self.files.name(number)?, offset)
    }

    /// The records of a file, from front to back.
    ///
    /// # Errors
    /// With the name of the file.
    pub fn records(&self, name: &str) -> io::Result<Records<Stored>> {
        Records::of(&*self.storage, name, 0)
    }
}
