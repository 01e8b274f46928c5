//! The reports of committed rounds: a file that grows by a frame a commit, and is replaced by a shorter one now and then.
//!
//! The manifest has the committed length. When the file is replaced, the new file and its length in the manifest cannot
//! change at once. So the new file is shorter and has the number of the generation in its header: if that is the
//! manifest's generation and the file is shorter than its length there, the manifest was not written yet, nothing was
//! appended since, and the whole file is committed.

use crate::file::error::{CommitError, OpenError, ReadError, WriteError};
use crate::file::format::{FileKind, REPORTS, UNFINISHED};
use crate::file::frames::{FrameReader, FrameSource, FrameWriter};
use crate::generation::manifest::Manifest;
use crate::repository::Repository;
use crate::storage::Storage;
use recrawl_types::Round;
use std::sync::atomic::Ordering;

/// The reports of committed rounds.
pub struct Reports(FrameReader);

impl Reports {
    /// The next report; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_report(&mut self) -> Result<Option<&[u8]>, ReadError> {
        self.0.next_frame()
    }
}

fn open(storage: &dyn Storage) -> Result<FrameSource, ReadError> {
    FrameSource::open(storage, REPORTS, FileKind::Reports, Round(0))
}

/// How much of the file is committed; none if it is of a later generation than the manifest.
fn committed(source: &FrameSource, manifest: &Manifest) -> Result<Option<u64>, ReadError> {
    let (number, of_manifest) = (source.number()?, manifest.summary.number);
    Ok(match number == of_manifest && source.length() < manifest.reports {
        true => Some(source.length()),
        false => (number <= of_manifest).then_some(manifest.reports),
    })
}

/// The file for a reader of this manifest, and how much of it is committed; none if it was replaced since the manifest was
/// read. A file that cannot be read is an error for those who read it.
pub(crate) fn beside(storage: &dyn Storage, manifest: &Manifest) -> Option<(Option<FrameSource>, u64)> {
    let found = open(storage).and_then(|source| Ok((committed(&source, manifest)?, source)));
    match found {
        Ok((length, source)) => length.map(|length| (Some(source), length)),
        Err(_) => Some((None, manifest.reports)),
    }
}

impl Repository {
    /// Walks the reports of all committed cycles, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn reports(&self) -> Result<Reports, ReadError> {
        Ok(Reports(FrameReader::over(self.reports_file()?, FileKind::Reports, self.manifest.reports)))
    }

    pub(crate) fn reports_file(&self) -> Result<FrameSource, ReadError> {
        self.reports.clone().map_or_else(|| open(&*self.storage), Ok)
    }

    /// The generation at which the reports were last [replaced](Repository::replace_reports), or took no less room; 0 if
    /// never.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn reports_replaced(&self) -> Result<Round, ReadError> {
        Ok(self.reports_file()?.number()?.max(self.reports_tried))
    }

    /// Begins a file of reports that says what the committed ones say, in less room.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin_reports(&self) -> Result<FrameWriter, WriteError> {
        let name = format!("{REPORTS}{UNFINISHED}");
        FrameWriter::create(&*self.storage, &name, FileKind::Reports, self.manifest.summary.number)
    }

    /// Replaces the reports, durably. A file that is not shorter is removed; gives whether it was. Whatever stops this, the
    /// reports are the old or the new ones, whole.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn replace_reports(&mut self, mut next: FrameWriter) -> Result<bool, CommitError> {
        let name = format!("{REPORTS}{UNFINISHED}");
        let (path, folder) = (self.storage.locate(&name), self.storage.locate(""));
        // Its bytes first, then its name.
        let length = next.sync()?;
        if length >= self.manifest.reports {
            self.reports_tried = self.manifest.summary.number;
            self.storage.remove(&name).map_err(WriteError::during(&path, "remove"))?;
            return Ok(false);
        }
        // The length of the file is told by what was committed: nothing may lie behind it.
        self.settle()?;
        self.storage.rename(&name, REPORTS).map_err(WriteError::during(&path, "rename"))?;
        self.manifest.reports = length;
        // Its name before the manifest, which has its length.
        self.unsettled.store(true, Ordering::Relaxed);
        self.storage.sync_dir().map_err(WriteError::during(&folder, "sync"))?;
        self.settle()?;
        Ok(true)
    }

    /// Puts other reports in the place of the committed ones, longer or not. Of use only where a stop does not matter: what it
    /// leaves is neither the old nor the new.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn put_reports(&mut self, mut next: FrameWriter) -> Result<(), CommitError> {
        let name = format!("{REPORTS}{UNFINISHED}");
        let length = next.sync()?;
        let path = self.storage.locate(&name);
        self.storage.rename(&name, REPORTS).map_err(WriteError::during(&path, "rename"))?;
        self.manifest.reports = length;
        self.unsettled.store(true, Ordering::Relaxed);
        self.storage.sync_dir().map_err(WriteError::during(self.storage.locate(""), "sync"))?;
        Ok(self.settle()?)
    }

    /// Appends a report; gives the length with it.
    pub(crate) fn append_report(&self, report: &[u8]) -> Result<u64, CommitError> {
        // As long as the manifest on disk has the length of replaced reports, nothing may be appended.
        self.settle()?;
        self.cut_reports()?;
        let path = self.storage.locate(REPORTS);
        let mut file = self.storage.append(REPORTS).map_err(WriteError::during(&path, "open"))?;
        let mut frame = Vec::new();
        crate::file::format::put_frame(&mut frame, FileKind::Reports, report);
        file.write(&frame).map_err(WriteError::during(&path, "write"))?;
        file.sync().map_err(WriteError::during(&path, "sync"))?;
        Ok(self.manifest.reports + frame.len() as u64)
    }

    /// Ends a replacement that a stop has interrupted.
    pub(crate) fn settle_reports(&mut self) -> Result<(), OpenError> {
        let source = open(&*self.storage)?;
        match committed(&source, &self.manifest)? {
            Some(length) if length != self.manifest.reports => {
                self.manifest.reports = length;
                self.unsettled.store(true, Ordering::Relaxed);
                Ok(self.settle()?)
            }
            Some(_) => Ok(()),
            None => Err(source.damaged(0, "it belongs to a later generation than MANIFEST").into()),
        }
    }

    /// Cuts what a commit that never came to its end left behind the committed reports.
    pub(crate) fn cut_reports(&self) -> Result<(), OpenError> {
        let source = open(&*self.storage)?;
        let length = source.length();
        if length < self.manifest.reports {
            let what = format!("it ends before byte {}, its committed length", self.manifest.reports);
            return Err(source.damaged(length, what).into());
        }
        if length > self.manifest.reports {
            let path = self.storage.locate(REPORTS);
            let mut file = self.storage.append(REPORTS).map_err(WriteError::during(&path, "open"))?;
            file.truncate(self.manifest.reports).map_err(WriteError::during(&path, "truncate"))?;
        }
        Ok(())
    }
}
