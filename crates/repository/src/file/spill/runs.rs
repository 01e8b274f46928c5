//! Spill files for whoever writes and reads bytes and knows no disk.

use super::{SpillReader, SpillWriter, remove};
use crate::storage::Storage;
use recrawl_types::{Round, Spill};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The spill files of a round, as long as its batch needs none. What a crash leaves behind goes when the repository is opened
/// again.
#[derive(Debug)]
pub struct SpillRuns {
    storage: Arc<dyn Storage>,
    round: Round,
    /// Added to the numbers of runs.
    first: u32,
    /// Runs on disk.
    parts: BTreeSet<u32>,
}

impl SpillRuns {
    /// No runs, of `round`.
    pub fn new(storage: Arc<dyn Storage>, round: Round) -> SpillRuns {
        SpillRuns::of_plan(storage, round, 0)
    }

    /// No runs, of one of several plans of `round` that are made at once. Each has room for 2²⁴ runs.
    pub fn of_plan(storage: Arc<dyn Storage>, round: Round, plan: u32) -> SpillRuns {
        SpillRuns { storage, round, first: plan << 24, parts: BTreeSet::new() }
    }
}

impl Spill for SpillRuns {
    fn create(&mut self, run: u32) -> io::Result<Box<dyn Write>> {
        let run = self.first + run;
        let records = SpillWriter::create(&*self.storage, self.round, run)?;
        self.parts.insert(run);
        Ok(Box::new(RunWriter(Some(records))))
    }

    fn take(&mut self, run: u32) -> io::Result<Box<dyn Read>> {
        let run = self.first + run;
        let records = SpillReader::open(&*self.storage, self.round, run)?;
        // What is open stays readable.
        remove(&*self.storage, self.round, run)?;
        self.parts.remove(&run);
        Ok(Box::new(RunReader { records, record: Vec::new(), at: 0 }))
    }
}

impl Drop for SpillRuns {
    fn drop(&mut self) {
        for &part in &self.parts {
            if let Err(error) = remove(&*self.storage, self.round, part) {
                tracing::warn!(%error, "cannot remove a spill file; the next start removes it");
            }
        }
    }
}

/// What is written at once becomes a record.
struct RunWriter(Option<SpillWriter>);

impl Write for RunWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let records = self.0.as_mut().ok_or_else(|| io::Error::other("the run is complete"))?;
        records.push(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), |records| Ok(records.finish()?))
    }
}

/// Records as one stream of bytes.
struct RunReader {
    records: SpillReader,
    record: Vec<u8>,
    at: usize,
}

impl Read for RunReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.record.len() {
            let Some(record) = self.records.next_record()? else { return Ok(0) };
            self.record.clear();
            self.record.extend_from_slice(record);
            self.at = 0;
        }
        let length = buffer.len().min(self.record.len() - self.at);
        buffer[..length].copy_from_slice(&self.record[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}
