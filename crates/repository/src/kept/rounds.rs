//! The kept visits of all committed rounds.

use crate::file::error::ReadError;
use crate::file::frames::FrameSource;
use crate::kept::file::StoredKind;
use crate::kept::hosts::StoredHosts;
use crate::kept::visits::StoredVisits;
use crate::storage::Storage;
use recrawl_types::{DatedRound, Round};
use std::sync::Arc;

/// The committed rounds whose visits are kept, read beside whoever writes the next.
#[derive(Clone)]
pub struct StoredRounds {
    storage: Arc<dyn Storage>,
    committed: Round,
}

impl StoredRounds {
    /// In the storage of a repository whose current generation has the number `committed`.
    pub fn new(storage: Arc<dyn Storage>, committed: Round) -> StoredRounds {
        StoredRounds { storage, committed }
    }

    /// The rounds, oldest first.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<DatedRound>, ReadError> {
        self.rounds(StoredKind::Visits)
    }

    /// The rounds of which it is kept what hosts were asked, oldest first.
    ///
    /// # Errors
    /// As of [`StoredRounds::list`].
    pub fn list_hosts(&self) -> Result<Vec<DatedRound>, ReadError> {
        self.rounds(StoredKind::Hosts)
    }

    pub(crate) fn rounds(&self, kind: StoredKind) -> Result<Vec<DatedRound>, ReadError> {
        let names = self.storage.list().map_err(ReadError::io(self.storage.locate("")))?;
        let kept = names.iter().filter_map(|name| kind.round_in(name));
        // One that is being written is not committed.
        let mut rounds: Vec<DatedRound> = kept.filter(|kept| kept.round <= self.committed).collect();
        rounds.sort_unstable();
        Ok(rounds)
    }

    /// The rounds with the lengths of their files in bytes.
    ///
    /// # Errors
    /// As of [`StoredRounds::list`].
    pub fn files(&self) -> Result<Vec<(DatedRound, u64)>, ReadError> {
        let mut files = Vec::new();
        for kept in self.list()? {
            match FrameSource::open_unchecked(&*self.storage, &StoredKind::Visits.file(kept)) {
                Ok(source) => files.push((kept, source.length())),
                // A commit removed the oldest just now.
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    /// The visits of a round; none when they are not kept, or no longer.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn visits(&self, kept: DatedRound) -> Result<Option<StoredVisits>, ReadError> {
        StoredVisits::open(&*self.storage, kept)
    }

    /// What hosts were asked in a round; none when it is not kept, or no longer.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hosts(&self, kept: DatedRound) -> Result<Option<StoredHosts>, ReadError> {
        StoredHosts::open(&*self.storage, kept)
    }

    /// The visits of a round from a frame on that `StoredVisits::next_key` told of. Each frame is checked then, but not that
    /// there are as many visits as there were.
    ///
    /// # Errors
    /// As of [`StoredRounds::visits`].
    pub fn visits_from(&self, kept: DatedRound, frame: u64) -> Result<Option<StoredVisits>, ReadError> {
        Ok(self.visits(kept)?.map(|visits| visits.from(frame)))
    }
}
