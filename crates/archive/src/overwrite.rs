//! Overwrites records of a WARC file in place, so that no other record moves.
//!
//! Each is replaced by one gzip member of the same length, stored without compression. Its WARC
//! record, of type `metadata`, names the reason. A new file is written beside the old one and renamed
//! over it. So at any moment one of them is complete.

use super::records::FoundRecord;
use super::spelling::{in_file, record_id, timestamp};
use flate2::Crc;
use recrawl_repository::storage::{Storage, copy};
use std::io;
use std::ops::Range;

/// Maximum bytes of a stored deflate block.
pub(crate) const BLOCK: usize = 65_535;
/// Suffix of the new file until it is complete.
pub(crate) const PART: &str = ".part";

/// Why records were overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A person had them removed.
    TakenDown,
    /// They were incomplete or damaged after a crash.
    Torn,
}

impl Reason {
    /// Media type and text of the record that replaces them. The type tells the reasons apart.
    fn content(self) -> (&'static str, &'static [u8]) {
        match self {
            Reason::TakenDown => {
                ("application/warc-fields", b"takedown: this record was removed\r\n".as_slice())
            }
            Reason::Torn => ("text/plain", b"recovery: an incomplete record stood here\r\n".as_slice()),
        }
    }

    /// Why the records in place of `found` were overwritten; none for any other record.
    pub(crate) fn find(found: &FoundRecord) -> Option<Reason> {
        let media = found.field("Content-Type").filter(|_| found.kind() == Some("metadata"))?;
        [Reason::TakenDown, Reason::Torn].into_iter().find(|reason| reason.content().0 == media)
    }
}

/// Overwrites the bytes at `places`, which are ascending. A place too short for a record is filled with
/// zeros.
///
/// # Errors
/// When the file cannot be read or written, with its name. It is whole then, as before or as wanted.
pub(crate) fn overwrite(
    folder: &dyn Storage,
    name: &str,
    places: &[Range<u64>],
    reason: Reason,
    now: u64,
) -> io::Result<()> {
    let part = format!("{name}{PART}");
    rewrite(folder, name, &part, places, reason, now).map_err(|e| {
        // It may not be there; the next takedown removes what stays.
        let _ = folder.remove(&part);
        in_file(folder, name, &e)
    })
}

/// Copies the file to `part`, with a notice in each of `places`, and renames that to `name`.
fn rewrite(
    folder: &dyn Storage,
    name: &str,
    part: &str,
    places: &[Range<u64>],
    reason: Reason,
    now: u64,
) -> io::Result<()> {
    let old = folder.open(name)?;
    let length = old.length()?;
    let mut new = folder.create(part)?;
    let mut at = 0;
    for place in places {
        copy(&*old, at..place.start, &mut *new)?;
        let length = (place.end - place.start) as usize;
        let id = record_id(&format!("{name}/{}", place.start), now);
        // A place too short for a record held an incomplete one; zeros keep it unreadable.
        let notice = notice(length, reason, &id, now);
        new.write(&notice.unwrap_or_else(|| vec![0; length]))?;
        at = place.end;
    }
    copy(&*old, at..length, &mut *new)?;
    new.sync()?;
    drop(new);
    let written = folder.open(part)?.length()?;
    if written != length {
        let text = format!("wrote {written} bytes instead of {length}; the file was not changed");
        return Err(io::Error::other(text));
    }
    folder.rename(part, name)?;
    folder.sync_dir()
}

/// A gzip member of exactly this length with a record that says the reason, filled up with spaces;
/// none if the length is too small.
pub(crate) fn notice(length: usize, reason: Reason, id: &str, now: u64) -> Option<Vec<u8>> {
    let (media, words) = reason.content();
    // Header and trailer of the member, five bytes per block; the rest is the record.
    let inside = length.checked_sub(10 + 8)?;
    let blocks = inside.div_ceil(BLOCK + 5).max(1);
    let record_bytes = inside.checked_sub(5 * blocks)?;
    let head = |content: usize| {
        // A fixed width for any number: spaces before a field's value mean nothing.
        format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <{id}>\r\nWARC-Date: {}\r\n\
             Content-Type: {media}\r\nContent-Length: {content:>12}\r\n\r\n",
            timestamp(now)
        )
    };
    let content = record_bytes.checked_sub(head(0).len() + 4)?;
    let mut record = head(content).into_bytes();
    record.extend(words.iter().chain(std::iter::repeat(&b' ')).take(content));
    record.extend_from_slice(b"\r\n\r\n");

    let member = stored(&record, BLOCK, blocks);
    debug_assert_eq!(member.len(), length);
    Some(member)
}

/// A gzip member of stored blocks, of which the last may be empty: without compression, so that each byte of the record has
/// a place.
pub(crate) fn stored(record: &[u8], block: usize, blocks: usize) -> Vec<u8> {
    let mut member = Vec::with_capacity(record.len() + 5 * blocks + 18);
    // No name, no time, no flags, unknown operating system (RFC 1952 §2.3).
    member.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    let mut rest = record;
    for at in 1..=blocks {
        let (held, after) = rest.split_at(rest.len().min(block));
        rest = after;
        member.push(u8::from(at == blocks));
        member.extend_from_slice(&(held.len() as u16).to_le_bytes());
        member.extend_from_slice(&(!(held.len() as u16)).to_le_bytes());
        member.extend_from_slice(held);
    }
    let mut crc = Crc::new();
    crc.update(record);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&(record.len() as u32).to_le_bytes());
    member
}
