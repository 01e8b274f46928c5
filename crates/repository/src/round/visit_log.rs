//! The visit log: what a round has done so far. It only grows, a frame a record, written at once.

mod chunk;

pub use chunk::LogChunk;

use crate::file::bytes::Malformed;
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, round_file};
use crate::file::frames::{FrameReader, FrameSource};
use crate::generation::codec::{put_log_record, take_log_record};
use crate::generation::read_ahead::read_ahead;
use crate::repository::sound_length;
use crate::round::log_file::{LogError, LogFile};
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, LogRecord, Origin, Round, Skipped, Visit};
use std::collections::BTreeMap;
use std::ops::Range;

/// Schedules are shorter than this: a damaged index must not make [`VisitedIndexes`] as large as it says.
const MAX_INDEX: u64 = 1 << 32;

fn file(round: Round) -> String {
    round_file(round, "visits")
}

/// The log, open for appending.
pub struct VisitLog {
    log: LogFile,
    payload: Vec<u8>,
}

/// What an earlier run of the round left in the log.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The schedule indexes that are done.
    pub done: VisitedIndexes,
    /// Targets of redirects that were followed.
    pub followed: Vec<CanonicalUrl>,
    /// Bytes of pages, by origin.
    pub bytes: BTreeMap<Origin, u64>,
    /// Records in the log.
    pub records: u64,
    /// Ranges of pages that an earlier run left out.
    pub skipped: Vec<Skipped>,
    /// Bytes that were cut off: a torn tail, and what may not stay.
    pub cut: u64,
}

/// A set of schedule indexes: one bit each.
#[derive(Debug, Default, Clone)]
pub struct VisitedIndexes {
    words: Vec<u64>,
    count: u64,
}

impl VisitedIndexes {
    /// Is this index done?
    pub fn contains(&self, index: u64) -> bool {
        self.words.get((index / 64) as usize).is_some_and(|w| w >> (index % 64) & 1 == 1)
    }

    /// How many are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds an index.
    pub fn insert(&mut self, index: u64) {
        let word = (index / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (index % 64);
        self.count += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// Adds a range of indexes, a word at a time.
    pub fn insert_all(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let last = range.end - 1;
        let words = (range.start / 64) as usize..=(last / 64) as usize;
        if self.words.len() <= *words.end() {
            self.words.resize(words.end() + 1, 0);
        }
        for word in words.clone() {
            let from = if word == *words.start() { range.start % 64 } else { 0 };
            let to = if word == *words.end() { last % 64 } else { 63 };
            let bits = (u64::MAX << from) & (u64::MAX >> (63 - to));
            self.count += u64::from((bits & !self.words[word]).count_ones());
            self.words[word] |= bits;
        }
    }

    /// The highest index.
    pub fn last(&self) -> Option<u64> {
        let word = self.words.iter().rposition(|word| *word != 0)?;
        Some(64 * word as u64 + u64::from(self.words[word].ilog2()))
    }
}

impl VisitLog {
    /// Opens the round's log, or begins it. A torn tail, as a crash leaves it, is cut off; what stands
    /// before it is told. Everything from the first unsound record on is cut: a power cut may leave sound
    /// records behind a torn one, and a page whose visit is cut is merely visited again.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn open(storage: &dyn Storage, round: Round) -> Result<(VisitLog, Recovered), LogError> {
        VisitLog::open_observed(storage, round, |_| true)
    }

    /// The same; `observe` is told of each visit in the log, as it is read, and says whether it may stay. The log is cut before
    /// the first that may not: it is ahead of something that was to be durable before it.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn open_observed(
        storage: &dyn Storage,
        round: Round,
        observe: impl FnMut(&Visit) -> bool,
    ) -> Result<(VisitLog, Recovered), LogError> {
        let name = file(round);
        let mut recovered = Recovered::default();
        let log = match LogFile::begun(storage, &name, FileKind::Visits, round)? {
            None => LogFile::create(storage, &name, FileKind::Visits, round)?,
            Some(source) => {
                let sound = sound_length(&source, FileKind::Visits)?;
                let frames = FrameReader::over(source.clone(), FileKind::Visits, sound);
                let sound = recover(frames, &mut recovered, observe)?;
                recovered.cut = source.length() - sound;
                LogFile::resume(storage, &name, FileKind::Visits, sound, source.length())?
            }
        };
        Ok((VisitLog { log, payload: Vec::new() }, recovered))
    }

