//! The kept visits of all committed cycles.

use crate::error::ReadError;
use crate::frames::Source;
use crate::kept_visits::{self, KeptVisits};
use crate::storage::Storage;
use recrawl_types::Cycle;
use std::sync::Arc;

/// The committed cycles whose visits are kept, read beside whoever writes the next.
#[derive(Clone)]
pub struct KeptCycles {
    storage: Arc<dyn Storage>,
    committed: Cycle,
}

impl KeptCycles {
    /// In the storage of a repository whose current generation has the number `committed`.
    pub fn new(storage: Arc<dyn Storage>, committed: Cycle) -> KeptCycles {
        KeptCycles { storage, committed }
    }

    /// The cycles, oldest first.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<Cycle>, ReadError> {
        let names = self.storage.list().map_err(ReadError::io(self.storage.locate("")))?;
        let kept = names.iter().filter_map(|name| kept_visits::cycle_in(name));
        // One that is being written is not committed.
        let mut cycles: Vec<Cycle> = kept.filter(|cycle| *cycle <= self.committed).collect();
        cycles.sort_unstable();
        Ok(cycles)
    }

    /// The cycles with the lengths of their files in bytes.
    ///
    /// # Errors
    /// As of [`KeptCycles::list`].
    pub fn files(&self) -> Result<Vec<(Cycle, u64)>, ReadError> {
        let mut files = Vec::new();
        for cycle in self.list()? {
            match Source::open_unchecked(&*self.storage, &kept_visits::file(cycle)) {
                Ok(source) => files.push((cycle, source.length())),
                // A commit removed the oldest just now.
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    /// The visits of a cycle; none when they are not kept, or no longer.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn visits(&self, cycle: Cycle) -> Result<Option<KeptVisits>, ReadError> {
        KeptVisits::open(&*self.storage, cycle)
    }

    /// The visits of a cycle from a frame on that [`KeptVisits::next_key`] told of. Each frame is checked then, but not that
    /// there are as many visits as there were.
    ///
    /// # Errors
    /// As of [`KeptCycles::visits`].
    pub fn visits_from(&self, cycle: Cycle, frame: u64) -> Result<Option<KeptVisits>, ReadError> {
        Ok(self.visits(cycle)?.map(|visits| visits.from(frame)))
    }
}
