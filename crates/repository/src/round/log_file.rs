//! A file of a round that only grows, a frame a record, each in one write: the visit log, the request log and the log of
//! requisites.

use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, HEADER_BYTES, MAX_FRAME_BYTES, header, put_frame};
use crate::file::frames::{FrameReader, FrameSource};
use crate::repository::sound_length;
use crate::storage::{Storage, WriteFile};
use recrawl_types::{Round, Size};
use std::io;

/// A log could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be read, or is damaged before its tail.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be made or cut.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The file, open for appending.
pub(crate) struct LogFile {
    path: String,
    kind: FileKind,
    file: Box<dyn WriteFile>,
    frame: Vec<u8>,
    /// Bytes in the file, and how many of them are durable.
    length: u64,
    synced: u64,
    /// A write failed: what came behind half a record would be cut off with it.
    broken: bool,
}

impl LogFile {
    /// The file that an earlier run of the round began; none if there is none, or no more of it than a header that is
    /// not sound: then the crash came while the file was made.
    pub fn begun(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        round: Round,
    ) -> Result<Option<FrameSource>, ReadError> {
        let source = match FrameSource::open_unchecked(storage, name) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let checked = source.check_header(kind, round);
        if checked.is_err() && source.length() <= HEADER_BYTES as u64 {
            return Ok(None);
        }
        checked.map(|_| Some(source))
    }

    /// Opens the round's file, or begins it. A torn tail, as a crash leaves it, is cut off.
    pub fn open(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        round: Round,
    ) -> Result<LogFile, LogError> {
        Ok(match LogFile::begun(storage, name, kind, round)? {
            None => LogFile::create(storage, name, kind, round)?,
            Some(source) => {
                let sound = sound_length(&source, kind)?;
                LogFile::resume(storage, name, kind, sound, source.length())?
            }
        })
    }

    /// The sound frames of a file that was begun.
    pub fn sound(source: FrameSource, kind: FileKind) -> Result<FrameReader, ReadError> {
        let sound = sound_length(&source, kind)?;
        Ok(FrameReader::over(source, kind, sound))
    }

    /// Makes the file with its header, durable with its name.
    pub fn create(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        round: Round,
    ) -> Result<LogFile, WriteError> {
        let path = storage.locate(name);
        let mut file = storage.create(name).map_err(WriteError::during(&path, "create"))?;
        file.write(&header(kind, round)).map_err(WriteError::during(&path, "write"))?;
        LogFile::over(storage, path, kind, file, HEADER_BYTES as u64, 0)
    }

    /// Goes on behind the first `sound` bytes of a file of `length`; the rest is cut off.
    pub fn resume(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        sound: u64,
        length: u64,
    ) -> Result<LogFile, WriteError> {
        let path = storage.locate(name);
        let mut file = storage.append(name).map_err(WriteError::during(&path, "open"))?;
        if length > sound {
            file.truncate(sound).map_err(WriteError::during(&path, "truncate"))?;
        }
        LogFile::over(storage, path, kind, file, sound, sound)
    }

    fn over(
        storage: &dyn Storage,
        path: String,
        kind: FileKind,
        file: Box<dyn WriteFile>,
        length: u64,
        synced: u64,
    ) -> Result<LogFile, WriteError> {
        let mut log = LogFile { path, kind, file, frame: Vec::new(), length, synced, broken: false };
        // Also of a file found: the run that wrote it may not have come so far.
        log.sync()?;
        storage.sync_dir().map_err(WriteError::during(&log.path, "sync"))?;
        Ok(log)
    }

    /// Appends a record, in one write. It survives the process at once, and the machine after [`LogFile::sync`].
    ///
    /// # Errors
    /// When the record is longer than [`MAX_FRAME_BYTES`], or the disk takes no more. A part of the
    /// record may be in the file then: every further call fails, and the next start cuts it off.
    pub fn append(&mut self, payload: &[u8]) -> Result<(), WriteError> {
        if self.broken {
            return Err(WriteError::after_failure(&self.path));
        }
        if payload.len() > MAX_FRAME_BYTES {
            let what = format!("a record of {} is too long", Size(payload.len() as u64).rounded());
            let source = io::Error::new(io::ErrorKind::InvalidInput, what);
            return Err(WriteError { file: self.path.clone(), action: "write", source });
        }
        self.frame.clear();
        put_frame(&mut self.frame, self.kind, payload);
        self.broken = true;
        self.file.write(&self.frame).map_err(WriteError::during(&self.path, "write"))?;
        self.length += self.frame.len() as u64;
        self.broken = false;
        Ok(())
    }

    /// Makes all records durable.
    ///
    /// # Errors
    /// When the disk refuses, now or before: what a failed sync lost, a second one does not bring back. It is cut
    /// off, as it could still be read for a while, and a later run would write behind it.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        if self.broken {
            return Err(WriteError::after_failure(&self.path));
        }
        self.broken = true;
        if let Err(e) = self.file.sync() {
            // The error that is told is the one that came first.
            let _ = self.file.truncate(self.synced);
            return Err(WriteError::during(&self.path, "sync")(e));
        }
        self.synced = self.length;
        self.broken = false;
        Ok(())
    }
}
