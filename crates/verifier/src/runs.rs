//! Sorted runs of a batch on disk.

use crate::BatchError;
use crate::gathered::LinkBuffer;
use crate::sorted::SortedBatch;
use crate::touch::{self, Touch};
use recrawl_repository::spill::{self, SpillReader, SpillWriter};
use recrawl_repository::storage::Storage;
use recrawl_types::{Cycle, DatedRound};
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum runs; at this number they are merged into one before the next is written. Each open run
/// takes a file handle and one frame in memory. A batch of up to 64 times the memory limit is read
/// only once.
const MAX_RUNS: usize = 64;

/// The sorted runs of one batch.
#[derive(Clone, Debug)]
pub(crate) struct BatchRuns {
    storage: Arc<dyn Storage>,
    round: DatedRound,
    /// In log order.
    parts: Vec<u32>,
    next: u32,
}

impl BatchRuns {
    /// No runs; the first one will have this number.
    pub fn new(storage: Arc<dyn Storage>, round: DatedRound, next: u32) -> BatchRuns {
        BatchRuns { storage, round, parts: Vec::new(), next }
    }

    pub fn cycle(&self) -> Cycle {
        self.round.cycle
    }

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Writes the sorted entries in memory as a run.
    pub fn spill(&mut self, gathered: &mut LinkBuffer) -> Result<(), BatchError> {
        if self.parts.len() == MAX_RUNS {
            let mut merged = SortedBatch::open(self.clone(), LinkBuffer::default(), HashSet::new())?;
            let part = self.write(|key| merged.next_touch(key))?;
            merged.remove()?;
            self.parts = vec![part];
        }
        let cycle = self.round.cycle;
        let part = self.write(|key| Ok(gathered.next(cycle, key)))?;
        self.parts.push(part);
        Ok(())
    }

    fn write(
        &mut self,
        mut next: impl FnMut(&mut Vec<u8>) -> Result<Option<Touch>, BatchError>,
    ) -> Result<u32, BatchError> {
        let part = self.next;
        self.next += 1;
        let mut writer = SpillWriter::create(&*self.storage, self.round.round, part)?;
        let (mut near, mut key, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(touch) = next(&mut key)? {
            if let Some(links) = &touch.links {
                bytes.clear();
                touch::put_links(&mut bytes, &near, &key, links);
                writer.push(&bytes)?;
            }
            for visit in &touch.visits {
                bytes.clear();
                touch::put_one_visit(&mut bytes, visit);
                writer.push(&bytes)?;
            }
            std::mem::swap(&mut near, &mut key);
        }
        writer.finish()?;
        Ok(part)
    }

    /// Opens the runs, each with its number, in log order.
    pub fn open(&self) -> Result<Vec<(u32, SpillReader)>, BatchError> {
        let open = |&part: &u32| Ok((part, SpillReader::open(&*self.storage, self.round.round, part)?));
        self.parts.iter().map(open).collect()
    }

    /// Removes the runs.
    pub fn remove(self) -> Result<(), BatchError> {
        for &part in &self.parts {
            spill::remove(&*self.storage, self.round.round, part)?;
        }
        Ok(())
    }
}
