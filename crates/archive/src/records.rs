//! What is in a WARC file of ours: record after record, each a gzip member, and where it lies.

use super::recovery::is_damage;
use flate2::bufread::GzDecoder;
use recrawl_repository::storage::{ReadFile, Storage};
use sha1::{Digest, Sha1};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// How a gzip member begins (RFC 1952 §2.3.1): two bytes of its own, and the method.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

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
    /// What is wrong with it, where that was looked at ([`Records::checked`]).
    pub problem: Option<&'static str>,
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
    /// Are length and digest of each record's payload worked out?
    is_checked: bool,
}

impl Records<File> {
    /// Opens the file.
    ///
    /// # Errors
    /// With its name.
    pub fn open(path: &Path) -> io::Result<Records<File>> {
        let file = File::open(path).map_err(|e| super::named(path, &e))?;
        Ok(Records::over(file, path.display().to_string()))
    }
}

impl Records<Stored> {
    /// Opens a file of a storage and reads it from the end of a record on.
    ///
    /// # Errors
    /// With its name.
    pub fn of(storage: &dyn Storage, name: &str, from: u64) -> io::Result<Records<Stored>> {
        let opened = storage.open(name).and_then(|file| Ok((file.length()?, file)));
        let (length, file) = opened.map_err(|e| super::in_file(storage, name, &e))?;
        let stored = Stored { file, at: from, length };
        let mut records = Records::over(stored, storage.locate(name));
        records.reader.at = from;
        Ok(records)
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.reader.inner.get_ref().length
    }

    /// After damage: goes on with the next whole record that begins at `from` or later, and says
    /// where; none where there is none. A damaged record may have been read far into those behind
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
        // What the buffer holds is of another place.
        let left = self.reader.inner.buffer().len();
        self.reader.inner.consume(left);
        self.reader.at = offset;
    }

    /// Where the next bytes are that a gzip member begins with.
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
    /// Reads what this gives; the name is for messages.
    pub fn over(reader: R, name: String) -> Records<R> {
        let reader = Counted { inner: BufReader::with_capacity(256 << 10, reader), at: 0 };
        Records { name, reader, is_checked: false }
    }

    /// Each record is held against its own length and digest, and the header of its member against
    /// what we write.
    #[must_use]
    pub fn checked(self) -> Records<R> {
        Records { is_checked: true, ..self }
    }

    /// Where the next record begins.
    pub fn offset(&self) -> u64 {
        self.reader.at
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
        let mut payload = Payload::of(&start).filter(|_| self.is_checked);
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
                Some("the header of its gzip member is not one of ours")
            }
            Some(payload) => payload.problem(&start),
            None => Some("it does not say how long it is"),
        };
        if !is_torn && !start.starts_with(b"WARC/1.") {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no WARC record"));
        }
        let (head, rest) = cut_head(&start);
        let is_answer = field(head, "Content-Type").is_some_and(|kind| kind.starts_with("application/http"));
        let http = if is_answer { cut_head(rest).0.to_vec() } else { Vec::new() };
        let length = self.reader.at - offset;
        Ok(Some(Found { offset, length, is_torn, problem, head: head.to_vec(), http }))
    }
}

/// What stands before the first empty line, and what behind it.
pub(super) fn cut_head(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(4).position(|part| part == b"\r\n\r\n") {
        Some(end) => (&bytes[..end + 2], &bytes[end + 4..]),
        None => (bytes, &[]),
    }
}

/// What a gzip member of ours names as the system that made it: Unix, as zlib does, or none.
const SYSTEMS: [u8; 2] = [3, 255];

/// The payload of a record, as it is unpacked.
struct Payload {
    digest: Sha1,
    /// Bytes of it that are still to come.
    left: u64,
    /// Bytes that came behind it.
    behind: u64,
}

impl Payload {
    /// From the beginning of a record; none where that does not say how long its block is.
    fn of(start: &[u8]) -> Option<Payload> {
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
        // Two ends of lines close a record.
        if self.left > 0 || self.behind != 4 {
            return Some("it is not as long as it says");
        }
        let (head, _) = cut_head(start);
        // That of a revisit is of a body that another record has.
        let said =
            field(head, "WARC-Payload-Digest").filter(|_| field(head, "WARC-Type") == Some("response"))?;
        let found = data_encoding::BASE32.encode(&self.digest.finalize());
        (said.strip_prefix("sha1:") != Some(found.as_str())).then_some("its body is not that of its digest")
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

/// A file of a storage, read from front to back.
pub struct Stored {
    file: Box<dyn ReadFile>,
    at: u64,
    length: u64,
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = self.length.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += wanted as u64;
        Ok(wanted)
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
