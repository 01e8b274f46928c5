//! Errors of the repository, one type per operation, each with the file, the place and the cause.

use crate::format::OLDEST_VERSION;
use std::fmt;
use std::io;

/// A file, or a part of one, does not hold what was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: String,
    /// Byte offset of the damaged part.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: damaged at byte {}: {}", self.file, self.offset, self.what)
    }
}

/// Reading stored data failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system reported an error.
    Io {
        /// The file.
        file: String,
        /// Its error.
        source: io::Error,
    },
    /// The data differs from what was written. Restore the data folder from a backup, or run
    /// `recrawl repository verify` for a full list.
    Damaged(Damage),
}

impl ReadError {
    pub(crate) fn io(file: impl Into<String>) -> impl FnOnce(io::Error) -> ReadError {
        move |source| ReadError::Io { file: file.into(), source }
    }

    pub(crate) fn damaged(file: &str, offset: u64, what: impl Into<String>) -> ReadError {
        ReadError::Damaged(Damage { file: file.to_owned(), offset, what: what.into() })
    }

    /// The damage; an error of the operating system counts as damage at the start of the file.
    pub fn into_damage(self) -> Damage {
        match self {
            ReadError::Damaged(damage) => damage,
            ReadError::Io { file, source } => {
                Damage { file, offset: 0, what: format!("cannot be read: {source}") }
            }
        }
    }

    /// Does the file not exist?
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, ReadError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io { file, source } => write!(f, "{file}: cannot read: {source}"),
            ReadError::Damaged(damage) => {
                write!(f, "{damage}; restore it from a backup (`recrawl repository verify` lists all damage)")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { source, .. } => Some(source),
            ReadError::Damaged(_) => None,
        }
    }
}

impl From<ReadError> for io::Error {
    fn from(e: ReadError) -> io::Error {
        let kind = match &e {
            ReadError::Io { source, .. } => source.kind(),
            ReadError::Damaged(_) => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, e)
    }
}

/// Writing failed. Committed data is unchanged.
#[derive(Debug)]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// What failed: "write", "sync" …
    pub action: &'static str,
    /// The error of the operating system.
    pub source: io::Error,
}

impl WriteError {
    pub(crate) fn of(file: impl Into<String>, action: &'static str) -> impl FnOnce(io::Error) -> WriteError {
        move |source| WriteError { file: file.into(), action, source }
    }

    /// For a file whose end is unknown after an earlier failure.
    pub(crate) fn after_failure(file: &str) -> WriteError {
        let source = io::Error::other("an earlier write failed; open it again");
        WriteError { file: file.to_owned(), action: "write", source }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot {}: {}", self.file, self.action, self.source)?;
        match self.source.kind() {
            io::ErrorKind::StorageFull => f.write_str("; free disk space and restart, nothing is lost"),
            io::ErrorKind::ReadOnlyFilesystem => f.write_str("; mount the disk read-write and restart"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<WriteError> for io::Error {
    fn from(e: WriteError) -> io::Error {
        io::Error::new(e.source.kind(), e)
    }
}

/// Opening a repository failed. Nothing was changed, except that leftovers may have been removed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the data folder.
    InUse(String),
    /// There is no repository.
    Absent(String),
    /// It was written by another version of the program.
    Version {
        /// The manifest.
        file: String,
        /// The version found.
        found: u32,
        /// The version that this program writes; it also reads those since [`OLDEST_VERSION`].
        supported: u32,
    },
    /// The file of decisions is missing or damaged; without it, pages that were taken down would be
    /// fetched again.
    Undecided(Damage),
    /// Reading failed.
    Read(ReadError),
    /// Writing failed.
    Write(WriteError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::InUse(dir) => write!(f, "{dir}: in use by another process; stop that one first"),
            OpenError::Absent(file) => write!(f, "{file}: not found; there is no crawl in this folder"),
            OpenError::Version { file, found, supported } => write!(
                f,
                "{file}: written in format version {found}, this program reads versions {OLDEST_VERSION} to \
                 {supported}; use the version that wrote it"
            ),
            OpenError::Undecided(Damage { file, what, .. }) => write!(
                f,
                "{file}: {what}; without this file of takedowns, blocks and pauses, such pages would be \
                 fetched again. Restore it from a backup or a snapshot, or write {{}} into it to start \
                 without any"
            ),
            OpenError::Read(e) => e.fmt(f),
            OpenError::Write(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Read(e) => Some(e),
            OpenError::Write(e) => Some(e),
            _ => None,
        }
    }
}

impl From<ReadError> for OpenError {
    fn from(e: ReadError) -> OpenError {
        OpenError::Read(e)
    }
}

impl From<WriteError> for OpenError {
    fn from(e: WriteError) -> OpenError {
        OpenError::Write(e)
    }
}

/// Creating a new generation failed. The committed one is unchanged.
#[derive(Debug)]
pub enum CommitError {
    /// It could not be written.
    Write(WriteError),
    /// It was written but could not be read again.
    Read(ReadError),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Write(e) => e.fmt(f),
            CommitError::Read(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for CommitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CommitError::Write(e) => Some(e),
            CommitError::Read(e) => Some(e),
        }
    }
}

impl From<WriteError> for CommitError {
    fn from(e: WriteError) -> CommitError {
        CommitError::Write(e)
    }
}

impl From<ReadError> for CommitError {
    fn from(e: ReadError) -> CommitError {
        CommitError::Read(e)
    }
}
