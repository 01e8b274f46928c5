//! Files of frames, written and read from front to back: logs, reports, schedules, spills.

use crate::file::bytes::Malformed;
use crate::file::error::{ReadError, WriteError};
use crate::file::format::{
    FORMAT_VERSION, FRAME_HEADER_BYTES, FileKind, HEADER_BYTES, HeaderError, check_header, frame_length,
    header, number_in_header, open_frame, put_frame, unpack_frame_into,
};
use crate::storage::{ReadFile, Storage, WriteFile};
use recrawl_types::Round;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Writes collect up to this many bytes before they go to the file.
const WRITE_BUFFER: usize = 256 << 10;
/// Reads ask for at least this many bytes at once.
const READ_AHEAD: usize = 256 << 10;

/// A file that grows by frames, through a buffer.
pub struct FrameWriter {
    kind: FileKind,
    path: String,
    file: Box<dyn WriteFile>,
    buffer: Vec<u8>,
    /// Bytes in the file and in the buffer.
    length: u64,
    /// A write failed: nobody knows what the file ends with, so nothing more goes in.
    broken: bool,
}

impl FrameWriter {
    /// Makes the file `name` with its header.
    pub fn create(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        number: Round,
    ) -> Result<FrameWriter, WriteError> {
        let path = storage.locate(name);
        let file = storage.create(name).map_err(WriteError::during(&path, "create"))?;
        let buffer = header(kind, number).to_vec();
        Ok(FrameWriter { kind, path, file, buffer, length: HEADER_BYTES as u64, broken: false })
    }

    /// Appends a frame; gives its offset and its length in the file.
    pub fn push(&mut self, payload: &[u8]) -> Result<(u64, u32), WriteError> {
        let before = self.buffer.len();
        put_frame(&mut self.buffer, self.kind, payload);
        self.pushed(before)
    }

    /// Appends a frame that is packed already; gives its offset and its length in the file.
    pub(crate) fn push_packed(&mut self, frame: &[u8]) -> Result<(u64, u32), WriteError> {
        let before = self.buffer.len();
        self.buffer.extend_from_slice(frame);
        self.pushed(before)
    }

    fn pushed(&mut self, before: usize) -> Result<(u64, u32), WriteError> {
        let (offset, length) = (self.length, self.buffer.len() - before);
        self.length += length as u64;
        if self.buffer.len() >= WRITE_BUFFER {
            self.flush()?;
        }
        Ok((offset, length as u32))
    }

    /// Gives the operating system what the buffer holds. After an error every further call fails too.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.broken {
            return Err(WriteError::after_failure(&self.path));
        }
        if !self.buffer.is_empty() {
            self.broken = true;
            self.file.write(&self.buffer).map_err(WriteError::during(&self.path, "write"))?;
            self.broken = false;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Makes everything durable but the file's name; gives its length.
    pub fn sync(&mut self) -> Result<u64, WriteError> {
        self.flush()?;
        self.broken = true;
        self.file.sync().map_err(WriteError::during(&self.path, "sync"))?;
        self.broken = false;
        Ok(self.length)
    }
}

/// A file opened for reading, with its path for messages.
#[derive(Clone)]
pub(crate) struct FrameSource {
    file: Arc<dyn ReadFile>,
    path: String,
    length: u64,
    version: u32,
}

impl FrameSource {
    /// Opens a file and checks its header.
    pub fn open(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        number: Round,
    ) -> Result<FrameSource, ReadError> {
        let mut source = FrameSource::open_unchecked(storage, name)?;
        source.version = source.check_header(kind, number)?;
        Ok(source)
    }

    /// Opens a file whose header has yet to be checked.
    pub fn open_unchecked(storage: &dyn Storage, name: &str) -> Result<FrameSource, ReadError> {
        let path = storage.locate(name);
        let file: Arc<dyn ReadFile> = storage.open(name).map_err(ReadError::io(&path))?.into();
        let length = file.length().map_err(ReadError::io(&path))?;
        Ok(FrameSource { file, path, length, version: FORMAT_VERSION })
    }

    /// The number in its header.
    pub fn number(&self) -> Result<Round, ReadError> {
        let mut bytes = [0; HEADER_BYTES];
        self.read_exact(&mut bytes, 0)?;
        number_in_header(&bytes).map_err(|Malformed(what)| self.damaged(0, what))
    }

    /// Checks the header; gives its version. One that is not read is damage here: the manifest, which was
    /// read before, would have been refused. That of reports may have any number.
    pub fn check_header(&self, kind: FileKind, number: Round) -> Result<u32, ReadError> {
        let mut bytes = [0; HEADER_BYTES];
        self.read_exact(&mut bytes, 0)?;
        let number = if kind == FileKind::Reports { self.number()? } else { number };
        check_header(&bytes, kind, number).map_err(|e| match e {
            HeaderError::Version(v) => self.damaged(0, format!("format version {v}")),
            HeaderError::Malformed(Malformed(what)) => self.damaged(0, what),
        })
    }

