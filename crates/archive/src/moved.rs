//! The index of a file that was thinned: where its records were. By it, positions in pages' records and in other records
//! stay valid.
//!
//! It is the first record of the file, a gzip member of stored blocks. Its entries ascend, have one width, and lie in one
//! block each. So an entry is found by halving, and nothing is kept in memory.

use super::files::{WarcFiles, is_thinned};
use super::overwrite::stored;
use super::records::{Stored, cut_head, field};
use super::spelling::{in_file, record_id, timestamp};
use recrawl_repository::storage::{ReadFile, Storage};
use recrawl_types::ArchivePosition;
use std::io::{self, ErrorKind};

/// Bytes of an entry: offset before; offset now, or of the body before; number of that body's file.
const WIDTH: usize = 24;
/// Bytes of the fields of the record, a multiple of the width.
const HEAD: usize = 21 * WIDTH;
/// Bytes of a stored block, a multiple of the width.
const BLOCK: usize = 2730 * WIDTH;
/// Bytes of the header of a gzip member.
const GZIP: usize = 10;
/// Bytes of the header of a stored block (RFC 1951 §3.2.4).
const STORED: usize = 5;
/// Instead of the number of a file: the record was dropped, and no body was before it.
const NO_BODY: u64 = u64::MAX;

/// Media type of the index.
pub(crate) const MEDIA: &str = "application/x-recrawl-moved";

/// The fate of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MovedRecord {
    /// It begins at this byte now.
    Kept(u64),
    /// It was dropped; the body before it.
    Dropped(Option<ArchivePosition>),
}

/// Bytes of the index of so many records.
pub(crate) fn length(entries: usize) -> u64 {
    let record = HEAD + entries * WIDTH + 4;
    (GZIP + record + STORED * record.div_ceil(BLOCK) + 8) as u64
}

/// The index of these records, by their offsets before, which ascend.
pub(crate) fn member(entries: &[(u64, MovedRecord)], name: &str, now: u64) -> Vec<u8> {
    let id = record_id(&format!("moved:{name}"), now);
    let head = format!(
        "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <{id}>\r\nWARC-Date: {}\r\nContent-Type: {MEDIA}\r\n\
         Content-Length: ",
        timestamp(now)
    );
    // Spaces before a value mean nothing.
    let width = HEAD - head.len() - 4;
    let mut record = format!("{head}{:>width$}\r\n\r\n", entries.len() * WIDTH).into_bytes();
    for (offset, entry) in entries {
        let (at, file) = match *entry {
            MovedRecord::Kept(at) => (at, 0),
            MovedRecord::Dropped(Some(before)) => (before.offset, before.file.into()),
            MovedRecord::Dropped(None) => (0, NO_BODY),
        };
        record.extend([*offset, at, file].into_iter().flat_map(u64::to_le_bytes));
    }
    record.extend_from_slice(b"\r\n\r\n");
    stored(&record, BLOCK, record.len().div_ceil(BLOCK))
}

/// The index of a file, to read from.
pub(crate) struct MovedIndex {
    file: Box<dyn ReadFile>,
    entries: u64,
}

