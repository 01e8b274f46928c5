//! Finds the end of the archive after a stop, a crash or a power cut, and thereby which visits of
//! the log have their bodies.
//!
//! The recorder appends a body first and the visit that names it second, and syncs them in the same
//! order every few seconds. But a disk writes unsynced data in any order: after a power cut the log
//! may name bodies that the archive does not have. So the archive is recovered before the log. Its
//! newest file is read from the last end known to be durable, and its sound end is the end of the
//! last complete record before a torn one. The log is then cut before the first visit whose body
//! lies behind that end, and the pages of the visits cut off are visited again. Older files are
//! complete: each was synced before the next was created.
//!
//! Other programs stop reading at a torn record. So one at the end of the file is cut off, and one
//! before complete records is overwritten: nothing complete is removed. The power may fail again
//! before the log is cut, so the record that replaces a torn one ends the sound part, too.
//!
//! Every recovery starts a new file. So no position can come to refer to another record.

use super::files::WarcFiles;
use super::overwrite::{Reason, overwrite};
use super::records::{Records, is_damage};
use super::spelling::in_file;
use super::writer::ArchiveEnd;
use recrawl_repository::storage::Storage;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::ops::Range;

/// A torn part more than twice as long is replaced by several records of this many bytes, since each
/// is built in memory.
const PIECE: u64 = 1 << 20;

/// The remembered state of the archive, stored outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveMark {
    /// Everything before this end is durable.
    #[serde(flatten)]
    pub end: ArchiveEnd,
    /// May something have been appended since?
    #[serde(default)]
    pub is_open: bool,
}

/// Result of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// End of the sound part: every body named by the log lies before it.
    pub sound: ArchiveEnd,
    /// Where the archive is continued.
    pub end: ArchiveEnd,
    /// Is it continued in a new file? Otherwise the last file was closed properly.
    pub is_new_file: bool,
}

/// Finds the end of the archive. `mark` is the state remembered when the archive was last opened or
/// closed. If the mark or the file that it names is missing, `named` gives the highest file number
/// in any page's record, since files may have been moved away. `now` in milliseconds since 1970 is
/// the time of records that replace torn ones.
///
/// # Errors
/// When a file cannot be read, cut or synced; with its name.
pub fn recover(
    storage: &dyn Storage,
    mark: Option<ArchiveMark>,
    named: impl FnOnce() -> io::Result<u32>,
    now: u64,
) -> io::Result<Recovery> {
    let files = WarcFiles::in_storage(storage)?;
    let newest = files.newest();
    let mut known = mark.map_or(ArchiveEnd::default(), |mark| mark.end);
    if mark.is_none() || newest < known.number {
        known = known.max(ArchiveEnd { number: named()?, length: 0 });
    }
    // Without a file, or with the newest one moved away. The other ones are complete.
    if newest == 0 || newest < known.number {
        return Ok(Recovery { sound: known, end: known, is_new_file: true });
    }
    let name = files.name(newest)?;
    let failed = |e: io::Error| in_file(storage, name, &e);
    let length = storage.open(name).and_then(|file| file.length()).map_err(failed)?;
    let here = ArchiveEnd { number: newest, length };
    if mark == Some(ArchiveMark { end: here, is_open: false }) {
        return Ok(Recovery { sound: here, end: here, is_new_file: false });
    }
    let from = if known.number == newest { known.length.min(length) } else { 0 };
    let (sound, mut torn) = torn(storage, name, from, length)?;
    let mut file = storage.append(name).map_err(failed)?;
    // Data left by a killed process may not be on disk yet, and this file will no longer be the
    // newest.
    file.sync().map_err(failed)?;
    let mut end = here;
    // Without a mark, nothing is cut or overwritten, since it is unknown what is committed.
    if mark.is_some() {
        if let Some(last) = torn.pop_if(|torn| torn.end == length) {
            end.length = last.start;
            // A file without a complete record was just being created.
            if last.start == 0 {
                end = before(storage, &files, newest)?;
                storage.remove(name).and_then(|()| storage.sync_dir()).map_err(failed)?;
            } else {
                file.truncate(last.start).map_err(failed)?;
            }
            let (file, bytes) = (storage.locate(name), length - last.start);
            tracing::warn!(file, bytes, "truncated an incomplete record at the end of the archive");
        }
        drop(file);
        if !torn.is_empty() {
            overwrite_torn(storage, name, &torn, now)?;
        }
    }
    let sound = ArchiveEnd { number: newest, length: sound };
    Ok(Recovery { sound: sound.max(known), end: end.max(known), is_new_file: true })
}

/// The end of the file before `newest`; that of no file if it is missing.
fn before(storage: &dyn Storage, files: &WarcFiles, newest: u32) -> io::Result<ArchiveEnd> {
    let number = newest - 1;
    let length = match files.name(number) {
        Ok(name) => {
            storage.open(name).and_then(|file| file.length()).map_err(|e| in_file(storage, name, &e))?
        }
        Err(_) => 0,
    };
    Ok(ArchiveEnd { number, length })
}

/// Reads a file from the record end `from`. Returns the end of its sound part, and the bytes that
/// belong to no complete record, ascending.
fn torn(storage: &dyn Storage, name: &str, from: u64, length: u64) -> io::Result<(u64, Vec<Range<u64>>)> {
    let mut records = Records::open_at(storage, name, from)?;
    let (mut sound, mut torn) = (length, Vec::new());
    loop {
        let offset = records.offset();
        match records.next_record() {
            Ok(Some(found)) if !found.is_torn => {
                if Reason::find(&found) == Some(Reason::Torn) {
                    sound = sound.min(offset);
                }
                continue;
            }
            Ok(None) => return Ok((sound, torn)),
            Err(e) if !is_damage(&e) => return Err(e),
            Ok(Some(_)) | Err(_) => {}
        }
        sound = sound.min(offset);
        let next = records.next_sound(offset + 1)?;
        torn.push(offset..next.unwrap_or(length));
        if next.is_none() {
            return Ok((sound, torn));
        }
    }
}

/// Overwrites the torn parts of a file. A full disk is no error: the crawl does not need it, and a daemon
/// must start.
fn overwrite_torn(storage: &dyn Storage, name: &str, torn: &[Range<u64>], now: u64) -> io::Result<()> {
    let file = storage.locate(name);
    let bytes: u64 = torn.iter().map(|torn| torn.end - torn.start).sum();
    match overwrite(storage, name, &pieces(torn), Reason::Torn, now) {
        Ok(()) => tracing::warn!(file, bytes, "overwrote incomplete records in the archive"),
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            tracing::warn!(
                "the disk is too full to overwrite incomplete records in the archive; other programs stop \
                 reading {file} there: {error}"
            );
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Cuts the places into pieces that one record each replaces. The last one is never short.
fn pieces(torn: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut pieces = Vec::new();
    for Range { mut start, end } in torn.iter().cloned() {
        while end - start > 2 * PIECE {
            pieces.push(start..start + PIECE);
            start += PIECE;
        }
        pieces.push(start..end);
    }
    pieces
}

#[cfg(test)]
mod tests;
