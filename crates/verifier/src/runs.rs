//! Sorted runs on disk, and reading them together in one order.

use crate::BatchError;
use crate::touch::{self, Touch};
use recrawl_repository::spill::{self, SpillReader, SpillWriter};
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle};
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::sync::Arc;

/// So many runs become one run, before the next is written. Each run that is read holds a file handle
/// and one frame in memory, so their number needs a limit; a batch of 64 times the memory limit is
/// still read only once.
const MAX_RUNS: usize = 64;

/// The sorted runs of one batch.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    storage: Arc<dyn Storage>,
    cycle: Cycle,
    /// In the order of the log: what is in an earlier run was logged earlier.
    parts: Vec<u32>,
    next: u32,
}

impl Runs {
    pub fn new(storage: Arc<dyn Storage>, cycle: Cycle) -> Runs {
        Runs { storage, cycle, parts: Vec::new(), next: 0 }
    }

    /// Writes a run.
    pub fn spill(&mut self, touches: BTreeMap<CanonicalUrl, Touch>) -> Result<(), BatchError> {
        if self.parts.len() == MAX_RUNS {
            let mut merged = self.clone().read(BTreeMap::new())?;
            let part = self.write(|| merged.next())?;
            merged.remove()?;
            self.parts = vec![part];
        }
        let mut touches = touches.into_iter();
        let part = self.write(|| Ok(touches.next()))?;
        self.parts.push(part);
        Ok(())
    }

    fn write(
        &mut self,
        mut next: impl FnMut() -> Result<Option<(CanonicalUrl, Touch)>, BatchError>,
    ) -> Result<u32, BatchError> {
        let part = self.next;
        self.next += 1;
        let mut writer = SpillWriter::create(&*self.storage, self.cycle, part)?;
        let mut bytes = Vec::new();
        while let Some((url, touch)) = next()? {
            if let Some(links) = &touch.links {
                bytes.clear();
                touch::put_links(&mut bytes, url, links);
                writer.push(&bytes)?;
            }
            for visit in &touch.visits {
                bytes.clear();
                touch::put_one_visit(&mut bytes, visit);
                writer.push(&bytes)?;
            }
        }
        writer.finish()?;
        Ok(part)
    }

    /// Opens all runs, with `rest` as the last of them.
    pub fn read(self, rest: BTreeMap<CanonicalUrl, Touch>) -> Result<SortedBatch, BatchError> {
        let mut sources = Vec::with_capacity(self.parts.len() + 1);
        for &part in &self.parts {
            sources
                .push(Source::Spilled { part, reader: SpillReader::open(&*self.storage, self.cycle, part)? });
        }
        sources.push(Source::Memory(rest.into_iter()));
        let mut batch = SortedBatch { runs: self, sources, heads: BTreeMap::new() };
        for source in 0..batch.sources.len() {
            batch.advance(source)?;
        }
        Ok(batch)
    }
}

enum Source {
    Spilled { part: u32, reader: SpillReader },
    Memory(btree_map::IntoIter<CanonicalUrl, Touch>),
}

/// A batch in the order of its URLs, to be read once.
pub struct SortedBatch {
    runs: Runs,
    sources: Vec<Source>,
    /// The next record of every source that has one. Of equal URLs the earlier source comes first,
    /// which keeps visits in the order of the log.
    heads: BTreeMap<(CanonicalUrl, usize), Touch>,
}

impl SortedBatch {
    /// The number of sorted runs that the batch has on disk; 0 when memory was enough.
    pub fn runs_on_disk(&self) -> usize {
        self.runs.parts.len()
    }

    /// The next URL with all that the batch says of it.
    pub(crate) fn next(&mut self) -> Result<Option<(CanonicalUrl, Touch)>, BatchError> {
        let Some(((url, source), mut touch)) = self.heads.pop_first() else { return Ok(None) };
        self.advance(source)?;
        while let Some(head) = self.heads.first_entry().filter(|head| head.key().0 == url) {
            let ((_, source), later) = head.remove_entry();
            touch.absorb(later);
            self.advance(source)?;
        }
        Ok(Some((url, touch)))
    }

    fn advance(&mut self, source: usize) -> Result<(), BatchError> {
        let next = match &mut self.sources[source] {
            Source::Memory(rest) => rest.next(),
            Source::Spilled { part, reader } => match reader.next_record()? {
                None => None,
                Some(record) => Some(touch::take(record).map_err(|malformed| BatchError::Malformed {
                    cycle: self.runs.cycle,
                    part: *part,
                    what: malformed.0,
                })?),
            },
        };
        if let Some((url, touch)) = next {
            self.heads.insert((url, source), touch);
        }
        Ok(())
    }

    /// Removes the runs.
    pub(crate) fn remove(self) -> Result<(), BatchError> {
        drop(self.sources);
        for &part in &self.runs.parts {
            spill::remove(&*self.runs.storage, self.runs.cycle, part)?;
        }
        Ok(())
    }
}

impl fmt::Debug for SortedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedBatch").field("runs", &self.runs).finish_non_exhaustive()
    }
}
