//! Reads the WARC files of the archive record by record, with the position of each.

use super::spelling::in_file;
use flate2::bufread::GzDecoder;
use recrawl_repository::storage::{ReadFile, Storage};
use sha1::{Digest, Sha1};
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Write};

/// The first bytes of a gzip member (RFC 1952 §2.3.1): two magic bytes and the method.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Bytes of a record that are searched for its fields and those of the HTTP response in it. The fetcher takes some
/// 400 kB of header fields, and the writer keeps records within this limit.
pub(super) const MAX_HEAD: usize = 512 << 10;

/// A record: its position and its fields.
pub struct FoundRecord {
    /// Offset of its gzip member in the file.
    pub offset: u64,
    /// Length of the member in bytes.
    pub length: u64,
    /// Does the file end within the record? Then the fields are those that could still be read.
    pub is_torn: bool,
    /// A problem found by [`Records::checked`].
    pub problem: Option<&'static str>,
    /// Fields of the WARC record.
    head: Vec<u8>,
    /// Status line and headers of the HTTP response, if there is one.
    http: Vec<u8>,
}

impl FoundRecord {
    /// The record type: `response`, `revisit`, ….
    pub fn kind(&self) -> Option<&str> {
        self.field("WARC-Type")
    }

    /// A field of the WARC record.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// A header of the HTTP response.
    pub fn http_field(&self, name: &str) -> Option<Cow<'_, str>> {
        http_fields(&self.http, name).next()
    }

    /// The first header of this name, also an empty one, as other readers of WARC files decode it: UTF-8, or else Latin-1.
    pub fn first_http_field(&self, name: &str) -> Option<String> {
        let value = all_values(&self.http, name).next()?;
        let text = std::str::from_utf8(value).map(str::to_owned);
        Some(text.unwrap_or_else(|_| value.iter().copied().map(char::from).collect()))
    }

    /// Status code of the response in it, as text.
    pub fn http_status(&self) -> Option<&str> {
        http_status(&self.http)
    }
}

/// The status in the first line of an HTTP response.
pub(super) fn http_status(http: &[u8]) -> Option<&str> {
    // The reason phrase behind it may be in any encoding.
    let status = http.strip_prefix(b"HTTP/")?.split(|byte| matches!(byte, b' ' | b'\r' | b'\n')).nth(1)?;
    std::str::from_utf8(status).ok().filter(|status| !status.is_empty())
}

/// The first field with this name of a WARC record, which is UTF-8.
pub(super) fn field<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    values(head, name).find_map(|value| std::str::from_utf8(value).ok())
}

/// The values of all fields of a name in the header of an HTTP response, but for empty ones. They are read as the
/// fetcher read them: a folded field is one line, and bytes that are not UTF-8 are replaced.
pub(super) fn http_fields<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = Cow<'h, str>> {
    values(head, name).map(|value| match value.contains(&b'\n') {
        true => Cow::Owned(String::from_utf8_lossy(value).replace(['\r', '\n'], " ")),
        false => String::from_utf8_lossy(value),
    })
}

fn values<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    all_values(head, name).filter(|value| !value.is_empty())
}

fn all_values<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    let mut rest =
        head.split_inclusive(|byte| *byte == b'\n').next().map_or(&b""[..], |line| &head[line.len()..]);
    let fields = std::iter::from_fn(move || {
        let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let mut ends = ends.map(|(at, _)| at + 1);
        let end = ends.find(|end| !matches!(rest.get(*end), Some(b' ' | b'\t'))).unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        rest = after;
        (end > 0).then_some(field)
    });
    fields.filter_map(move |field| {
        let (found, value) = name_and_value(field)?;
        found.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })
}

/// Name and value of a field; none of a line that is no field.
pub(super) fn name_and_value(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = field.iter().position(|byte| *byte == b':')?;
    Some((field[..colon].trim_ascii_end(), field[colon + 1..].trim_ascii()))
}

