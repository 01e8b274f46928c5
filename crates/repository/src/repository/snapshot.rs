//! A copy of what is committed, made while another process may be writing.
//!
//! A committed generation's files are never written to again, so a second name for them (a hard link) is a copy. A
//! reader has them open, so that a commit which removes their names takes nothing away: what has no name any
//! more is copied from the open file.

use crate::decisions;
use crate::file::error::{OpenError, ReadError, WriteError};
use crate::file::format::REPORTS;
use crate::file::frames::FrameSource;
use crate::generation::manifest::{self, Manifest};
use crate::kept::copies::{copies, copy_file};
use crate::kept::file::StoredKind;
use crate::repository::Repository;
use crate::storage::Storage;
use recrawl_types::Round;

/// Bytes copied at a time.
const COPY: usize = 1 << 20;

/// What a snapshot has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The generation.
    pub generation: Round,
    /// Known URLs.
    pub pages: u64,
    /// Files that have a second name now.
    pub linked: u64,
    /// Files that were copied.
    pub copied: u64,
    /// Bytes of these.
    pub copied_bytes: u64,
}

/// A copy without its manifest, which is no snapshot yet.
#[derive(Debug)]
#[must_use = "a copy that is not finished is no snapshot"]
pub struct UnfinishedSnapshot {
    made: Snapshot,
    manifest: Manifest,
}

impl UnfinishedSnapshot {
    /// Writes the manifest into `to`, where the copy is, once all is there that belongs to it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self, to: &dyn Storage) -> Result<Snapshot, SnapshotError> {
        manifest::write(to, &self.manifest)?;
        Ok(self.made)
    }
}

/// A snapshot could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The new folder has files already.
    #[error("{0}: has files already; name a new folder")]
    Occupied(String),
    /// Reading failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The new folder takes no more.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Either folder is not what is needed.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Repository {
    /// Writes the committed generation, the reports, the kept visits, what targets hold and what operators decided (the text
    /// of [`decisions`]) into the empty `to`; the manifest follows, so that a snapshot which was cut short is none. `link`
    /// gives a file of that name a second name in `to` and says whether it could.
    ///
    /// # Errors
    /// [`SnapshotError`]; what was written is left behind.
    pub fn snapshot(
        &self,
        to: &dyn Storage,
        link: &dyn Fn(&str) -> bool,
        decided: &str,
    ) -> Result<UnfinishedSnapshot, SnapshotError> {
        let folder = to.locate("");
        // Settings of a crawl may lie there already: what a copy needs comes before its manifest.
        if !to.list().map_err(ReadError::io(&folder))?.iter().all(|name| name.ends_with(".toml")) {
            return Err(SnapshotError::Occupied(folder));
        }
        let _lock = to.lock().map_err(WriteError::during(folder, "lock"))?;
        let generation = self.current();
        let mut made =
            Snapshot { generation: generation.number(), pages: generation.pages(), ..Snapshot::default() };
        for (name, source) in generation.sources() {
            made.take(&name, source, to, link)?;
        }
        for kind in StoredKind::ALL {
            for kept in self.kept().rounds(kind)? {
                let name = kind.file(kept);
                match FrameSource::open(&**self.storage(), &name, kind.file_kind(), kept.round) {
                    Ok(source) => made.take(&name, &source, to, link)?,
                    // They are kept for so many cycles: a commit removed the oldest just now.
                    Err(error) if error.is_absent() => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        // This file grows, so it is copied: as far as it was committed with the generation.
        let reports = self.reports_file()?;
        made.copy(REPORTS, &reports, self.manifest.reports, to)?;
        // Each is replaced whole, also while a daemon delivers.
        for name in copies(&**self.storage()).map_err(ReadError::io(self.storage().locate("")))? {
            let source = FrameSource::open_unchecked(&**self.storage(), &copy_file(&name))?;
            made.copy(&copy_file(&name), &source, source.length(), to)?;
        }
        decisions::write(to, decided)?;
        Ok(UnfinishedSnapshot { made, manifest: self.manifest })
    }
}

impl Snapshot {
    fn take(
        &mut self,
        name: &str,
        source: &FrameSource,
        to: &dyn Storage,
        link: &dyn Fn(&str) -> bool,
    ) -> Result<(), SnapshotError> {
        if link(name) {
            self.linked += 1;
            return Ok(());
        }
        self.copy(name, source, source.length(), to)
    }

    fn copy(
        &mut self,
        name: &str,
        source: &FrameSource,
        length: u64,
        to: &dyn Storage,
    ) -> Result<(), SnapshotError> {
        let path = to.locate(name);
        let mut file = to.create(name).map_err(WriteError::during(&path, "create"))?;
        let (mut at, mut buffer) = (0, vec![0; COPY]);
        while at < length {
            let part = &mut buffer[..(length - at).min(COPY as u64) as usize];
            source.read_exact(part, at)?;
            file.write(part).map_err(WriteError::during(&path, "write"))?;
            at += part.len() as u64;
        }
        file.sync().map_err(WriteError::during(&path, "sync"))?;
        self.copied += 1;
        self.copied_bytes += length;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
