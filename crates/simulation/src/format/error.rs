//! Errors of reading and writing data sets.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A data set could not be read or written: what, where, what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The disk or the compression failed.
    #[error(fmt = fmt_io)]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Number of lines read before, if it was read by line.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}: {what}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong, and what is expected.
        what: String,
    },
    /// The file or folder as a whole cannot be used.
    #[error("{}: {what}", .path.display())]
    Whole {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The format name is unknown.
    #[error("unknown format {name:?}; use {}", super::names(|_| true))]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// The format cannot be detected.
    #[error("{}: unknown data set format; set --format ({})", .path.display(), super::names(|_| true))]
    Unrecognised {
        /// The file or folder.
        path: PathBuf,
    },
    /// The format is read only.
    #[error("format {format} is read only; use {}", super::names(|format| format.write.is_some()))]
    NotWritten {
        /// Name of the format.
        format: &'static str,
    },
    /// The format has fixed cycles, or the length is 0.
    #[error(
        "format {format} does not support this cycle length; only {} do, in whole seconds",
        super::names(|format| format.timed)
    )]
    CycleLength {
        /// Name of the format.
        format: &'static str,
    },
    /// The data set has no contents.
    #[error("{}: the data set has no contents of pages: no file {}", .path.display(), super::native::CONTENTS)]
    NoContents {
        /// The folder or file of the data set.
        path: PathBuf,
    },
    /// The folder of a new data set cannot be created.
    #[error("cannot create the folder of {}: {source}", .of.display())]
    Folder {
        /// The new data set.
        of: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path exists.
    #[error("{}: exists already and is not overwritten; use another name", .path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
}

impl DatasetError {
    /// Whether the arguments are wrong, not the data. Nothing was written then.
    pub fn is_usage(&self) -> bool {
        match self {
            DatasetError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            DatasetError::Line { .. } | DatasetError::Whole { .. } | DatasetError::Folder { .. } => false,
            _ => true,
        }
    }

    /// For `map_err`: adds the file.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> DatasetError + use<> {
        let path = path.to_owned();
        move |source| DatasetError::Io { path, line: 0, source }
    }

    /// An error about the file or folder as a whole.
    pub fn whole(path: &Path, what: impl Into<String>) -> DatasetError {
        DatasetError::Whole { path: path.to_owned(), what: what.into() }
    }
}

/// The text of [`DatasetError::Io`].
fn fmt_io(path: &Path, line: &u64, source: &io::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}: ", path.display())?;
    if *line > 0 {
        write!(f, "after line {line}: ")?;
    }
    match source.kind() {
        io::ErrorKind::UnexpectedEof => {
            write!(f, "the compressed data ends too early: the file is cut off; fetch it again")
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            write!(f, "the compressed data is damaged ({source}); fetch the file again")
        }
        _ => write!(f, "{source}"),
    }
}
