//! The lines of a text file, compressed or not, with a maximum length.

use super::DatasetError;
use flate2::read::MultiGzDecoder;
use recrawl_types::Size;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum bytes of a line: a page that changes in each of 20,000 cycles takes a quarter of it.
pub const MAX_LINE: usize = 1 << 20;

/// Largest window of a zstd frame, as a power of two: 128 MiB, the most that the plain decoder takes.
const ZSTD_WINDOW: u32 = 27;

/// Reads a file line by line. Unpacks gzip with all its members, and zstd with all its frames.
pub struct LineReader {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
    longest: usize,
}

impl LineReader {
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> Result<LineReader, DatasetError> {
        LineReader::open_bounded(path, MAX_LINE)
    }

    /// With lines of up to `longest` bytes.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open_bounded(path: &Path, longest: usize) -> Result<LineReader, DatasetError> {
        let failed = DatasetError::io(path);
        let open = || -> io::Result<Box<dyn BufRead>> {
            let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
            let start = file.fill_buf()?;
            Ok(if start.starts_with(&[0x1f, 0x8b]) {
                Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
            } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                let mut unpacked = zstd::Decoder::with_buffer(file)?;
                unpacked.window_log_max(ZSTD_WINDOW)?;
                Box::new(BufReader::with_capacity(1 << 16, Unpacked(unpacked)))
            } else {
                Box::new(file)
            })
        };
        let reader = open().map_err(failed)?;
        Ok(LineReader { path: path.to_owned(), reader, buffer: Vec::new(), number: 0, longest })
    }

    /// The next line without its end, or `None` after the last.
    ///
    /// # Errors
    /// If it cannot be read, is longer than allowed, or is not UTF-8.
    pub fn next_line(&mut self) -> Result<Option<&str>, DatasetError> {
        self.buffer.clear();
        let mut bounded = (&mut self.reader).take(self.longest as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        let line = self.number;
        read.map_err(|source| DatasetError::Io { path: self.path.clone(), line, source })?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.len() > self.longest {
            let longest = Size(self.longest as u64);
            return Err(self.wrong(format!("the line is longer than {longest}: is this a data set?")));
        }
        let mut end = self.buffer.len();
        for ending in [b'\n', b'\r'] {
            end -= usize::from(self.buffer[..end].ends_with(&[ending]));
        }
        match std::str::from_utf8(&self.buffer[..end]) {
            Ok(text) => Ok(Some(text)),
            Err(e) => Err(self.wrong(format!("byte {} of the line is not UTF-8", e.valid_up_to() + 1))),
        }
    }

    /// An error about the last line read, or about the file if none was read.
    pub fn wrong(&self, what: impl Into<String>) -> DatasetError {
        if self.number == 0 {
            return DatasetError::whole(&self.path, what);
        }
        DatasetError::Line { path: self.path.clone(), line: self.number, what: what.into() }
    }
}

/// Unpacked zstd. The decoder's errors about the data become errors of that kind.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::Other => io::Error::new(io::ErrorKind::InvalidData, e),
            _ => e,
        })
    }
}

/// A field quoted for a message, shortened if long.
pub fn shown(field: &str) -> String {
    let short: String = field.chars().take(40).collect();
    if short.len() < field.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
