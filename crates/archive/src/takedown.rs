//! Removes bodies from the archive: their records are overwritten in place, so that no other record
//! moves. A takedown can be repeated after an interruption.

use super::files::number_in;
use super::overwrite::{PART, Reason, overwrite};
use super::records::Records;
use super::spelling::in_file;
use recrawl_repository::storage::Storage;
use std::io;
use std::ops::Range;

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
        taken.bytes += places.iter().map(|place| place.end - place.start).sum::<u64>();
        if !only_count {
            overwrite(folder, &name, &places, Reason::TakenDown, now)?;
        }
    }
    Ok(taken)
}

/// Removes what killed programs left: it has bodies of other pages, which no takedown of theirs
/// would find.
fn remove_parts(folder: &dyn Storage) -> io::Result<()> {
    let mut parts = folder.list()?;
    parts.retain(|name| name.strip_suffix(PART).and_then(number_in).is_some());
    for part in &parts {
        folder.remove(part).map_err(|e| in_file(folder, part, &e))?;
    }
    if parts.is_empty() { Ok(()) } else { folder.sync_dir() }
}

/// Positions of the matching records, as far as the file can be read.
fn find(
    folder: &dyn Storage,
    name: &str,
    is_meant: &dyn Fn(&str) -> bool,
    places: &mut Vec<Range<u64>>,
) -> io::Result<()> {
    let mut records = Records::open_at(folder, name, 0)?;
    let length = records.length();
    while let Some(found) = records.next_record()? {
        // Reading a damaged record may run to the end of the file, although it ends before the next
        // record.
        let end = match found.is_torn {
            true => records.next_sound(found.offset + 1)?.unwrap_or(length),
            false => found.offset + found.length,
        };
        if found.field("WARC-Target-URI").is_some_and(is_meant) {
            places.push(found.offset..end);
        }
        if end == length {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
