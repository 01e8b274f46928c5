//! Errors of batches and merges. Neither changes committed files.

use recrawl_repository::{CommitError, ReadError, WriteError};
use recrawl_types::Cycle;
use std::fmt;

/// A batch could not be gathered or read back. The cycle's log still has every record.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchError {
    /// A sorted run could not be written.
    Write(WriteError),
    /// The log or a sorted run could not be read.
    Read(ReadError),
    /// A record of a sorted run cannot be decoded although its checksum is right.
    Malformed {
        /// The cycle of the batch.
        cycle: Cycle,
        /// The run's number.
        part: u32,
        /// The damage.
        what: &'static str,
    },
    /// A record of the waiting links cannot be decoded although its checksum is right.
    MalformedWaiting {
        /// The damage.
        what: &'static str,
    },
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchError::Write(e) => e.fmt(f),
            BatchError::Read(e) => e.fmt(f),
            BatchError::Malformed { cycle, part, what } => write!(
                f,
                "sorted run {part} of cycle {cycle} is malformed ({what}); restart to rebuild it from the log"
            ),
            BatchError::MalformedWaiting { what } => {
                write!(
                    f,
                    "a link that waits for a later merge is malformed ({what}); run `recrawl repository verify`"
                )
            }
        }
    }
}

impl std::error::Error for BatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BatchError::Write(e) => Some(e),
            BatchError::Read(e) => Some(e),
            BatchError::Malformed { .. } | BatchError::MalformedWaiting { .. } => None,
        }
    }
}

impl From<WriteError> for BatchError {
    fn from(e: WriteError) -> BatchError {
        BatchError::Write(e)
    }
}

impl From<ReadError> for BatchError {
    fn from(e: ReadError) -> BatchError {
        BatchError::Read(e)
    }
}

/// The merge failed. The generation that was read stays the current one.
#[derive(Debug)]
#[non_exhaustive]
pub enum MergeError {
    /// The generation could not be read.
    Read(ReadError),
    /// The next one could not be written.
    Write(WriteError),
    /// The batch could not be read.
    Batch(BatchError),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Read(e) => e.fmt(f),
            MergeError::Write(e) => e.fmt(f),
            MergeError::Batch(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for MergeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MergeError::Read(e) => Some(e),
            MergeError::Write(e) => Some(e),
            MergeError::Batch(e) => Some(e),
        }
    }
}

impl From<ReadError> for MergeError {
    fn from(e: ReadError) -> MergeError {
        MergeError::Read(e)
    }
}

impl From<WriteError> for MergeError {
    fn from(e: WriteError) -> MergeError {
        MergeError::Write(e)
    }
}

impl From<CommitError> for MergeError {
    fn from(e: CommitError) -> MergeError {
        match e {
            CommitError::Read(e) => MergeError::Read(e),
            CommitError::Write(e) => MergeError::Write(e),
        }
    }
}

impl From<BatchError> for MergeError {
    fn from(e: BatchError) -> MergeError {
        MergeError::Batch(e)
    }
}
