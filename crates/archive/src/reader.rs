//! An archive to read from, in any storage.

use super::files::{WarcFiles, is_thinned, thinned_name};
use super::moved::{MovedIndex, present};
use super::records::{Records, Stored};
use recrawl_repository::storage::Storage;
use recrawl_types::ArchivePosition;
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
        let name = self.files.name(number)?;
        let open = |name: &str| match is_thinned(name) {
            true => MovedIndex::open(&*self.storage, name)?.opened_at(offset),
            false => Stored::open(&*self.storage, name, offset),
        };
        match open(name) {
            // It may have been thinned since.
            Err(e) if e.kind() == io::ErrorKind::NotFound && !is_thinned(name) => open(&thinned_name(name)),
            opened => opened,
        }
    }

    /// Where a position leads: past records that were dropped, to the first body before them that was not.
    ///
    /// # Errors
    /// When the index of a thinned file cannot be read.
    pub(crate) fn present(&self, position: ArchivePosition) -> io::Result<Option<ArchivePosition>> {
        present(&*self.storage, &self.files, position)
    }

    /// The records of a file, from front to back.
    ///
    /// # Errors
    /// With the name of the file.
    pub fn records(&self, name: &str) -> io::Result<Records<Stored>> {
        Records::open_at(&*self.storage, name, 0)
    }
}
