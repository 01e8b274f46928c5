//! Page bodies on disk: WARC 1.1 files, one gzip member per record (ISO 28500:2017).
//!
//! A fetched page becomes a `response` record. If its body equals that of the last visit byte for
//! byte, it becomes a `revisit` record without body (profile `identical-payload-digest`), as does a
//! 304 (profile `server-not-modified`). The fetcher hands over decoded bodies, so the headers in a
//! record describe the decoded body. `Content-Encoding` is kept as
//! `X-Archive-Orig-Content-Encoding`.
//!
//! A `response` names the record of the page's previous body in the field [`BODY_BEFORE`]. So a
//! page's record leads to its last body, that one to the body before it, and a visit looks nothing
//! up.
//!
//! Page workers build and compress records ([`Record::compress`]); [`Archive`] only appends them in
//! order. A position in a page's record stays valid: records never move. Old files are removed
//! whole ([`cap`]), and a record that is taken down is overwritten in place ([`takedown`]).

pub mod answer;
pub mod cap;
pub mod records;
pub mod recovery;
pub mod surt;
pub mod takedown;
pub mod verify;
mod writer;

pub use recovery::{ArchiveMark, Recovery, recover};
pub use writer::{Archive, ArchiveEnd};

use flate2::{Compress, Compression, FlushCompress, Status};
use recrawl_repository::storage::Storage;
use recrawl_types::ArchivePosition;
use sha1::{Digest, Sha1};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The last second of the year 9999, in milliseconds since 1970: a later time has no text.
pub const LAST_SECOND: u64 = 253_402_300_799_000;

/// The kind of a WARC record, with its content.
pub enum Record<'a> {
    /// A response with its body.
    Response {
        /// The body was cut at `fetch.max_body`.
        truncated: bool,
        /// Decoded body.
        body: &'a [u8],
        /// Position of the page's previous body, if its record named it.
        before: Option<ArchivePosition>,
    },
    /// A response whose body is already archived.
    Same {
        /// Decoded body, for its digest.
        body: &'a [u8],
    },
    /// The server answered 304.
    NotModified,
}

/// Field with the position of the page's previous body, as file and byte: `recrawl-000001.warc.gz
/// 1234`. WARC 1.1 permits extension fields (§4), and forbids `WARC-Refers-To` in a `response`
/// (§5.11).
pub const BODY_BEFORE: &str = "X-Recrawl-Body-Before";

const REVISIT: &str = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/";

/// The parts common to all records.
pub struct Head<'a> {
    /// Canonical URL of the page.
    pub url: &'a str,
    /// Time of the fetch, in milliseconds since 1970.
    pub at: u64,
    /// Address of the server.
    pub peer: Option<std::net::IpAddr>,
    /// HTTP status.
    pub status: u16,
}

impl Record<'_> {
    /// The record as one gzip member, ready to append.
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

/// A `resource` record with the document that a browser made of the response at `at`, as one gzip member.
pub fn rendered(compressor: &mut Compressor, url: &str, at: u64, document: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {url}\r\nWARC-Date: {}\r\nWARC-Record-ID: <{}>\r\n\
         WARC-Concurrent-To: <{}>\r\nWARC-Payload-Digest: sha1:{}\r\n\
         Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        timestamp(at),
        record_id(&format!("rendered:{url}"), at),
        record_id(url, at),
        payload_digest(document),
        document.len()
    );
    compressor.member(&[head.as_bytes(), document, b"\r\n\r\n"])
}

/// Status line and headers, without those that no longer describe the body.
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

/// Makes gzip members. Each page worker keeps one: clearing a new compressor's tables takes longer
/// than compressing a page.
pub struct Compressor(Compress);

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor::new()
    }
}

impl Compressor {
    /// Level 1 takes a quarter to a third of the time of the default level, for 37 to 47 % more bytes
    /// (docs/internals/measurements.md).
    pub fn new() -> Compressor {
        Compressor(Compress::new_gzip(Compression::new(1), 15))
    }

    /// Compresses all parts into one member.
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

    /// Compresses until all of `part` is consumed or, when finishing, until all output is written.
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

/// A name-based UUID (RFC 9562 §5.5) of URL and time, so a replay gives the same one.
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

/// A digest in WARC notation: SHA-1 in base 32.
fn payload_digest(body: &[u8]) -> String {
    data_encoding::BASE32.encode(&Sha1::digest(body))
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

/// Path of the WARC file with this number.
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

/// The first record of a file.
fn warcinfo(name: &str, at: u64) -> Vec<u8> {
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

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The numbers of all WARC files of a storage, in order.
///
/// # Errors
/// When the storage cannot be listed.
pub fn numbers(storage: &dyn Storage) -> io::Result<Vec<u32>> {
    let mut numbers: Vec<u32> = storage.list()?.iter().filter_map(|name| number_in(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn in_file(storage: &dyn Storage, name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", storage.locate(name)))
}

/// Milliseconds since 1970 as `2026-01-31T12:00:00Z`, in whole seconds (RFC 3339).
pub fn timestamp(at: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_millis(at.min(LAST_SECOND)))
        .to_string()
}

#[cfg(test)]
mod tests;