impl MovedIndex {
    /// Opens the index of a file that was thinned.
    ///
    /// # Errors
    /// With the file's name, also when it does not begin with an index.
    pub fn open(storage: &dyn Storage, name: &str) -> io::Result<MovedIndex> {
        let read = || {
            let file = storage.open(name)?;
            let mut head = [0; HEAD];
            file.read_at(&mut head, (GZIP + STORED) as u64)?;
            let (fields, _) = cut_head(&head);
            let bytes = field(fields, "Content-Length").and_then(|text| text.parse::<u64>().ok());
            let bytes = bytes.filter(|_| field(fields, "Content-Type") == Some(MEDIA));
            let bytes = bytes
                .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "does not begin with its index"))?;
            Ok(MovedIndex { file, entries: bytes / WIDTH as u64 })
        };
        read().map_err(|e| in_file(storage, name, &e))
    }

    /// The fate of the record that began at this byte; none if none did.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn find(&self, offset: u64) -> io::Result<Option<MovedRecord>> {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low + (high - low) / 2;
            let [before, at, file] = self.entry(middle)?;
            match before.cmp(&offset) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    return Ok(Some(match u32::try_from(file) {
                        Ok(0) => MovedRecord::Kept(at),
                        Ok(file) => MovedRecord::Dropped(Some(ArchivePosition { file, offset: at })),
                        Err(_) => MovedRecord::Dropped(None),
                    }));
                }
            }
        }
        Ok(None)
    }

    /// The file of this index, from the record that began at this byte on.
    ///
    /// # Errors
    /// As [`place`].
    pub fn opened_at(self, offset: u64) -> io::Result<Stored> {
        let at = self.place(offset)?;
        Stored::over(self.file, at)
    }

    /// The bytes at which the records that stayed began before, and begin now, ascending.
    pub fn origins(self) -> impl Iterator<Item = (u64, u64)> {
        let entries = (0..self.entries).map_while(move |index| self.entry(index).ok());
        entries.filter(|[.., file]| *file == 0).map(|[before, now, _]| (before, now))
    }

    /// All entries, with other numbers of the files that they name.
    ///
    /// # Errors
    /// When the index cannot be read, or names a file that cannot be.
    pub fn shifted(self, shift: u32) -> io::Result<Vec<(u64, MovedRecord)>> {
        let number = |file: u64| {
            let file = u32::try_from(file).ok().and_then(|file| file.checked_add(shift));
            file.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "its index names no file"))
        };
        let shifted = |index| {
            let [before, offset, file] = self.entry(index)?;
            let record = match file {
                0 => MovedRecord::Kept(offset),
                NO_BODY => MovedRecord::Dropped(None),
                file => MovedRecord::Dropped(Some(ArchivePosition { file: number(file)?, offset })),
            };
            Ok((before, record))
        };
        (0..self.entries).map(shifted).collect()
    }

    /// The byte at which the record of a position begins now.
    fn place(&self, offset: u64) -> io::Result<u64> {
        match self.find(offset)? {
            Some(MovedRecord::Kept(at)) => Ok(at),
            Some(MovedRecord::Dropped(_)) => Err(io::Error::new(
                ErrorKind::NotFound,
                "the record was dropped, to make room in the archive",
            )),
            None => Err(io::Error::new(ErrorKind::InvalidData, "no record began there")),
        }
    }

    fn entry(&self, index: u64) -> io::Result<[u64; 3]> {
        let byte = HEAD as u64 + index * WIDTH as u64;
        let blocks = byte / BLOCK as u64 + 1;
        let mut bytes = [0; WIDTH];
        self.file.read_at(&mut bytes, GZIP as u64 + STORED as u64 * blocks + byte)?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Ok([number(0), number(8), number(16)])
    }
}

/// The byte at which the record of a position begins now.
///
/// # Errors
/// [`ErrorKind::NotFound`] if it was dropped; when the index cannot be read.
pub fn place(storage: &dyn Storage, name: &str, offset: u64) -> io::Result<u64> {
    if !is_thinned(name) {
        return Ok(offset);
    }
    MovedIndex::open(storage, name)?.place(offset)
}

/// Where a position leads: past records that were dropped, to the first body before them that was not.
///
/// # Errors
/// When an index cannot be read.
pub(crate) fn present(
    storage: &dyn Storage,
    files: &WarcFiles,
    mut position: ArchivePosition,
) -> io::Result<Option<ArchivePosition>> {
    while let Some(name) = files.name(position.file).ok().filter(|name| is_thinned(name)) {
        let Some(MovedRecord::Dropped(before)) = MovedIndex::open(storage, name)?.find(position.offset)?
        else {
            break;
        };
        // Each leads further back, so this ends.
        match before.filter(|before| (before.file, before.offset) < (position.file, position.offset)) {
            Some(before) => position = before,
            None => return Ok(None),
        }
    }
    Ok(Some(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Records;
    use recrawl_repository::storage::MemoryStorage;

    const NAME: &str = "recrawl-20231114221320-000007-ab.thinned.warc.gz";

    #[test]
    fn every_entry_is_found_and_nothing_between() {
        for entries in [0, 1, 2709, 2710, 2711, 9000] {
            let entry = |n: u64| match n % 3 {
                0 => MovedRecord::Kept(n),
                1 => MovedRecord::Dropped(Some(ArchivePosition { file: n as u32 + 1, offset: n })),
                _ => MovedRecord::Dropped(None),
            };
            let all: Vec<_> = (0..entries).map(|n| (n * 10 + 5, entry(n))).collect();
            let bytes = member(&all, NAME, 1_700_000_000_000);
            assert_eq!(bytes.len() as u64, length(all.len()));
            let storage = MemoryStorage::with_files([(NAME.to_owned(), bytes)].into());
            let found =
                Records::open_at(&storage, NAME, 0).unwrap().checked().next_record().unwrap().unwrap();
            assert_eq!((found.problem, found.kind(), found.is_torn), (None, Some("metadata"), false));
            let moved = MovedIndex::open(&storage, NAME).unwrap();
            for (offset, entry) in &all {
                assert_eq!(moved.find(*offset).unwrap(), Some(*entry));
                assert_eq!(moved.find(offset + 1).unwrap(), None);
            }
            assert_eq!(moved.find(0).unwrap(), None);
        }
    }
}
