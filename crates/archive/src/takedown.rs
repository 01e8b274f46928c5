//! Removes bodies from the archive: their records are overwritten in place, so that no other record
//! moves.
//!
//! Each is replaced by one gzip member of the same length, stored without compression. It holds a
//! WARC record of type `metadata` which only says that something was taken down. The file is
//! written anew beside the old one and renamed over it. So at any moment one of them is complete,
//! and the takedown can be repeated after an interruption.

use super::files::number_in;
use super::records::Records;
use super::{in_file, record_id, timestamp};
use flate2::Crc;
use recrawl_repository::storage::Storage;
use std::io;

/// Maximum bytes of a stored deflate block.
const BLOCK: usize = 65_535;
/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;
/// Text of the replacing record; spaces fill the rest.
const WORDS: &[u8] = b"takedown: this record was removed\r\n";
/// Suffix of the new file until it is complete. The next takedown removes what a killed one left: it has bodies of other
/// pages, which no takedown of theirs would find.
const PART: &str = ".part";

/// Result of a takedown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenDown {
    /// Files with such records.
    pub files: u64,
    /// Number of records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that could only be read in part, and why. Matching records in the unread part are
    /// still there.
    pub unreadable: Vec<String>,
}

/// Overwrites the records of all matching URLs in all WARC files of the folder, or only counts
/// them. A damaged record does not stop the takedown in other files.
///
/// # Errors
/// When a file cannot be written, with its name. The files before it are done; this one and the
/// later ones are unchanged.
pub fn take_down(
    folder: &dyn Storage,
    is_meant: &dyn Fn(&str) -> bool,
    now: u64,
    only_count: bool,
) -> io::Result<TakenDown> {
    if !only_count {
        remove_parts(folder)?;
    }
    let mut names = folder.list()?;
    names.retain(|name| number_in(name).is_some());
    names.sort_unstable();
    let mut taken = TakenDown::default();
    for name in names {
        let mut places = Vec::new();
        if let Err(error) = find(folder, &name, is_meant, &mut places) {
            taken.unreadable.push(error.to_string());
        }
        if places.is_empty() {
            continue;
        }
        taken.files += 1;
        taken.records += places.len() as u64;
        taken.bytes += places.iter().map(|place| place.length).sum::<u64>();
        if !only_count {
            let part = format!("{name}{PART}");
            rewrite(folder, &name, &part, &places, now).map_err(|e| {
                // It may not be there; the next takedown removes what stays.
                let _ = folder.remove(&part);
                in_file(folder, &name, &e)
            })?;
        }
    }
    Ok(taken)
}

/// Removes what killed takedowns left.
fn remove_parts(folder: &dyn Storage) -> io::Result<()> {
    let mut parts = folder.list()?;
    parts.retain(|name| name.strip_suffix(PART).and_then(number_in).is_some());
    for part in &parts {
        folder.remove(part).map_err(|e| in_file(folder, part, &e))?;
    }
    if parts.is_empty() { Ok(()) } else { folder.sync_dir() }
}

struct Place {
    offset: u64,
    length: u64,
}

/// Positions of the matching records, as far as the file can be read.
fn find(
    folder: &dyn Storage,
    name: &str,
    is_meant: &dyn Fn(&str) -> bool,
    places: &mut Vec<Place>,
) -> io::Result<()> {
    let mut records = Records::of(folder, name, 0)?;
    let length = records.length();
    while let Some(found) = records.next_record()? {
        // Reading a damaged record may run to the end of the file, although it ends before the next
        // record.
        let end = match found.is_torn {
            true => records.next_sound(found.offset + 1)?.unwrap_or(length),
            false => found.offset + found.length,
        };
        if found.field("WARC-Target-URI").is_some_and(is_meant) {
            places.push(Place { offset: found.offset, length: end - found.offset });
        }
        if end == length {
            break;
        }
    }
    Ok(())
}

/// Copies the file to `part`, with a notice in place of each record at `places`, and renames that to `name`.
fn rewrite(folder: &dyn Storage, name: &str, part: &str, places: &[Place], now: u64) -> io::Result<()> {
    let old = folder.open(name)?;
    let length = old.length()?;
    let mut new = folder.create(part)?;
    let mut at = 0;
    let mut buffer = Vec::new();
    let mut copy = |from: u64, to: u64, new: &mut dyn FnMut(&[u8]) -> io::Result<()>| {
        let mut from = from;
        while from < to {
            buffer.resize((to - from).min(CHUNK) as usize, 0);
            old.read_at(&mut buffer, from)?;
            new(&buffer)?;
            from += buffer.len() as u64;
        }
        Ok::<_, io::Error>(())
    };
    for place in places {
        copy(at, place.offset, &mut |bytes| new.write(bytes))?;
        // A place too short for a record held an incomplete one; zeros keep it unreadable.
        let id = record_id(&format!("{name}/{}", place.offset), now);
        let notice = notice(place.length as usize, &id, now);
        new.write(&notice.unwrap_or_else(|| vec![0; place.length as usize]))?;
        at = place.offset + place.length;
    }
    copy(at, length, &mut |bytes| new.write(bytes))?;
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

/// A gzip member of exactly this length with a record in it; none if the length is too small.
fn notice(length: usize, id: &str, now: u64) -> Option<Vec<u8>> {
    // Header and trailer of the member, five bytes per block; the rest is the record.
    let inside = length.checked_sub(10 + 8)?;
    let blocks = inside.div_ceil(BLOCK + 5).max(1);
    let record_bytes = inside.checked_sub(5 * blocks)?;
    let head = |content: usize| {
        // A fixed width for any number: spaces before a field's value mean nothing.
        format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <{id}>\r\nWARC-Date: {}\r\n\
             Content-Type: application/warc-fields\r\nContent-Length: {content:>12}\r\n\r\n",
            timestamp(now)
        )
    };
    let content = record_bytes.checked_sub(head(0).len() + 4)?;
    let mut record = head(content).into_bytes();
    record.extend(WORDS.iter().chain(std::iter::repeat(&b' ')).take(content));
    record.extend_from_slice(b"\r\n\r\n");

    let mut member = Vec::with_capacity(length);
    // No name, no time, no flags, unknown operating system (RFC 1952 §2.3).
    member.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    let mut rest = record.as_slice();
    for block in 0..blocks {
        let (held, after) = rest.split_at(rest.len().min(BLOCK));
        rest = after;
        member.push(u8::from(block + 1 == blocks));
        member.extend_from_slice(&(held.len() as u16).to_le_bytes());
        member.extend_from_slice(&(!(held.len() as u16)).to_le_bytes());
        member.extend_from_slice(held);
    }
    let mut crc = Crc::new();
    crc.update(&record);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&(record.len() as u32).to_le_bytes());
    debug_assert_eq!(member.len(), length);
    Some(member)
}

#[cfg(test)]
mod tests;
