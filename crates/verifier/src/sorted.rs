//! A batch in URL order: merges the part in memory, the runs, and the links that waited.

use crate::BatchError;
use crate::gathered::LinkBuffer;
use crate::runs::BatchRuns;
use crate::touch::{self, Touch};
use crate::touched::Touched;
use recrawl_repository::ReadError;
use recrawl_repository::spill::SpillReader;
use recrawl_types::{Cycle, shared_beginning};
use std::collections::HashSet;
use std::fmt;

/// A batch in URL order, to be read once.
pub struct SortedBatch {
    runs: BatchRuns,
    main: HashSet<Box<[u8]>>,
    sources: Vec<SortedSource>,
    /// Sources that have a next record; the one with the smallest key is last. Of equal keys, the
    /// source earlier in the log is last, which keeps visits in log order. Each with the number of
    /// bytes that its key shares with the next smaller one; the last, with the key that was given last.
    order: Vec<(usize, usize)>,
    key: Vec<u8>,
}

impl SortedBatch {
    /// Opens all runs; `rest`, sorted, is the last of them.
    pub(crate) fn open(
        runs: BatchRuns,
        rest: LinkBuffer,
        main: HashSet<Box<[u8]>>,
    ) -> Result<SortedBatch, BatchError> {
        let records = runs.open()?.into_iter().map(|(part, reader)| SortedRecords::Spilled(part, reader));
        let sources: Vec<SortedSource> =
            records.chain([SortedRecords::Memory(Box::new(rest))]).map(SortedSource::new).collect();
        let mut batch = SortedBatch { runs, main, sources, order: Vec::new(), key: Vec::new() };
        batch.begin(0)?;
        Ok(batch)
    }

    /// Adds the sorted links that waited since earlier cycles. Links of one URL combine in any
    /// order, so it does not matter that these are older.
    ///
    /// # Errors
    /// If their first record cannot be read.
    pub(crate) fn with_waiting(mut self, waiting: impl Waiting + 'static) -> Result<SortedBatch, BatchError> {
        self.sources.push(SortedSource::new(SortedRecords::Waiting(Box::new(waiting))));
        self.begin(self.sources.len() - 1)?;
        Ok(self)
    }

    /// Reads the first record of each source from number `from` on.
    fn begin(&mut self, from: usize) -> Result<(), BatchError> {
        (from..self.sources.len()).try_for_each(|source| self.advance(source, &[]))
    }

    /// Number of sorted runs on disk; 0 if the batch fitted in memory.
    pub fn runs_on_disk(&self) -> usize {
        self.runs.len()
    }

    /// Whether the batch visits or seeds a page of this origin
    /// ([`CanonicalUrl::origin_key`](recrawl_types::CanonicalUrl::origin_key)). Links to such an
    /// origin never wait.
    pub(crate) fn is_main(&self, origin: &[u8]) -> bool {
        self.main.contains(origin)
    }

    /// The key of the next URL; `None` at the end.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.order.last().map(|&(source, _)| &*self.sources[source].key)
    }

    /// Moves the next URL to the end of `out`; false at the end.
    pub(crate) fn next_into(&mut self, out: &mut Touched) -> Result<bool, BatchError> {
        let mut key = std::mem::take(&mut self.key);
        let touch = self.next_touch(&mut key)?;
        let is_found = touch.is_some();
        if let Some(touch) = touch {
            out.push(&key, touch);
        }
        self.key = key;
        Ok(is_found)
    }

    /// The next URL, with its links and visits; writes its key to `key`.
    pub(crate) fn next_touch(&mut self, key: &mut Vec<u8>) -> Result<Option<Touch>, BatchError> {
        let Some((first, _)) = self.order.pop() else { return Ok(None) };
        std::mem::swap(&mut self.sources[first].key, key);
        let mut touch = std::mem::take(&mut self.sources[first].touch);
        self.advance(first, key)?;
        let is_same = |sources: &[SortedSource], (source, shared): (usize, usize)| {
            shared == key.len() && sources[source].key.len() == shared
        };
        while let Some((source, _)) = self.order.pop_if(|next| is_same(&self.sources, *next)) {
            touch.absorb(std::mem::take(&mut self.sources[source].touch));
            self.advance(source, key)?;
        }
        Ok(Some(touch))
    }

    /// Reads the next record of a source, whose last key was `last`, and moves the source to its place in the order.
    /// Bytes are only compared where both keys share equally many with the next smaller one.
    fn advance(&mut self, source: usize, last: &[u8]) -> Result<(), BatchError> {
        if !self.sources[source].read(self.runs.cycle(), last)? {
            return Ok(());
        }
        let key = &self.sources[source].key;
        let (mut place, mut shared) = (self.order.len(), shared_beginning(last, key));
        while let Some((other, others)) = place.checked_sub(1).map(|at| &mut self.order[at]) {
            if shared > *others {
                break;
            }
            if shared == *others {
                let other_key = &self.sources[*other].key;
                let common = shared + shared_beginning(&key[shared..], &other_key[shared..]);
                if (key.get(common), source) < (other_key.get(common), *other) {
                    *others = common;
                    break;
                }
                shared = common;
            }
            place -= 1;
        }
        self.order.insert(place, (source, shared));
        Ok(())
    }

    /// Removes the runs.
    pub(crate) fn remove(self) -> Result<(), BatchError> {
        drop(self.sources);
        self.runs.remove()
    }
}

impl fmt::Debug for SortedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedBatch").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// Links that waited since earlier cycles: records as [`touch::put_links`] writes them, in key
/// order.
pub(crate) trait Waiting: Send {
    /// The next record; `None` at the end.
    fn next_record(&mut self) -> Result<Option<&[u8]>, ReadError>;
}

impl Waiting for SpillReader {
    fn next_record(&mut self) -> Result<Option<&[u8]>, ReadError> {
        SpillReader::next_record(self)
    }
}

enum SortedRecords {
    /// A run and its number.
    Spilled(u32, SpillReader),
    Memory(Box<LinkBuffer>),
    Waiting(Box<dyn Waiting>),
}

struct SortedSource {
    records: SortedRecords,
    /// The next URL, with this source's links and visits.
    key: Vec<u8>,
    touch: Touch,
}

impl SortedSource {
    fn new(records: SortedRecords) -> SortedSource {
        SortedSource { records, key: Vec::new(), touch: Touch::default() }
    }

    /// Reads the next URL behind `last`; false at the end.
    fn read(&mut self, cycle: Cycle, last: &[u8]) -> Result<bool, BatchError> {
        let key = &mut self.key;
        let touch = match &mut self.records {
            SortedRecords::Memory(gathered) => gathered.next(cycle, key),
            SortedRecords::Spilled(part, reader) => {
                let malformed = |what| BatchError::Malformed { cycle, part: *part, what };
                let record = reader.next_record()?;
                record.map(|record| touch::take(record, last, key)).transpose().map_err(|e| malformed(e.0))?
            }
            SortedRecords::Waiting(reader) => {
                let record = reader.next_record()?;
                let touch = record.map(|record| touch::take(record, last, key)).transpose();
                match touch.map_err(|e| BatchError::MalformedWaiting { what: e.0 })? {
                    Some(touch) if touch.links.is_none() => {
                        return Err(BatchError::MalformedWaiting { what: "it holds a visit" });
                    }
                    touch => touch,
                }
            }
        };
        let is_found = touch.is_some();
        self.touch = touch.unwrap_or_default();
        Ok(is_found)
    }
}
