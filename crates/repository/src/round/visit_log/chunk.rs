//! Consecutive records of a log, in buffers that serve again.

use crate::file::bytes::Malformed;
use crate::generation::codec::{LinkRef, PackedLinks, take_log_record_apart};
use recrawl_types::LogRecord;

/// With so many bytes of keys, or with so many records, a chunk is full.
const CHUNK: usize = 1 << 20;
const CHUNK_RECORDS: usize = 1 << 12;

/// Consecutive records of a log. Their links lie apart from them.
#[derive(Debug, Default)]
pub struct LogChunk {
    /// Each record without its links, and the number of its last link plus one.
    records: Vec<(LogRecord, usize)>,
    links: PackedLinks,
}

impl LogChunk {
    /// Takes the records out, each without its links and with these.
    pub fn drain(&mut self) -> impl Iterator<Item = (LogRecord, impl ExactSizeIterator<Item = LinkRef<'_>>)> {
        let (links, mut start) = (&self.links, 0);
        self.records.drain(..).map(move |(record, end)| {
            let found = links.get(start..end);
            start = end;
            (record, found)
        })
    }

    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let record = take_log_record_apart(payload, &mut self.links)?;
        self.records.push((record, self.links.len()));
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.links.key_bytes() >= CHUNK || self.records.len() >= CHUNK_RECORDS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.links.clear();
    }
}
