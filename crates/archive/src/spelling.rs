//! Times, digests, names of records and places of files, as WARC and people write them.

use recrawl_repository::storage::Storage;
use sha1::{Digest, Sha1};
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};

/// The last second of the year 9999, in milliseconds since 1970: a later time has no text.
pub const LAST_SECOND: u64 = 253_402_300_799_000;

/// A name-based UUID (RFC 9562 §5.5) of URL and time, so a replay gives the same one.
pub fn record_id(url: &str, at: u64) -> String {
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
pub fn payload_digest(body: &[u8]) -> String {
    data_encoding::BASE32.encode(&Sha1::digest(body))
}

/// An error with the place of the file that it happened to.
pub fn in_file(storage: &dyn Storage, name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", storage.locate(name)))
}

/// Milliseconds since 1970 as `2026-01-31T12:00:00Z`, in whole seconds (RFC 3339).
pub fn timestamp(at: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_millis(at.min(LAST_SECOND)))
        .to_string()
}

/// Seconds since 1970 of such a time; 0 if it is none.
pub fn seconds_of(date: &str) -> u64 {
    let at =
        humantime::parse_rfc3339(date).ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    at.map_or(0, |at| at.as_secs())
}
