//! Errors of batches and merges. Neither changes committed files.

use recrawl_repository::{CommitError, ReadError, WriteError};
use recrawl_types::Cycle;

/// A batch could not be gathered or read back. The cycle's log still has every record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A sorted run could not be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The log or a sorted run could not be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The pages that a log calls skipped cannot be read from the schedule.
    #[error("the schedule cannot be read: {0}")]
    Schedule(#[from] std::io::Error),
    /// A record of a sorted run cannot be decoded although its checksum is right.
    #[error("sorted run {part} of cycle {cycle} is malformed ({what}); restart to rebuild it from the log")]
    Malformed {
        /// The cycle of the batch.
        cycle: Cycle,
        /// The run's number.
        part: u32,
        /// The damage.
        what: &'static str,
    },
    /// A record of the waiting links cannot be decoded although its checksum is right.
    #[error("a link that waits for a later merge is malformed ({what}); run `recrawl repository verify`")]
    MalformedWaiting {
        /// The damage.
        what: &'static str,
    },
}

/// The merge failed. The generation that was read stays the current one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The generation could not be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The next one could not be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The batch could not be read.
    #[error("{0}")]
    Batch(#[from] BatchError),
}

impl From<CommitError> for MergeError {
    fn from(e: CommitError) -> MergeError {
        match e {
            CommitError::Read(e) => MergeError::Read(e),
            CommitError::Write(e) => MergeError::Write(e),
        }
    }
}