/// Reads a file from front to back, in bounded memory.
pub struct Records<R> {
    name: String,
    reader: PositionReader<BufReader<R>>,
    /// Are length and digest of each payload verified?
    is_checked: bool,
}

impl Records<Stored> {
    /// Opens a file of a storage and reads it from offset `from`, the end of a record.
    ///
    /// # Errors
    /// With the file's name.
    pub fn open_at(storage: &dyn Storage, name: &str, from: u64) -> io::Result<Records<Stored>> {
        let stored = Stored::open(storage, name, from).map_err(|e| in_file(storage, name, &e))?;
        let mut records = Records::over(stored, storage.locate(name));
        records.reader.at = from;
        Ok(records)
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.reader.inner.get_ref().length
    }

    /// Skips damage: seeks to the next complete record that begins at `from` or later and returns
    /// its offset, if there is one. A damaged record may have been read far into the records after
    /// it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_sound(&mut self, from: u64) -> io::Result<Option<u64>> {
        self.go_to(from);
        while let Some(offset) = self.next_magic()? {
            self.go_to(offset);
            match self.next_record() {
                Ok(Some(found)) if !found.is_torn => {
                    self.go_to(offset);
                    return Ok(Some(offset));
                }
                Err(e) if !is_damage(&e) => return Err(e),
                _ => self.go_to(offset + 1),
            }
        }
        Ok(None)
    }

    fn go_to(&mut self, offset: u64) {
        let stored = self.reader.inner.get_mut();
        stored.at = offset;
        // The buffer holds bytes of the old position.
        let left = self.reader.inner.buffer().len();
        self.reader.inner.consume(left);
        self.reader.at = offset;
    }

    /// Offset of the next bytes that look like the start of a gzip member.
    fn next_magic(&mut self) -> io::Result<Option<u64>> {
        let mut window = [0; MAGIC.len()];
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let taken = buffer.len();
            for (i, byte) in buffer.iter().enumerate() {
                window.rotate_left(1);
                window[MAGIC.len() - 1] = *byte;
                if window == MAGIC {
                    return Ok(Some(self.reader.at + i as u64 + 1 - MAGIC.len() as u64));
                }
            }
            self.reader.consume(taken);
        }
    }
}

impl<R: Read> Records<R> {
    /// Reads from `reader`; `name` is for messages.
    pub fn over(reader: R, name: String) -> Records<R> {
        let reader = PositionReader { inner: BufReader::with_capacity(256 << 10, reader), at: 0 };
        Records { name, reader, is_checked: false }
    }

    /// Verifies each record against its own length and digest, and its gzip header against the one
    /// that recrawl writes.
    #[must_use]
    pub fn checked(self) -> Records<R> {
        Records { is_checked: true, ..self }
    }

    /// Offset of the next record.
    pub fn offset(&self) -> u64 {
        self.reader.at
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// With file and offset, if a member is damaged. Nothing after it can be read without
    /// [`Records::next_sound`].
    pub fn next_record(&mut self) -> io::Result<Option<FoundRecord>> {
        let offset = self.reader.at;
        self.read().map_err(|e| {
            let text = format!("{}, byte {offset}: cannot read the record: {e}", self.name);
            io::Error::new(e.kind(), text)
        })
    }

    fn read(&mut self) -> io::Result<Option<FoundRecord>> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let offset = self.reader.at;
        let mut member = GzDecoder::new(&mut self.reader);
        let mut start = Vec::new();
        let head = (&mut member).take(MAX_HEAD as u64).read_to_end(&mut start);
        let mut payload = Payload::from_start(&start).filter(|_| self.is_checked);
        let rest = head.and_then(|_| match &mut payload {
            Some(payload) => io::copy(&mut member, payload),
            None => io::copy(&mut member, &mut io::sink()),
        });
        let is_torn = match rest {
            Ok(_) => false,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => true,
            Err(e) => return Err(e),
        };
        let header = member.header().map(|header| (header.mtime(), header.operating_system()));
        let problem = match payload {
            _ if !self.is_checked || is_torn => None,
            _ if !header.is_some_and(|(time, system)| time == 0 && SYSTEMS.contains(&system)) => {
                Some("gzip header not written by recrawl")
            }
            Some(payload) => payload.problem(&start),
            None => Some("missing length"),
        };
        if !is_torn && !start.starts_with(b"WARC/1.") {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a WARC record"));
        }
        let (head, rest) = cut_head(&start);
        let is_answer = field(head, "Content-Type").is_some_and(|kind| kind.starts_with("application/http"));
        let http = if is_answer { cut_head(rest).0.to_vec() } else { Vec::new() };
        let length = self.reader.at - offset;
        Ok(Some(FoundRecord { offset, length, is_torn, problem, head: head.to_vec(), http }))
    }
}

