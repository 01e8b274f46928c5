//! The lines of a text file, compressed or not, with a maximum length.

use super::DatasetError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum bytes of a line: a page that changes in each of 20,000 cycles takes a quarter of it.
pub const MAX_LINE: usize = 1 << 20;

/// Reads a file line by line. Unpacks gzip with all its members.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> Result<Lines, DatasetError> {
        let failed = DatasetError::io(path);
        let open = || -> std::io::Result<Box<dyn BufRead>> {
            let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
            let is_gzip = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
            Ok(match is_gzip {
                true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))),
                false => Box::new(file),
            })
        };
        Ok(Lines { path: path.to_owned(), reader: open().map_err(failed)?, buffer: Vec::new(), number: 0 })
    }

    /// The next line without its end, or `None` after the last.
    ///
    /// # Errors
    /// If it cannot be read, is longer than [`MAX_LINE`], or is not UTF-8.
    pub fn next_line(&mut self) -> Result<Option<&str>, DatasetError> {
        self.buffer.clear();
        let mut bounded = (&mut self.reader).take(MAX_LINE as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        let line = self.number;
        read.map_err(|source| DatasetError::Io { path: self.path.clone(), line, source })?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.len() > MAX_LINE {
            return Err(self.wrong(format!("the line is longer than {MAX_LINE} bytes: is this a data set?")));
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

/// A field quoted for a message, shortened if long.
pub fn shown(field: &str) -> String {
    let short: String = field.chars().take(40).collect();
    if short.len() < field.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
