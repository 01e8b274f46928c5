//! The growing end of the archive: one WARC file at a time, made when its first record comes.

use super::{file_name, in_file, warcinfo};
use recrawl_repository::storage::{FileStorage, Storage, WriteFile};
use recrawl_types::ArchivePosition;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// An end of the archive: a file and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArchiveEnd {
    /// Number of the file, from 1; 0 before the first.
    pub number: u32,
    /// Its length in bytes.
    pub length: u64,
}

impl ArchiveEnd {
    /// Does a record that begins there lie before this end?
    pub fn is_behind(self, position: ArchivePosition) -> bool {
        (position.file, position.offset) < (self.number, self.length)
    }
}

/// The archive, open for appending.
pub struct Archive {
    storage: Arc<dyn Storage>,
    limit: u64,
    end: ArchiveEnd,
    /// None until the first record comes, which begins a file.
    file: Option<Box<dyn WriteFile>>,
    /// A write or a sync failed, and nobody knows what the file holds.
    broken: bool,
}

impl Archive {
    /// Begins an archive in a folder, which is made if need be.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(folder: &Path, limit: u64) -> io::Result<Archive> {
        Archive::open(Arc::new(FileStorage::create(folder)?), limit, ArchiveEnd::default(), true)
    }

    /// Goes on behind `end`: in that file, or, where `is_new_file`, in the one after it.
    ///
    /// # Errors
    /// With the file's name.
    pub fn open(
        storage: Arc<dyn Storage>,
        limit: u64,
        end: ArchiveEnd,
        is_new_file: bool,
    ) -> io::Result<Archive> {
        let name = file_name(end.number);
        let file = match is_new_file {
            true => None,
            false => Some(storage.append(&name).map_err(|e| in_file(&*storage, &name, &e))?),
        };
        Ok(Archive { storage, limit, end, file, broken: false })
    }

    /// Appends a compressed record and says where it begins.
    ///
    /// # Errors
    /// With the file's name. What was written of the record is cut off again.
    pub fn append(&mut self, member: &[u8]) -> io::Result<ArchivePosition> {
        self.check()?;
        if self.file.is_none() || self.end.length >= self.limit {
            // Before the next file is begun: only the newest may hold what is not durable yet.
            self.sync()?;
            self.begin_file()?;
        }
        let position = ArchivePosition { file: self.end.number, offset: self.end.length };
        let file = self.file.as_mut().expect("one was just begun");
        if let Err(error) = file.write(member) {
            // A torn record would hide those behind it from readers that go through the whole file.
            self.broken = file.truncate(self.end.length).is_err();
            return Err(self.named(&error));
        }
        self.end.length += member.len() as u64;
        Ok(position)
    }

    /// Makes the next file, with a `warcinfo` record, and its name durable.
    fn begin_file(&mut self) -> io::Result<()> {
        let number = self.end.number + 1;
        let name = file_name(number);
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let info = warcinfo(&name, at.as_millis() as u64);
        let begin = || {
            let mut file = self.storage.create(&name)?;
            file.write(&info)?;
            file.sync()?;
            self.storage.sync_dir()?;
            Ok(file)
        };
        let file = begin().map_err(|e| in_file(&*self.storage, &name, &e))?;
        (self.file, self.end) = (Some(file), ArchiveEnd { number, length: info.len() as u64 });
        Ok(())
    }

    /// Where the archive ends now.
    pub fn end(&self) -> ArchiveEnd {
        self.end
    }

    /// Makes all appended records durable.
    ///
    /// # Errors
    /// With the file's name. What a failed sync lost, a second one does not bring back: nothing is
    /// appended any more.
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
            true => Err(self.named(&io::Error::other("an earlier write failed; start again"))),
            false => Ok(()),
        }
    }

    fn named(&self, error: &io::Error) -> io::Error {
        in_file(&*self.storage, &file_name(self.end.number), error)
    }
}
