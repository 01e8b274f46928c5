//! Page bodies on disk: WARC 1.1 files, one gzip member a record (ISO 28500:2017).
//!
//! A fetched page is a `response` record; one whose body is, byte for byte, that of its last visit is a
//! `revisit` record without body (profile `identical-payload-digest`), and a 304 one of profile
//! `server-not-modified`. Since the fetcher hands over decoded bodies, the headers in a record are those of
//! the body as it stands there: a `Content-Encoding` is kept as `X-Archive-Orig-Content-Encoding`.
//!
//! A `response` names the record of the page's body before it, in a field of our own: [`BODY_BEFORE`]. So a page's record leads
//! to its last body and that to those before, and nothing is looked up for it at a visit.
//!
//! Records are built and compressed where there is time ([`Record::compress`], in the page workers) and
//! only appended in order here. A position in a page's record is valid for good: no record is ever moved. Files go
//! whole ([`cap`]), and a record that is taken down is overwritten where it lies ([`takedown`]). After a crash the
//! archive goes on in a new file.

pub mod answer;
pub mod cap;
pub mod records;
pub mod takedown;

use flate2::{Compress, Compression, FlushCompress, Status};
use recrawl_types::ArchivePosition;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What a record is of.
pub enum Record<'a> {
    /// A response with its body.
    Response {
        /// The body was cut at `fetch.max_body`.
        truncated: bool,
        /// Decoded body.
        body: &'a [u8],
        /// Where the page's body before this one lies, where its record said so.
        before: Option<ArchivePosition>,
    },
    /// A response whose body the archive has already.
    Same {
        /// Decoded body, for its digest.
        body: &'a [u8],
    },
    /// The server said 304.
    NotModified,
}

/// The field that says where the page's body before this one lies: `recrawl-000001.warc.gz 1234`, file and byte. WARC 1.1
/// leaves such fields to whoever writes (§4), and forbids its own `WARC-Refers-To` in a `response` (§5.11).
pub const BODY_BEFORE: &str = "X-Recrawl-Body-Before";

const REVISIT: &str = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/";

/// The parts of a record that all kinds have.
pub struct Head<'a> {
    /// The page.
    pub url: &'a str,
    /// When it was fetched, in milliseconds since 1970.
    pub at: u64,
    /// The address that answered.
    pub peer: Option<std::net::IpAddr>,
    /// HTTP status.
    pub status: u16,
}

impl Record<'_> {
    /// The record as one gzip member, ready to be appended.
    pub fn compress<'h>(
        &self,
        compressor: &mut Compressor,
        head: &Head<'_>,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    ) -> Vec<u8> {
        let (body, block_type, extra) = match self {
            Record::Response { body, truncated, before } => {
                let mut extra = format!("WARC-Payload-Digest: sha1:{}\r\n", payload_digest(body));
                if *truncated {
                    extra.push_str("WARC-Truncated: length\r\n");
                }
                if let Some(before) = before {
                    let _ = write!(extra, "{BODY_BEFORE}: {} {}\r\n", file_name(before.file), before.offset);
                }
                (*body, "response", extra)
            }
            Record::Same { body } => {
                let digest = payload_digest(body);
                let extra =
                    format!("{REVISIT}identical-payload-digest\r\nWARC-Payload-Digest: sha1:{digest}\r\n");
                (&b""[..], "revisit", extra)
            }
            Record::NotModified => (&b""[..], "revisit", format!("{REVISIT}server-not-modified\r\n")),
        };
        let http = http_head(head.status, headers, body.len());
        let mut warc = String::with_capacity(512);
        let date = timestamp(head.at);
        let _ = write!(warc, "WARC/1.1\r\nWARC-Type: {block_type}\r\nWARC-Target-URI: {}\r\n", head.url);
        let _ = write!(warc, "WARC-Date: {date}\r\nWARC-Record-ID: <{}>\r\n", record_id(head.url, head.at));
        if let Some(peer) = head.peer {
            let _ = write!(warc, "WARC-IP-Address: {peer}\r\n");
        }
        warc.push_str(&extra);
        let length = http.len() + body.len();
        let _ = write!(
            warc,
            "Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n"
        );
        compressor.member(&[warc.as_bytes(), &http, body, b"\r\n\r\n"])
    }
}