/// The bytes before the first empty line, and those after it.
pub(super) fn cut_head(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(4).position(|part| part == b"\r\n\r\n") {
        Some(end) => (&bytes[..end + 2], &bytes[end + 4..]),
        None => (bytes, &[]),
    }
}

/// Operating systems in the gzip headers that recrawl writes: Unix, as zlib does, or unknown.
const SYSTEMS: [u8; 2] = [3, 255];

/// The payload of a record while it is unpacked.
struct Payload {
    digest: Sha1,
    /// Bytes still expected.
    left: u64,
    /// Bytes found after the payload.
    behind: u64,
}

impl Payload {
    /// From the first bytes of a record; none if they do not give the length of the block.
    fn from_start(start: &[u8]) -> Option<Payload> {
        let (head, block) = cut_head(start);
        let length: u64 = field(head, "Content-Length")?.parse().ok()?;
        let is_answer = field(head, "Content-Type").is_some_and(|kind| kind.starts_with("application/http"));
        let body = if is_answer { cut_head(block).1 } else { block };
        let left = length.checked_sub((block.len() - body.len()) as u64)?;
        let mut payload = Payload { digest: Sha1::new(), left, behind: 0 };
        payload.take(body);
        Some(payload)
    }

    fn take(&mut self, bytes: &[u8]) {
        let (body, behind) = bytes.split_at(bytes.len().min(self.left.try_into().unwrap_or(usize::MAX)));
        self.digest.update(body);
        self.left -= body.len() as u64;
        self.behind += behind.len() as u64;
    }

    fn problem(self, start: &[u8]) -> Option<&'static str> {
        // Two line ends close a record.
        if self.left > 0 || self.behind != 4 {
            return Some("length does not match the header");
        }
        let (head, _) = cut_head(start);
        // The digest of a revisit is that of another record's body.
        let said =
            field(head, "WARC-Payload-Digest").filter(|_| field(head, "WARC-Type") == Some("response"))?;
        let found = data_encoding::BASE32.encode(&self.digest.finalize());
        (said.strip_prefix("sha1:") != Some(found.as_str())).then_some("body does not match the digest")
    }
}

impl Write for Payload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Is the data damaged, as opposed to unreadable?
pub fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// A file of a storage, read from front to back.
pub struct Stored {
    file: Box<dyn ReadFile>,
    at: u64,
    length: u64,
}

impl Stored {
    pub(crate) fn open(storage: &dyn Storage, name: &str, at: u64) -> io::Result<Stored> {
        Stored::over(storage.open(name)?, at)
    }

    pub(crate) fn over(file: Box<dyn ReadFile>, at: u64) -> io::Result<Stored> {
        Ok(Stored { length: file.length()?, file, at })
    }
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = self.length.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        // A file that ends before its length is an error of the disk, not an incomplete record.
        self.file.read_at(&mut buffer[..wanted], self.at).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(e),
            _ => e,
        })?;
        self.at += wanted as u64;
        Ok(wanted)
    }
}

/// A reader that counts its position.
struct PositionReader<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for PositionReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for PositionReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, taken: usize) {
        self.at += taken as u64;
        self.inner.consume(taken);
    }
}
