//! Gathering a batch: sorted in memory, and spilled to disk in sorted runs when it outgrows that.

use crate::BatchError;
use crate::gathered::Gathered;
use crate::runs::Runs;
use crate::sorted::SortedBatch;
use crate::touch::Links;
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, LogRecord, Visit};
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

/// How large a batch may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Memory for what is not yet on disk, in bytes, by an estimate that errs upwards. Beyond it the
    /// batch is written out as a sorted run. 0 writes out after every link.
    pub memory_bytes: usize,
}

impl Default for BatchLimits {
    /// 256 MiB: about two and a half million links.
    fn default() -> BatchLimits {
        BatchLimits { memory_bytes: 256 << 20 }
    }
}

/// The visits and links of a cycle, gathered in the order of the log.
#[derive(Debug)]
pub struct Batch {
    limits: BatchLimits,
    cycle: Cycle,
    gathered: Gathered,
    /// Origins of which a page is visited or a seed: one small entry each, also of what is on disk.
    main: HashSet<Box<[u8]>>,
    runs: Runs,
    threads: usize,
}

impl Batch {
    /// An empty batch of `cycle`; `storage` takes its runs.
    pub fn new(storage: Arc<dyn Storage>, cycle: Cycle, limits: BatchLimits) -> Batch {
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        Batch {
            limits,
            cycle,
            gathered: Gathered::default(),
            main: HashSet::new(),
            runs: Runs::new(storage, cycle),
            threads,
        }
    }

    /// Sorts on so many threads; the result does not depend on it.
    #[cfg(test)]
    pub(crate) fn on_threads(self, threads: usize) -> Batch {
        Batch { threads, ..self }
    }

    /// Adds one record of the log.
    ///
    /// # Errors
    /// Writing a run failed. The batch is then of no use; the log still has everything.
    pub fn add(&mut self, record: LogRecord) -> Result<(), BatchError> {
        match record {
            LogRecord::Seeds(links) => {
                for link in links {
                    let seed = Links::of(&link, true, self.cycle);
                    self.note_main(&link.url);
                    self.gathered.add_links(link.url.key(), &seed);
                    self.spill_if_full()?;
                }
            }
            LogRecord::Visit(mut visit) => {
                for link in std::mem::take(&mut visit.links) {
                    let found = Links::of(&link, false, self.cycle);
                    self.gathered.add_links(link.url.key(), &found);
                    self.spill_if_full()?;
                }
                self.add_visit(visit)?;
            }
        }
        Ok(())
    }

    fn add_visit(&mut self, visit: Box<Visit>) -> Result<(), BatchError> {
        self.note_main(&visit.url);
        self.gathered.add_visit(visit);
        self.spill_if_full()
    }

    fn note_main(&mut self, url: &CanonicalUrl) {
        if !self.main.contains(url.origin_key()) {
            self.main.insert(url.origin_key().into());
        }
    }

    fn spill_if_full(&mut self) -> Result<(), BatchError> {
        if self.gathered.bytes() > self.limits.memory_bytes || !self.gathered.has_room() {
            self.gathered.sort(self.threads);
            self.runs.spill(&mut self.gathered)?;
            self.gathered.clear();
        }
        Ok(())
    }

    /// Ends the batch.
    ///
    /// # Errors
    /// A run that was written could not be opened.
    pub fn finish(mut self) -> Result<SortedBatch, BatchError> {
        self.gathered.sort(self.threads);
        SortedBatch::open(self.runs, self.gathered, self.main)
    }
}

#[cfg(test)]
mod tests;
