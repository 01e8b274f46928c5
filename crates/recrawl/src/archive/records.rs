//! What is in a WARC file of ours: record after record, each a gzip member, and where it lies.

use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a record in which its fields, and those of the answer in it, are looked for.
pub(super) const MAX_HEAD: u64 = 128 << 10;

/// A record: where it lies, and how it begins.
pub struct Found {
    /// Where its member begins in the file.
    pub offset: u64,
    /// Bytes of the member.
    pub length: u64,
    /// Does the file end within it? Then its fields are those that could still be read.
    pub is_torn: bool,
    /// Fields of the record.
    head: Vec<u8>,
    /// Status line and fields of the answer in it, where there is one.
    http: Vec<u8>,
}

impl Found {
    /// Its type: `response`, `revisit`, ….
    pub fn kind(&self) -> Option<&str> {
        self.field("WARC-Type")
    }

    /// A field of the record.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// A field of the answer.
    pub fn http_field(&self, name: &str) -> Option<&str> {
        field(&self.http, name)
    }

    /// The answer's status.
    pub fn http_status(&self) -> Option<&str> {
        http_status(&self.http)
    }
}

/// The status in the first line of an answer.
pub(super) fn http_status(http: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(http.split(|byte| *byte == b'\r').next()?).ok()?;
    line.strip_prefix("HTTP/")?.split(' ').nth(1).filter(|status| !status.is_empty())
}

/// The first field of this name.
pub(super) fn field<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':')).find_map(|(found, value)| {
        found.eq_ignore_ascii_case(name).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

/// Reads a file from front to back, in bounded memory.
pub struct Records<R> {
    name: String,
    reader: Counted<BufReader<R>>,
}

impl Records<File> {
    /// Opens the file.
    ///
    /// # Errors
    /// With its name.
    pub fn open(path: &Path) -> io::Result<Records<File>> {
        let file = File::open(path).map_err(|e| super::named(path, e))?;
        Ok(Records::over(file, path.display().to_string()))
    }
}

impl<R: Read> Records<R> {
    /// Reads what this gives; the name is for messages.
    pub fn over(reader: R, name: String) -> Records<R> {
        Records { name, reader: Counted { inner: BufReader::with_capacity(256 << 10, reader), at: 0 } }
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// With file and offset, where a member is damaged. Nothing behind it can be read.
    pub fn next_record(&mut self) -> io::Result<Option<Found>> {
        let offset = self.reader.at;
        self.read().map_err(|e| {
            let text = format!("{}, byte {offset}: the record cannot be read: {e}", self.name);
            io::Error::new(e.kind(), text)
        })
    }

    fn read(&mut self) -> io::Result<Option<Found>> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let offset = self.reader.at;
        let mut member = GzDecoder::new(&mut self.reader);
        let mut start = Vec::new();
        let head = (&mut member).take(MAX_HEAD).read_to_end(&mut start);
        let is_torn = match head.and_then(|_| io::copy(&mut member, &mut io::sink())) {
            Ok(_) => false,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => true,
            Err(e) => return Err(e),
        };
        if !is_torn && !start.starts_with(b"WARC/1.") {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no WARC record"));
        }
        let (head, rest) = cut_head(&start);
        let is_answer = field(head, "Content-Type").is_some_and(|kind| kind.starts_with("application/http"));
        let http = if is_answer { cut_head(rest).0.to_vec() } else { Vec::new() };
        let length = self.reader.at - offset;
        Ok(Some(Found { offset, length, is_torn, head: head.to_vec(), http }))
    }
}

/// What stands before the first empty line, and what behind it.
pub(super) fn cut_head(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(4).position(|part| part == b"\r\n\r\n") {
        Some(end) => (&bytes[..end + 2], &bytes[end + 4..]),
        None => (bytes, &[]),
    }
}

/// A reader that knows where it is.
struct Counted<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, taken: usize) {
        self.at += taken as u64;
        self.inner.consume(taken);
    }
}
