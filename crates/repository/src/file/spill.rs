//! Sorted runs of a plan or a batch that outgrew memory: records of any bytes, many in a frame.

use crate::file::bytes::{Put, Take};
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{FileKind, round_file};
use crate::file::frames::{FrameReader, FrameWriter};
use crate::storage::Storage;
use recrawl_types::Round;

/// A frame is closed when it holds this much.
const FRAME: usize = 64 << 10;
/// Reads of a run ask for at least this many bytes at once: dozens of runs are read at a time.
const READ_AHEAD: usize = 64 << 10;
/// A payload exceeds [`FRAME`] by a part of its last record, which is mostly shorter than this.
const LAST_RECORD: usize = 4 << 10;

fn name(round: Round, part: u32) -> String {
    round_file(round, &format!("spill-{part:06}"))
}

/// Writes one run.
pub struct SpillWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
}

impl SpillWriter {
    /// Begins run number `part` of the round.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(storage: &dyn Storage, round: Round, part: u32) -> Result<SpillWriter, WriteError> {
        Ok(SpillWriter::over(FrameWriter::create(storage, &name(round, part), FileKind::Spill, round)?))
    }

    /// Writes records to a file that was just made.
    pub(crate) fn over(frames: FrameWriter) -> SpillWriter {
        SpillWriter { frames, payload: Vec::with_capacity(2 * FRAME) }
    }

    /// Appends a record.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn push(&mut self, record: &[u8]) -> Result<(), WriteError> {
        self.payload.put_bytes(record);
        if self.payload.len() >= FRAME {
            self.frames.push(&self.payload)?;
            self.payload.clear();
        }
        Ok(())
    }

    /// Writes what is left. Not synced: a run is of no use after a crash, the log makes it again.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.push_rest()?;
        self.frames.flush()
    }

    /// Writes what is left; durable but for the file's name. Gives the file's length.
    pub(crate) fn finish_synced(mut self) -> Result<u64, WriteError> {
        self.push_rest()?;
        self.frames.sync()
    }

    fn push_rest(&mut self) -> Result<(), WriteError> {
        if !self.payload.is_empty() {
            self.frames.push(&self.payload)?;
        }
        Ok(())
    }
}

/// Reads one run from front to back.
pub struct SpillReader {
    frames: FrameReader,
    payload: Vec<u8>,
    at: usize,
}

impl SpillReader {
    /// Opens run number `part`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(storage: &dyn Storage, round: Round, part: u32) -> Result<SpillReader, ReadError> {
        let frames = FrameReader::open(storage, &name(round, part), FileKind::Spill, round)?;
        Ok(SpillReader::over(frames.reading_ahead(READ_AHEAD)))
    }

    /// Reads the records of an open file.
    pub(crate) fn over(frames: FrameReader) -> SpillReader {
        SpillReader { frames, payload: Vec::with_capacity(FRAME + LAST_RECORD), at: 0 }
    }

    /// Says that the file is damaged where it was read last.
    pub(crate) fn damaged(&self, what: &str) -> ReadError {
        self.frames.damaged(self.frames.offset(), what)
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// When the run cannot be read, or is damaged.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, ReadError> {
        if self.at == self.payload.len() {
            let read = self.frames.next_frame_into(&mut self.payload);
            if !matches!(read, Ok(true)) {
                self.payload.clear();
            }
            self.at = 0;
            if !read? {
                return Ok(None);
            }
        }
        let mut take = Take(&self.payload[self.at..]);
        let length = match take.bytes() {
            Ok(record) => record.len(),
            Err(_) => return Err(self.damaged("a record is cut short")),
        };
        let end = self.payload.len() - take.0.len();
        self.at = end;
        Ok(Some(&self.payload[end - length..end]))
    }
}

/// Removes run number `part`.
///
/// # Errors
/// When the file cannot be removed.
pub fn remove(storage: &dyn Storage, round: Round, part: u32) -> Result<(), WriteError> {
    let name = name(round, part);
    storage.remove(&name).map_err(WriteError::during(storage.locate(&name), "remove"))
}

mod runs;
pub use runs::SpillRuns;

#[cfg(test)]
mod tests;
