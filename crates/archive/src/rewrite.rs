//! Writes a file anew without some of its records. An index at its begin says where the others lie now.

use super::answer::body_before;
use super::files::{is_thinned, number_in, thinned_name};
use super::moved::{MovedRecord, length, member};
use super::overwrite::{PART, Reason};
use super::record::BODY_BEFORE;
use super::records::{FoundRecord, Records, Stored};
use super::spelling::in_file;
use recrawl_repository::storage::{Storage, copy};
use recrawl_types::ArchivePosition;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::ops::Range;

/// Records that go, or went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Versions: responses with their bodies.
    pub versions: u64,
    /// All records, also revisits and requests.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the indices that come instead.
    pub indices: u64,
}

impl Dropped {
    /// Adds another figure.
    pub fn add(&mut self, other: Dropped) {
        self.versions += other.versions;
        self.records += other.records;
        self.bytes += other.bytes;
        self.indices += other.indices;
    }

    /// Bytes that become free.
    pub fn freed(&self) -> u64 {
        self.bytes.saturating_sub(self.indices)
    }
}

/// The records of a file, by what becomes of them.
#[derive(Default)]
pub(crate) struct Sorted {
    /// Of the file.
    number: u32,
    /// Bytes that stay, ascending.
    stays: Vec<Range<u64>>,
    /// Their number.
    bytes: u64,
    /// The records that positions may name.
    entries: Vec<(u64, MovedRecord)>,
    pub dropped: Dropped,
}

impl Sorted {
    /// Sorts the records of a file that was not written anew yet. `decides` says of responses and revisits, with their
    /// positions, whether they stay.
    ///
    /// # Errors
    /// When the file cannot be opened. The inner one says why it cannot be read: it is damaged, or its disk.
    pub fn read(
        storage: &dyn Storage,
        (number, name): (u32, &str),
        decides: &mut dyn FnMut(&FoundRecord, &str, ArchivePosition) -> bool,
    ) -> io::Result<io::Result<Sorted>> {
        let records = Records::open_at(storage, name, 0)?;
        Ok(Sorted { number, ..Sorted::default() }.filled(records, decides))
    }

    fn filled(
        mut self,
        mut records: Records<Stored>,
        decides: &mut dyn FnMut(&FoundRecord, &str, ArchivePosition) -> bool,
    ) -> io::Result<Sorted> {
        // Requests and documents of a browser lie behind their response.
        let mut stays = true;
        while let Some(found) = records.next_record()? {
            if found.is_torn {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "incomplete record"));
            }
            let at = ArchivePosition { file: self.number, offset: found.offset };
            stays = match (found.kind(), found.field("WARC-Target-URI")) {
                (Some("response" | "revisit"), Some(url)) => decides(&found, url, at),
                (_, Some(_)) => stays,
                _ => Reason::find(&found) != Some(Reason::Torn),
            };
            self.take(&found, stays);
        }
        let entries = length(self.entries.len());
        for (_, entry) in &mut self.entries {
            if let MovedRecord::Kept(at) = entry {
                *at += entries;
            }
        }
        self.dropped.indices = entries;
        Ok(self)
    }

    /// The body before a dropped record, passing those of this file that were dropped as well: so a reader takes one step
    /// for each file.
    fn passed(&self, body: ArchivePosition) -> Option<ArchivePosition> {
        let known = self.entries.binary_search_by_key(&body.offset, |(offset, _)| *offset);
        match known.ok().filter(|_| body.file == self.number).map(|at| self.entries[at].1) {
            Some(MovedRecord::Dropped(before)) => before,
            _ => Some(body),
        }
    }

    fn take(&mut self, found: &FoundRecord, stays: bool) {
        let end = found.offset + found.length;
        let entry = match stays {
            true => MovedRecord::Kept(self.bytes),
            false => MovedRecord::Dropped(
                found.field(BODY_BEFORE).and_then(body_before).and_then(|body| self.passed(body)),
            ),
        };
        if matches!(found.kind(), Some("response" | "metadata")) {
            self.entries.push((found.offset, entry));
        }
        if !stays {
            let versions = u64::from(found.kind() == Some("response"));
            self.dropped.add(Dropped { versions, records: 1, bytes: found.length, indices: 0 });
            return;
        }
        self.bytes += found.length;
        match self.stays.last_mut().filter(|last| last.end == found.offset) {
            Some(last) => last.end = end,
            None => self.stays.push(found.offset..end),
        }
    }

    /// Writes the new file, and removes the one before. The new file is complete and durable before its name is, and its
    /// name before the old one goes. So at any moment one of them is complete, and the new one counts as soon as it is
    /// there ([`WarcFiles`](super::files::WarcFiles)). [`tidy`] removes what an interruption leaves.
    ///
    /// # Errors
    /// When a file cannot be read or written, with the file's name.
    pub fn rewrite(&self, storage: &dyn Storage, name: &str, now: u64) -> io::Result<()> {
        let thinned = thinned_name(name);
        let part = format!("{thinned}{PART}");
        let write = || {
            let old = storage.open(name)?;
            let mut new = storage.create(&part)?;
            new.write(&member(&self.entries, name, now))?;
            self.stays.iter().try_for_each(|bytes| copy(&*old, bytes.clone(), &mut *new))?;
            new.sync()?;
            drop(new);
            storage.rename(&part, &thinned)?;
            storage.sync_dir()?;
            storage.remove(name)?;
            storage.sync_dir()
        };
        write().map_err(|e: io::Error| {
            // On a full disk it would take the last room.
            let _ = storage.remove(&part);
            in_file(storage, name, &e)
        })
    }
}

/// Removes what an interruption left: unfinished files, and files whose thinned one is there.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn tidy(storage: &dyn Storage) -> io::Result<()> {
    let names: BTreeSet<String> = storage.list()?.into_iter().collect();
    let is_left = |name: &&String| match name.strip_suffix(PART) {
        Some(whole) => number_in(whole).is_some() && is_thinned(whole),
        None => number_in(name).is_some() && names.contains(&thinned_name(name)),
    };
    let left: Vec<&String> = names.iter().filter(is_left).collect();
    left.iter().try_for_each(|name| storage.remove(name))?;
    if left.is_empty() { Ok(()) } else { storage.sync_dir() }
}
