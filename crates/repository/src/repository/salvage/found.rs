//! What a salvage found, and why there was none.

use crate::file::error::{CommitError, Damage, OpenError, WriteError};
use recrawl_types::{Cycle, Round};

/// What was saved and what was not.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// The generation that was saved; the new repository goes on with the round after it.
    pub generation: Round,
    /// The cycle of its round.
    pub cycle: Cycle,
    /// Was it the manifest that named it? Else it is the newest index that can be read, or the newest file.
    pub by_manifest: bool,
    /// Pages with all that was known of them.
    pub whole: u64,
    /// Pages as known URLs that were never visited.
    pub urls_only: u64,
    /// Pages that the manifest counts, or the blocks that are lost, and that are not there now.
    pub lost: u64,
    /// Where these were: ranges of keys, from the first to before the second, none for the end.
    pub lost_ranges: Vec<LostRange>,
    /// Reports of cycles.
    pub reports: u64,
    /// Visits kept for export.
    pub visits: u64,
    /// Links that wait for a merge.
    pub waiting: u64,
    /// Was the file saved that holds what operators decided?
    pub has_decisions: bool,
    /// All that was found damaged.
    pub damage: Vec<Damage>,
}

/// Pages that are gone with the block that they were in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The first page of the block.
    pub from: Vec<u8>,
    /// The first page behind it; none where there is none.
    pub to: Option<Vec<u8>>,
    /// Pages lost.
    pub pages: u64,
}

/// Salvaging was not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// The new folder has files already.
    #[error("{0}: has files already; name a new folder")]
    Occupied(String),
    /// There is nothing that a repository could be made of.
    #[error("{0}: no file of a committed generation found; nothing can be saved")]
    Nothing(String),
    /// The folder cannot be listed, is of another version, or the new one is in use.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The new folder takes no more.
    #[error(transparent)]
    Write(#[from] CommitError),
}

impl From<WriteError> for SalvageError {
    fn from(e: WriteError) -> SalvageError {
        SalvageError::Write(CommitError::Write(e))
    }
}