/// Status line and headers, without what no longer describes the body.
fn http_head<'h>(
    status: u16,
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    body_length: usize,
) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} \r\n").into_bytes();
    for (name, value) in headers {
        let name = match name.to_ascii_lowercase().as_str() {
            "content-length" | "transfer-encoding" => continue,
            "content-encoding" => "X-Archive-Orig-Content-Encoding",
            _ => name,
        };
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b": ");
        text.extend(value.iter().filter(|b| **b != b'\r' && **b != b'\n'));
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(format!("Content-Length: {body_length}\r\n\r\n").as_bytes());
    text
}

/// Makes gzip members. Kept by each page worker, since a compressor's tables take longer to clear for the
/// first time than a page takes to compress.
pub struct Compressor(Compress);

impl Compressor {
    /// Level 1: a third of the time of the default level for a tenth more bytes.
    pub fn new() -> Compressor {
        Compressor(Compress::new_gzip(Compression::new(1), 15))
    }

    /// All parts as one member.
    fn member(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        self.0.reset();
        let length: usize = parts.iter().map(|p| p.len()).sum();
        let mut out = Vec::with_capacity(length / 3 + 512);
        for part in parts {
            self.feed(part, FlushCompress::None, &mut out);
        }
        self.feed(&[], FlushCompress::Finish, &mut out);
        out
    }

    /// Compresses until all of `part` is taken, or, to finish, until all is given out.
    fn feed(&mut self, part: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        let start = self.0.total_in();
        loop {
            let taken = (self.0.total_in() - start) as usize;
            out.reserve(1024);
            let status = self.0.compress_vec(&part[taken..], out, flush);
            let status = status.expect("compressing into memory does not fail");
            let all_taken = (self.0.total_in() - start) as usize == part.len();
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => all_taken,
            };
            if done {
                return;
            }
        }
    }
}

/// A name-based UUID (RFC 9562 §5.5) of URL and time: unique as the pair is, and the same at every replay.
fn record_id(url: &str, at: u64) -> String {
    let digest = Sha1::new().chain_update(url).chain_update(at.to_le_bytes()).finalize();
    let mut hex = String::with_capacity(36);
    for (i, byte) in digest.iter().take(16).enumerate() {
        let byte = match i {
            6 => byte & 0x0f | 0x50,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if matches!(i, 4 | 6 | 8 | 10) {
            hex.push('-');
        }
        let _ = write!(hex, "{byte:02x}");
    }
    format!("urn:uuid:{hex}")
}

/// Milliseconds since 1970 as `2026-01-31T12:00:00Z` (RFC 3339, whole seconds).
pub fn timestamp(at: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_millis(at)).to_string()
}

/// A digest as WARC spells it: SHA-1 in base 32.
fn payload_digest(body: &[u8]) -> String {
    data_encoding::BASE32.encode(&Sha1::digest(body))
}

/// The growing end of the archive: one WARC file open at a time.
pub struct Archive {
    folder: PathBuf,
    limit: u64,
    number: u32,
    file: File,
    length: u64,
}

