//! Gathering a batch: sorted in memory, and spilled to disk in sorted runs when it outgrows that.

use crate::BatchError;
use crate::runs::{Runs, SortedBatch};
use crate::touch::{Links, Touch};
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, LogRecord, Visit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How large a batch may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Memory for what is not yet on disk, in bytes, by an estimate that errs upwards. Beyond it the
    /// batch is written out as a sorted run. 0 writes out after every URL.
    pub memory_bytes: usize,
}

impl Default for BatchLimits {
    /// 256 MiB: about a million distinct URLs.
    fn default() -> BatchLimits {
        BatchLimits { memory_bytes: 256 << 20 }
    }
}

/// The visits and links of a cycle, gathered in the order of the log.
#[derive(Debug)]
pub struct Batch {
    limits: BatchLimits,
    touches: BTreeMap<CanonicalUrl, Touch>,
    bytes: usize,
    runs: Runs,
}

/// A URL's entry in the tree, a third of the tree's room being empty, and the allocator's overhead.
const ENTRY_BYTES: usize = 2 * (size_of::<CanonicalUrl>() + size_of::<Touch>()) + 32;

impl Batch {
    /// An empty batch of `cycle`; `storage` takes its runs.
    pub fn new(storage: Arc<dyn Storage>, cycle: Cycle, limits: BatchLimits) -> Batch {
        Batch { limits, touches: BTreeMap::new(), bytes: 0, runs: Runs::new(storage, cycle) }
    }

    /// Adds one record of the log. Links to one URL are combined at once, so a batch holds each URL
    /// once however many pages link to it.
    ///
    /// # Errors
    /// Writing a run failed. The batch is then of no use; the log still has everything.
    pub fn add(&mut self, record: LogRecord) -> Result<(), BatchError> {
        match record {
            LogRecord::Seeds(links) => {
                for link in links {
                    let seed = Links::of(&link, true);
                    self.touch(link.url, |touch| touch.add_links(seed))?;
                }
            }
            LogRecord::Visit(mut visit) => {
                for link in std::mem::take(&mut visit.links) {
                    let found = Links::of(&link, false);
                    self.touch(link.url, |touch| touch.add_links(found))?;
                }
                self.bytes += visit_bytes(&visit);
                self.touch(visit.url.clone(), |touch| touch.add_visit(*visit))?;
            }
        }
        Ok(())
    }

    fn touch(&mut self, url: CanonicalUrl, change: impl FnOnce(&mut Touch)) -> Result<(), BatchError> {
        let key_bytes = url.key().len();
        let touch = self.touches.entry(url).or_insert_with(|| {
            self.bytes += ENTRY_BYTES + key_bytes;
            Touch::default()
        });
        change(touch);
        if self.bytes > self.limits.memory_bytes {
            self.bytes = 0;
            self.runs.spill(std::mem::take(&mut self.touches))?;
        }
        Ok(())
    }

    /// Ends the batch.
    ///
    /// # Errors
    /// A run that was written could not be opened.
    pub fn finish(self) -> Result<SortedBatch, BatchError> {
        self.runs.read(self.touches)
    }
}

/// What a visit takes beside its URL's entry.
fn visit_bytes(visit: &Visit) -> usize {
    let validators = visit.content.as_ref().map_or(0, |content| {
        let length = |v: &Option<Box<str>>| v.as_ref().map_or(0, |v| v.len() + 16);
        length(&content.validators.etag) + length(&content.validators.last_modified)
    });
    size_of::<Visit>() + visit.url.key().len() + validators + 32
}