    /// The format version of its header.
    pub fn version(&self) -> u32 {
        self.version
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its length when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Says that these bytes will be read soon.
    pub fn will_read(&self, bytes: &Range<u64>) {
        self.file.will_read(bytes.start, bytes.end - bytes.start);
    }

    pub fn damaged(&self, offset: u64, what: impl Into<String>) -> ReadError {
        ReadError::damaged(&self.path, offset, what)
    }

    pub fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<(), ReadError> {
        if offset.saturating_add(buffer.len() as u64) > self.length {
            return Err(self.damaged(offset, format!("the file ends at byte {}", self.length)));
        }
        self.file.read_at(buffer, offset).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(offset, "the file is shorter than its length"),
            _ => ReadError::io(&self.path)(e),
        })
    }
}

/// Reads a file, or a part of it, from front to back, through a buffer.
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
    ahead: usize,
}

impl Default for Window {
    fn default() -> Window {
        Window { start: 0, bytes: Vec::new(), ahead: READ_AHEAD }
    }
}

impl Window {
    /// The bytes `offset..offset + length` of `source`. One window serves one source.
    pub fn get(&mut self, source: &FrameSource, offset: u64, length: usize) -> Result<&[u8], ReadError> {
        let held = self.start..self.start + self.bytes.len() as u64;
        if offset < held.start || offset.saturating_add(length as u64) > held.end {
            let left = source.length().saturating_sub(offset);
            let wanted = length.max(self.ahead.min(usize::try_from(left).unwrap_or(usize::MAX)));
            if wanted as u64 > left {
                return Err(source.damaged(offset, format!("the file ends at byte {}", source.length())));
            }
            self.bytes.resize(wanted, 0);
            if let Err(e) = source.read_exact(&mut self.bytes, offset) {
                self.bytes.clear();
                return Err(e);
            }
            self.start = offset;
        }
        let at = (offset - self.start) as usize;
        Ok(&self.bytes[at..at + length])
    }
}

/// Reads a file of frames from front to back.
pub struct FrameReader {
    kind: FileKind,
    source: FrameSource,
    window: Window,
    scratch: Vec<u8>,
    at: u64,
    end: u64,
}

impl FrameReader {
    /// Opens a file and checks its header.
    pub fn open(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        number: Round,
    ) -> Result<FrameReader, ReadError> {
        let source = FrameSource::open(storage, name, kind, number)?;
        let end = source.length();
        Ok(FrameReader::over(source, kind, end))
    }

    /// Reads from the frame at byte `at` on, and nothing ahead: for one who wants a frame or two.
    pub(crate) fn from(self, at: u64) -> FrameReader {
        FrameReader { at, ..self.reading_ahead(0) }
    }

    /// Asks for at least `ahead` bytes at once.
    pub(crate) fn reading_ahead(self, ahead: usize) -> FrameReader {
        let window = Window { ahead, ..Window::default() };
        FrameReader { window, ..self }
    }

    /// Reads the frames of an open file up to byte `end`.
    pub(crate) fn over(source: FrameSource, kind: FileKind, end: u64) -> FrameReader {
        let window = Window::default();
        FrameReader { kind, source, window, scratch: Vec::new(), at: HEADER_BYTES as u64, end }
    }

    /// Is there no other frame?
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.end
    }

    /// The offset of the next frame.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// An error that names the frame read last… or any other place in the file.
    pub(crate) fn damaged(&self, offset: u64, what: &str) -> ReadError {
        self.source.damaged(offset, what)
    }

    /// The next payload; none at the end. After an error the reader stays where it is.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let Some(length) = self.next_length()? else { return Ok(None) };
        let frame = self.window.get(&self.source, self.at, length)?;
        match open_frame(frame, self.kind, &mut self.scratch) {
            Ok(payload) => {
                self.at += length as u64;
                Ok(Some(payload))
            }
            Err(Malformed(what)) => Err(self.source.damaged(self.at, what)),
        }
    }

    /// Passes over a damaged frame; false if nobody knows where it ends.
    pub(crate) fn skip(&mut self) -> bool {
        let Ok(Some(length)) = self.next_length() else { return false };
        self.at += length as u64;
        true
    }

    /// The same, in place of what `payload` holds; false at the end. After an error it holds anything.
    pub(crate) fn next_frame_into(&mut self, payload: &mut Vec<u8>) -> Result<bool, ReadError> {
        let Some(length) = self.next_length()? else { return Ok(false) };
        let frame = self.window.get(&self.source, self.at, length)?;
        unpack_frame_into(frame, self.kind, payload)
            .map_err(|Malformed(what)| self.source.damaged(self.at, what))?;
        self.at += length as u64;
        Ok(true)
    }

    /// The length of the next frame with its header; none at the end.
    fn next_length(&mut self) -> Result<Option<usize>, ReadError> {
        let at = self.at;
        if at == self.end {
            return Ok(None);
        }
        let left = self.end.saturating_sub(at);
        if left < FRAME_HEADER_BYTES as u64 {
            return Err(self.damaged(at, "a frame is cut short"));
        }
        let head = self.window.get(&self.source, at, FRAME_HEADER_BYTES)?;
        let head = head.first_chunk().expect("the window gave a header's length");
        let length = frame_length(head).map_err(|Malformed(what)| self.source.damaged(at, what))?;
        if length as u64 > left {
            return Err(self.damaged(at, "a frame is cut short"));
        }
        Ok(Some(length))
    }
}