impl Archive {
    /// Opens the archive in `folder`. It goes on in the last file where that one ends exactly as it did
    /// when the archive was last closed (`closed`), and else, after a crash, in a new one: nothing that was
    /// ever written is cut or written over, so no position can come to mean another record.
    ///
    /// # Errors
    /// With the file's name.
    pub fn open(folder: &Path, limit: u64, closed: Option<ArchiveEnd>) -> io::Result<Archive> {
        std::fs::create_dir_all(folder).map_err(|e| named(folder, e))?;
        let numbers = file_numbers(folder).map_err(|e| named(folder, e))?;
        let highest = numbers.last().copied().unwrap_or(0);
        if let Some(end) = closed.filter(|end| end.number == highest) {
            let path = file_path(folder, highest);
            let file = OpenOptions::new().append(true).open(&path).map_err(|e| named(&path, e))?;
            if file.metadata().map_err(|e| named(&path, e))?.len() == end.length {
                return Ok(Archive {
                    folder: folder.into(),
                    limit,
                    number: highest,
                    file,
                    length: end.length,
                });
            }
        }
        // Also behind files that were taken away: their numbers are in records of pages.
        let number = highest.max(closed.map_or(0, |end| end.number)) + 1;
        let (file, length) = new_file(folder, number)?;
        Ok(Archive { folder: folder.into(), limit, number, file, length })
    }

    /// Appends a compressed record and says where it begins.
    ///
    /// # Errors
    /// With the file's name. What was written of the record is cut off again.
    pub fn append(&mut self, member: &[u8]) -> io::Result<ArchivePosition> {
        if self.length >= self.limit {
            self.file.sync_data().map_err(|e| named(&self.path(), e))?;
            let (file, length) = new_file(&self.folder, self.number + 1)?;
            (self.file, self.length, self.number) = (file, length, self.number + 1);
        }
        let position = ArchivePosition { file: self.number, offset: self.length };
        if let Err(error) = self.file.write_all(member) {
            // A torn record would hide those behind it from readers that go through the whole file.
            let _ = self.file.set_len(self.length);
            return Err(named(&self.path(), error));
        }
        self.length += member.len() as u64;
        Ok(position)
    }

    /// Where the archive ends now.
    pub fn end(&self) -> ArchiveEnd {
        ArchiveEnd { number: self.number, length: self.length }
    }

    /// Makes all appended records durable.
    ///
    /// # Errors
    /// With the file's name.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data().map_err(|e| named(&self.path(), e))
    }

    fn path(&self) -> PathBuf {
        file_path(&self.folder, self.number)
    }
}

/// The end of the archive: number and length of the last file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArchiveEnd {
    /// Number of the file, from 1.
    pub number: u32,
    /// Its length in bytes.
    pub length: u64,
}

/// The name of WARC file `number`.
pub fn file_name(number: u32) -> String {
    format!("recrawl-{number:06}.warc.gz")
}

/// The number in a name that [`file_name`] made.
pub fn number_in(name: &str) -> Option<u32> {
    let number = name.strip_prefix("recrawl-")?.strip_suffix(".warc.gz")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// Where WARC file `number` is.
pub fn file_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(file_name(number))
}

/// The numbers of all WARC files, in order.
///
/// # Errors
/// When the folder cannot be listed.
pub fn file_numbers(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        numbers.extend(entry?.file_name().to_str().and_then(number_in));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes file `number`, with a `warcinfo` record, and its name durable.
fn new_file(folder: &Path, number: u32) -> io::Result<(File, u64)> {
    let path = file_path(folder, number);
    let in_path = |e| named(&path, e);
    let mut file = OpenOptions::new().create_new(true).append(true).open(&path).map_err(in_path)?;
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let info = warcinfo(&path, at.as_millis() as u64);
    file.write_all(&info).map_err(in_path)?;
    File::open(folder).and_then(|f| f.sync_all()).map_err(|e| named(folder, e))?;
    Ok((file, info.len() as u64))
}

fn warcinfo(path: &Path, at: u64) -> Vec<u8> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let fields = concat!(
        "software: recrawl/",
        env!("CARGO_PKG_VERSION"),
        "\r\nformat: WARC File Format 1.1\r\n",
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    );
    let head = format!(
        "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {}\r\nWARC-Filename: {name}\r\nWARC-Record-ID: <{}>\r\n\
         Content-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
        timestamp(at),
        record_id(name, at),
        fields.len()
    );
    Compressor::new().member(&[head.as_bytes(), fields.as_bytes(), b"\r\n\r\n"])
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