    /// Appends a record, in one write. It survives the process at once, and the machine after
    /// [`VisitLog::sync`].
    ///
    /// # Errors
    /// When the record is longer than [`MAX_FRAME_BYTES`](crate::MAX_FRAME_BYTES), or the disk takes no more. A part of
    /// the record may be in the file then: every further call fails, and the next [`VisitLog::open`] cuts
    /// it off.
    pub fn append(&mut self, record: &LogRecord) -> Result<(), WriteError> {
        self.payload.clear();
        put_log_record(&mut self.payload, record);
        self.log.append(&self.payload)
    }

    /// Makes all records durable.
    ///
    /// # Errors
    /// When the disk refuses, now or before: what a failed sync lost, a second one does not bring back. It is cut
    /// off, as it could still be read for a while, and a later run would write behind it.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.log.sync()
    }

    /// Bytes of a round's log; 0 where there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn bytes(storage: &dyn Storage, round: Round) -> Result<u64, ReadError> {
        match FrameSource::open_unchecked(storage, &file(round)) {
            Ok(log) => Ok(log.length()),
            Err(error) if error.is_absent() => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Walks a round's log from front to back. A round without a log has no records.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(storage: &dyn Storage, round: Round) -> Result<VisitReader, ReadError> {
        VisitReader::open(storage, round)
    }
}

/// Reads the sound frames, and gives up to where they may stay.
fn recover(
    frames: FrameReader,
    recovered: &mut Recovered,
    mut observe: impl FnMut(&Visit) -> bool,
) -> Result<u64, ReadError> {
    let mut reader = VisitReader(Some(frames));
    loop {
        let offset = reader.0.as_ref().map_or(0, FrameReader::offset);
        let Some(record) = reader.next_record()? else { return Ok(offset) };
        if let LogRecord::Visit(visit) = &record
            && !observe(visit)
        {
            return Ok(offset);
        }
        recovered.records += 1;
        if let LogRecord::Skipped(skipped) = record {
            if let (true, Some(frames)) = (skipped.pages.end > MAX_INDEX, &reader.0) {
                return Err(frames.damaged(offset, "a visit of a page outside the schedule"));
            }
            recovered.done.insert_all(skipped.pages.clone());
            recovered.skipped.push(skipped);
        } else if let LogRecord::Visit(visit) = record {
            if visit.bytes > 0 {
                let bytes = recovered.bytes.entry(Origin::from_url(&visit.url)).or_default();
                *bytes = bytes.saturating_add(visit.bytes);
            }
            let Some(index) = visit.index else {
                recovered.followed.push(visit.url);
                continue;
            };
            if let (true, Some(frames)) = (index >= MAX_INDEX, &reader.0) {
                return Err(frames.damaged(offset, "a visit of a page outside the schedule"));
            }
            recovered.done.insert(index);
        }
    }
}

/// A log, read from front to back.
pub struct VisitReader(Option<FrameReader>);

impl VisitReader {
    fn open(storage: &dyn Storage, round: Round) -> Result<VisitReader, ReadError> {
        match FrameReader::open(storage, &file(round), FileKind::Visits, round) {
            Ok(frames) => Ok(VisitReader(Some(frames))),
            Err(e) if e.is_absent() => Ok(VisitReader(None)),
            Err(e) => Err(e),
        }
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_record(&mut self) -> Result<Option<LogRecord>, ReadError> {
        let Some(frames) = &mut self.0 else { return Ok(None) };
        let offset = frames.offset();
        let Some(payload) = frames.next_frame()? else { return Ok(None) };
        let record = take_log_record(payload);
        record.map(Some).map_err(|Malformed(what)| frames.damaged(offset, what))
    }

    /// Calls `work` with all of the log, chunk by chunk, in order, while the next chunks are read on a thread of their
    /// own. Ends with the first error of either.
    ///
    /// # Errors
    /// When records cannot be read, or what `work` returns.
    pub fn scan<E: From<ReadError>>(
        mut self,
        work: impl FnMut(&mut LogChunk) -> Result<(), E>,
    ) -> Result<(), E> {
        read_ahead(vec![|chunk: &mut LogChunk| self.next_chunk(chunk)], work)
    }

    /// Reads the next records in place of those in `chunk`; false at the end. For reading all of a log fast: links
    /// come without an allocation for each.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn next_chunk(&mut self, chunk: &mut LogChunk) -> Result<bool, ReadError> {
        chunk.clear();
        let Some(frames) = &mut self.0 else { return Ok(false) };
        while !chunk.is_full() {
            let offset = frames.offset();
            let Some(payload) = frames.next_frame()? else { break };
            chunk.take(payload).map_err(|Malformed(what)| frames.damaged(offset, what))?;
        }
        Ok(!chunk.is_empty())
    }
}

#[cfg(test)]
mod tests;
