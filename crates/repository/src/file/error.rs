//! Errors of the repository, one type per operation, each with the file, the place and the cause.

use crate::file::format::OLDEST_VERSION;
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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system reported an error.
    #[error("{file}: cannot read: {source}{}", remedy_of_absence(.source))]
    Io {
        /// The file.
        file: String,
        /// Its error.
        source: io::Error,
    },
    /// The data differs from what was written. Restore the data folder from a backup, or run
    /// `recrawl repository verify` for a full list.
    #[error("{0}; `recrawl repository verify` lists all damage and says what to do")]
    Damaged(Damage),
}

/// The remedy of a file that should be there.
fn remedy_of_absence(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; `recrawl repository verify` says what to do",
        _ => "",
    }
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
#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot {action}: {source}{}", remedy(.source.kind()))]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// What failed: "write", "sync" …
    pub action: &'static str,
    /// The error of the operating system.
    pub source: io::Error,
}

impl WriteError {
    pub(crate) fn during(
        file: impl Into<String>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> WriteError {
        move |source| WriteError { file: file.into(), action, source }
    }

    /// For a file whose end is unknown after an earlier failure.
    pub(crate) fn after_failure(file: &str) -> WriteError {
        let source = io::Error::other("an earlier write failed; open it again");
        WriteError { file: file.to_owned(), action: "write", source }
    }
}

/// What to do about an error of the disk.
fn remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull => "; free disk space and restart, nothing is lost",
        io::ErrorKind::ReadOnlyFilesystem => "; mount the disk read-write and restart",
        _ => "",
    }
}

impl From<WriteError> for io::Error {
    fn from(e: WriteError) -> io::Error {
        io::Error::new(e.source.kind(), e)
    }
}

/// Opening a repository failed. Nothing was changed, except that leftovers may have been removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the data folder.
    #[error("{0}: in use by another process; stop that one first")]
    InUse(String),
    /// There is no repository.
    #[error("{0}: not found; there is no crawl in this folder")]
    Absent(String),
    /// It was written by another version of the program.
    #[error(
        "{file}: written in format version {found}, this program reads versions {OLDEST_VERSION} to \
         {supported}; use the version that wrote it"
    )]
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
    #[error(
        "{}: {}; without this file of takedowns, blocks and pauses, such pages would be fetched again. \
         Restore it from a backup or a snapshot, or write {{}} into it to start without any",
        .0.file, .0.what
    )]
    Undecided(Damage),
    /// Reading failed.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// Writing failed.
    #[error("{0}")]
    Write(#[from] WriteError),
}

/// Creating a new generation failed. The committed one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// It could not be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// It was written but could not be read again.
    #[error("{0}")]
    Read(#[from] ReadError),
}
