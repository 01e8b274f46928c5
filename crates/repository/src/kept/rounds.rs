//! The kept visits of all committed rounds.

use crate::file::error::ReadError;
use crate::file::frames::Source;
use crate::kept;
use crate::kept::file::Kept;
use crate::kept::hosts::KeptHosts;
use crate::kept::visits::KeptVisits;
use crate::storage::Storage;
use recrawl_types::{DatedRound, Round};
use std::sync::Arc;

/// The committed rounds whose visits are kept, read beside whoever writes the next.
#[derive(Clone)]
pub struct KeptRounds {
    storage: Arc<dyn Storage>,
    committed: Round,
}

impl KeptRounds {
    /// In the storage of a repository whose current generation has the number `committed`.
    pub fn new(storage: Arc<dyn Storage>, committed: Round) -> KeptRounds {
        KeptRounds { storage, committed }
    }

    /// The rounds, oldest first.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<DatedRound>, ReadError> {
        self.rounds(Kept::Visits)
    }

    /// The rounds of which it is kept what hosts were asked, oldest first.
    ///
    /// # Errors
    /// As of [`KeptRounds::list`].
    pub fn list_hosts(&self) -> Result<Vec<DatedRound>, ReadError> {
        self.rounds(Kept::Hosts)
    }

    fn rounds(&self, kind: Kept) -> Result<Vec<DatedRound>, ReadError> {
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
    /// As of [`KeptRounds::list`].
    pub fn files(&self) -> Result<Vec<(DatedRound, u64)>, ReadError> {
        let mut files = Vec::new();
        for kept in self.list()? {
            match Source::open_unchecked(&*self.storage, &kept::visits::file(kept)) {
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
    pub fn visits(&self, kept: DatedRound) -> Result<Option<KeptVisits>, ReadError> {
        KeptVisits::open(&*self.storage, kept)
    }

    /// What hosts were asked in a round; none when it is not kept, or no longer.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hosts(&self, kept: DatedRound) -> Result<Option<KeptHosts>, ReadError> {
        KeptHosts::open(&*self.storage, kept)
    }

    /// The visits of a round from a frame on that [`KeptVisits::next_key`] told of. Each frame is checked then, but not that
    /// there are as many visits as there were.
    ///
    /// # Errors
    /// As of [`KeptRounds::visits`].
    pub fn visits_from(&self, kept: DatedRound, frame: u64) -> Result<Option<KeptVisits>, ReadError> {
        Ok(self.visits(kept)?.map(|visits| visits.from(frame)))
    }
}
