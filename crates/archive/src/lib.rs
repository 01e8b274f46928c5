//! Page bodies on disk: WARC 1.1 files, one gzip member per record (ISO 28500:2017).
//!
//! A fetched page becomes a `response` record. If its body equals that of the last visit byte for
//! byte, it becomes a `revisit` record without body (profile `identical-payload-digest`), as does a
//! 304 (profile `server-not-modified`). The fetcher hands over decoded bodies, so fields that describe
//! the transfer are kept under names such as `X-Archive-Orig-Content-Encoding`. With
//! `storage.archive_requests`, a `request` record follows.
//!
//! A `response` names the record of the page's previous body in the field [`BODY_BEFORE`]. So a
//! page's record leads to its last body, that one to the body before it, and a visit looks nothing
//! up.
//!
//! Page workers build and compress records ([`Record::compress`]); [`Archive`] only appends them in
//! order. [`opener`] knows where the archive is. A position in a page's record stays valid: records never move. Old files are removed
//! whole ([`cap`]), and a record that is taken down is overwritten in place ([`takedown`]).

pub mod answer;
pub mod cap;
mod files;
pub mod opener;
mod overwrite;
mod record;
pub mod records;
pub mod recovery;
pub mod surt;
pub mod takedown;
pub mod verify;
mod warcinfo;
mod writer;

pub use files::{ArchiveReader, WarcFiles};
pub use record::{BODY_BEFORE, Capture, Compressor, Head, HttpVersion, ROUND, Record, Truncation, rendered};
pub use recovery::{ArchiveMark, Recovery, recover};
pub use warcinfo::Provenance;
pub use writer::{Archive, ArchiveEnd};

use recrawl_repository::storage::Storage;
use sha1::{Digest, Sha1};
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};

/// The last second of the year 9999, in milliseconds since 1970: a later time has no text.
pub const LAST_SECOND: u64 = 253_402_300_799_000;

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
