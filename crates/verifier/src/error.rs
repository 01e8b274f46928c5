//! What can go wrong with a batch and with a merge. Nothing committed is ever touched by either.

use recrawl_repository::{CommitError, ReadError, WriteError};
use recrawl_types::Cycle;
use std::fmt;

/// Gathering a batch failed, or reading back what was spilled of it. The cycle's log still has it all.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchError {
    /// A sorted run could not be written.
    Write(WriteError),
    /// The log or a sorted run could not be read.
    Read(ReadError),
    /// A sorted run holds a record without a record's form, although its checksum is right.
    Malformed {
        /// The cycle of the batch.
        cycle: Cycle,
        /// The run's number.
        part: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Of the links that wait for a later merge, a record has no record's form, although its checksum is right.
    MalformedWaiting {
        /// What is wrong with it.
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

/// Making the next generation's records failed. The generation that was read stays the current one.
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
