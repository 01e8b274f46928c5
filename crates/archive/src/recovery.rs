//! Where the archive ends after a stop, a crash or a power cut, and which positions of the visit
//! log lead into it.
//!
//! The recorder appends a body first and the visit that names it second, and syncs them in the same
//! order every few seconds. But a disk writes what was not synced in any order: after a power cut
//! the log may name bodies that the archive does not have. So the archive is recovered before the
//! log: its newest file is read from the last end that is known to be durable, and what it has of
//! whole records is its sound end. The log is cut before the first visit whose body lies behind it,
//! and such pages are visited again. Older files are whole: each was synced before the next was
//! begun.
//!
//! After a recovery a new file is begun. So no position can come to mean another record than the
//! one it was given for.

use super::records::Records;
use super::{ArchiveEnd, file_name, in_file, numbers};
use recrawl_repository::storage::Storage;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};

/// What is remembered of the archive, outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveMark {
    /// All before this end is durable.
    #[serde(flatten)]
    pub end: ArchiveEnd,
    /// May something have been appended since?
    #[serde(default)]
    pub is_open: bool,
}

/// How the archive was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// No body of the log's lies at or behind it.
    pub sound: ArchiveEnd,
    /// The archive goes on here.
    pub end: ArchiveEnd,
    /// In a new file? Else the last one was closed, and nothing has touched it.
    pub is_new_file: bool,
}

/// Finds the end of the archive; `mark` is what was remembered when it was opened or closed last.
/// Where that is missing, or the file that it names, `named` gives the highest number of a file
/// that a page's record names: files may have been taken away.
///
/// # Errors
/// When a file cannot be read, cut or synced; with its name.
pub fn recover(
    storage: &dyn Storage,
    mark: Option<ArchiveMark>,
    named: impl FnOnce() -> io::Result<u32>,
) -> io::Result<Recovery> {
    let newest = numbers(storage)?.last().copied().unwrap_or(0);
    let mut known = mark.map_or(ArchiveEnd::default(), |mark| mark.end);
    if mark.is_none() || newest < known.number {
        known = known.max(ArchiveEnd { number: named()?, length: 0 });
    }
    if newest == 0 {
        return Ok(Recovery { sound: known, end: known, is_new_file: true });
    }
    let name = file_name(newest);
    let failed = |e: io::Error| in_file(storage, &name, &e);
    let length = storage.open(&name).and_then(|file| file.length()).map_err(failed)?;
    let here = ArchiveEnd { number: newest, length };
    if mark == Some(ArchiveMark { end: here, is_open: false }) {
        return Ok(Recovery { sound: here, end: here, is_new_file: false });
    }
    let from = if known.number == newest { known.length.min(length) } else { 0 };
    let (sound, is_tail) = sound_length(storage, newest, from)?;
    let mut file = storage.append(&name).map_err(failed)?;
    // What a killed process left may be on no disk yet, and this file will not be the newest any
    // more.
    file.sync().map_err(failed)?;
    let mut end = here;
    // What is torn at the end would stop other programs. Where nobody remembers what is committed,
    // nothing is cut.
    if mark.is_some() && is_tail && sound < length {
        // A file of which nothing is whole was just being made.
        end = if sound == 0 {
            ArchiveEnd { number: newest - 1, length: 0 }
        } else {
            ArchiveEnd { length: sound, ..here }
        };
        match sound {
            0 => storage.remove(&name).and_then(|()| storage.sync_dir()).map_err(failed)?,
            _ => file.truncate(sound).map_err(failed)?,
        }
        tracing::warn!(file = %storage.locate(&name), bytes = length - sound, "a torn end of the archive was cut off");
    }
    let sound = ArchiveEnd { number: newest, length: sound };
    Ok(Recovery { sound: sound.max(known), end: end.max(known), is_new_file: true })
}

/// Up to where file `number` has whole records, from an end of one on; and is nothing whole behind
/// that?
fn sound_length(storage: &dyn Storage, number: u32, from: u64) -> io::Result<(u64, bool)> {
    let mut records = Records::of(storage, &file_name(number), from)?;
    let mut sound = from;
    loop {
        match records.next_record() {
            Ok(Some(found)) if !found.is_torn => sound = found.offset + found.length,
            Ok(Some(_)) => break,
            Ok(None) => return Ok((sound, true)),
            Err(e) if is_damage(&e) => break,
            Err(e) => return Err(e),
        }
    }
    Ok((sound, records.next_sound(sound + 1)?.is_none()))
}

/// Is it the bytes that are wrong, and not the reading of them?
pub fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests;
