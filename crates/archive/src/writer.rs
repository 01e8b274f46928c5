//! Appends to the archive: one WARC file at a time, created with its first record.

use super::files::{WarcFiles, file_name};
use super::spelling::in_file;
use super::warcinfo::WarcProvenance;
use recrawl_repository::storage::{Storage, WriteFile};
use recrawl_types::ArchivePosition;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// An end of the archive: a file and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArchiveEnd {
    /// File number, from 1; 0 before the first file.
    pub number: u32,
    /// Length of the file in bytes.
    pub length: u64,
}

impl ArchiveEnd {
    /// Does a record that begins at this position lie before this end?
    pub fn is_behind(self, position: ArchivePosition) -> bool {
        (position.file, position.offset) < (self.number, self.length)
    }
}

/// The archive, open for appending.
pub struct Archive {
    storage: Arc<dyn Storage>,
    limit: u64,
    provenance: WarcProvenance,
    end: ArchiveEnd,
    /// Name of the last file; empty before the first.
    name: String,
    /// None until the first record, which creates a file.
    file: Option<Box<dyn WriteFile>>,
    /// Does the next file follow a recovery?
    is_recovered: bool,
    /// A write or a sync failed, so the content of the file is unknown.
    broken: bool,
}

impl Archive {
    /// Begins an archive in an empty storage.
    pub fn create(storage: Arc<dyn Storage>, limit: u64) -> Archive {
        let (provenance, end) = Default::default();
        let (name, file, is_recovered, broken) = Default::default();
        Archive { storage, limit, provenance, end, name, file, is_recovered, broken }
    }

    /// Continues at `end`: in that file or, if `is_new_file`, in the next one. A file is closed at `limit`
    /// bytes.
    ///
    /// # Errors
    /// With the file's name.
    pub fn open(
        storage: Arc<dyn Storage>,
        limit: u64,
        provenance: WarcProvenance,
        end: ArchiveEnd,
        is_new_file: bool,
    ) -> io::Result<Archive> {
        let (mut name, mut file) = (String::new(), None);
        if !is_new_file {
            WarcFiles::in_storage(&*storage)?.name(end.number)?.clone_into(&mut name);
            file = Some(storage.append(&name).map_err(|e| in_file(&*storage, &name, &e))?);
        }
        let is_recovered = is_new_file && end.number > 0;
        Ok(Archive { storage, limit, provenance, end, name, file, is_recovered, broken: false })
    }

    /// Appends a compressed record and returns its position.
    ///
    /// # Errors
    /// With the file's name. A partly written record is cut off again.
    pub fn append(&mut self, member: &[u8]) -> io::Result<ArchivePosition> {
        self.check()?;
        if self.file.is_none() || self.end.length >= self.limit {
            // Sync before the next file is created: only the newest file may hold data that is not
            // durable yet.
            self.sync()?;
            self.begin_file()?;
        }
        let position = ArchivePosition { file: self.end.number, offset: self.end.length };
        let file = self.file.as_mut().expect("one was just begun");
        if let Err(error) = file.write(member) {
            // An incomplete record would hide the records after it from sequential readers.
            self.broken = file.truncate(self.end.length).is_err();
            return Err(self.named(&error));
        }
        self.end.length += member.len() as u64;
        Ok(position)
    }

    /// Creates the next file with a `warcinfo` record, and makes its name durable.
    fn begin_file(&mut self) -> io::Result<()> {
        let number = self.end.number + 1;
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let at = at.as_millis() as u64;
        let name = file_name(number, at, &self.provenance.tag);
        let info = self.provenance.member(&name, at, self.is_recovered);
        let begin = || {
            let mut file = self.storage.create(&name)?;
            file.write(&info)?;
            file.sync()?;
            self.storage.sync_dir()?;
            Ok(file)
        };
        let file = begin().map_err(|e| {
            // The next attempt has another name for the same number.
            let _ = self.storage.remove(&name);
            in_file(&*self.storage, &name, &e)
        })?;
        (self.file, self.end) = (Some(file), ArchiveEnd { number, length: info.len() as u64 });
        (self.name, self.is_recovered) = (name, false);
        Ok(())
    }

    /// The current end of the archive.
    pub fn end(&self) -> ArchiveEnd {
        self.end
    }

    /// Makes all appended records durable.
    ///
    /// # Errors
    /// With the file's name. A second sync does not bring back what a failed one lost, so nothing
    /// can be appended afterwards.
    pub fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        let Some(file) = &mut self.file else { return Ok(()) };
        file.sync().map_err(|error| {
            self.broken = true;
            self.named(&error)
        })
    }

    fn check(&self) -> io::Result<()> {
        match self.broken {
            true => Err(self.named(&io::Error::other("an earlier write failed; restart the crawl"))),
            false => Ok(()),
        }
    }

    fn named(&self, error: &io::Error) -> io::Error {
        in_file(&*self.storage, &self.name, error)
    }
}
