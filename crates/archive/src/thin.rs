//! Thins the archive out: of the versions of a page that are old enough, the last one of each month stays.
//!
//! A file is thinned once, when all its records are old enough. The age is at least a month, so what comes later changes no
//! decision. A revisit refers to the version before it, so it goes with that version, and never without it: what stays refers
//! to a body that stays. A position that a page's record names stays, too, with the version before it.
//!
//! Whole months become due: a revisit in a file that is not due keeps its version for good. Files are read in order, from
//! the oldest that is due to the end of its last month. Memory: some 64 bytes for each page and
//! month in the files that are due, which are taken up to `MAX_KEYS` or one file at a time.

use super::answer::body_before;
use super::files::{WarcFiles, is_thinned, number_in, thinned_name};
use super::moved::{Entry, length, member};
use super::overwrite::{PART, Reason};
use super::record::BODY_BEFORE;
use super::records::{Found, Records, is_damage};
use super::spelling::{in_file, seconds_of, timestamp};
use recrawl_repository::storage::{Storage, copy};
use recrawl_types::ArchivePosition;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_128;

/// Pages by months of which the last version is known, before a further file waits for the next pass: some 100 MB.
const MAX_KEYS: usize = 2 << 20;
/// Least age of versions that go, in milliseconds: a month is over by then.
pub const MIN_AGE: u64 = 31 * 86_400_000;

/// The begin of the month of a time, in milliseconds since 1970.
pub fn begin_of_month(at: u64) -> u64 {
    seconds_of(&format!("{}-01T00:00:00Z", &timestamp(at)[..7])).saturating_mul(1000)
}

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

/// The archive to thin.
pub struct Thinning<'a> {
    /// Its files.
    pub storage: &'a dyn Storage,
    /// The positions in these files that pages' records name.
    pub named: &'a dyn Fn(&BTreeSet<u32>) -> io::Result<BTreeSet<ArchivePosition>>,
    /// Asked at each file: an error ends the work.
    pub go_on: &'a dyn Fn() -> io::Result<()>,
}

/// Some files that are due, and the last version of each of their pages in each month.
pub struct DueFiles {
    files: Vec<(u32, String)>,
    /// By page and month, the last version, or the first visit if there is none, and the version before it.
    last: HashMap<u128, (ArchivePosition, Option<ArchivePosition>)>,
    /// Versions that stay all the same: pages' records name them, or revisits in files that are not due refer to them.
    stays: BTreeSet<ArchivePosition>,
    /// The last month of these files.
    until: String,
}

impl DueFiles {
    /// The number of the last file.
    pub fn end(&self) -> u32 {
        self.files.last().map_or(0, |(number, _)| *number)
    }
}

/// The key of a page in a month, and the month.
fn key<'f>(found: &'f Found, url: &str) -> Option<(u128, &'f str)> {
    let month = found.field("WARC-Date")?.get(..7)?;
    Some((xxh3_128(format!("{month} {url}").as_bytes()), month))
}

impl Thinning<'_> {
    /// The next files behind number `after` that are due: their records are from before `until`, in milliseconds since
    /// 1970. None if there is none.
    ///
    /// # Errors
    /// When a file cannot be read. Damage is no error: a damaged file stays as it is.
    pub fn next(&self, after: u32, until: u64) -> io::Result<Option<DueFiles>> {
        let files = WarcFiles::in_storage(self.storage)?;
        let files: Vec<(u32, &str)> = files.iter().filter(|(number, _)| *number > after).collect();
        let mut batch =
            DueFiles { files: vec![], last: HashMap::new(), stays: BTreeSet::new(), until: String::new() };
        let mut is_full = false;
        for (at, (number, name)) in files.iter().enumerate() {
            (self.go_on)()?;
            is_full = is_full || batch.last.len() >= MAX_KEYS;
            // The next file began when this one was complete. The newest is never complete.
            let mut next = None;
            for (_, later) in &files[at + 1..] {
                next = self.begun(later)?;
                if next.is_some() {
                    break;
                }
            }
            let is_due = next.is_some_and(|date| seconds_of(&date).saturating_mul(1000) <= until);
            is_full |= !is_due;
            let is_later = |date: String| date.get(..7).is_some_and(|month| month > &*batch.until);
            if is_full && (batch.files.is_empty() || self.begun(name)?.is_some_and(is_later)) {
                break;
            }
            self.read(*number, name, !is_full, &mut batch)?;
            if !is_full {
                batch.files.push((*number, (*name).to_owned()));
            }
        }
        if batch.files.is_empty() {
            return Ok(None);
        }
        let named = (self.named)(&batch.files.iter().map(|(number, _)| *number).collect())?;
        // A first answer without text is no change: what the page has is the version before it.
        let before = batch.last.values().filter(|(last, _)| named.contains(last));
        let before: Vec<ArchivePosition> = before.filter_map(|(_, before)| *before).collect();
        batch.stays.extend(named.into_iter().chain(before));
        Ok(Some(batch))
    }

    /// The date of a file's first record of the crawl.
    fn begun(&self, name: &str) -> io::Result<Option<String>> {
        let mut records = Records::of(self.storage, name, 0)?;
        let mut read = || -> io::Result<Option<String>> {
            // A thinned file begins with its index, which is younger.
            if is_thinned(name) {
                records.next_record()?;
            }
            let found = records.next_record()?;
            Ok(found
                .and_then(|found| found.field("WARC-Date").filter(|date| date.len() > 7).map(str::to_owned)))
        };
        read().or_else(|e| if is_damage(&e) { Ok(None) } else { Err(e) })
    }

    /// Notes the versions of a file: those of all pages, or else of known ones.
    fn read(&self, number: u32, name: &str, is_due: bool, batch: &mut DueFiles) -> io::Result<()> {
        let mut records = Records::of(self.storage, name, 0)?;
        loop {
            let found = match records.next_record() {
                Ok(Some(found)) if !found.is_torn => found,
                Err(e) if !is_damage(&e) => return Err(e),
                // What is behind damage stays, and so does all before it.
                _ => return Ok(()),
            };
            let url = found.field("WARC-Target-URI");
            let Some((key, month)) = url.and_then(|url| key(&found, url)) else { continue };
            let is_version = match found.kind() {
                Some("response") => true,
                Some("revisit") => false,
                _ => continue,
            };
            let at = ArchivePosition { file: number, offset: found.offset };
            if is_due && month > &*batch.until {
                batch.until = month.to_owned();
            }
            match batch.last.get_mut(&key) {
                Some(last) if is_version => *last = (at, Some(last.0)),
                // It refers to that version, if it is of this month.
                Some((last, _)) if !is_due => drop(batch.stays.insert(*last)),
                Some(_) => {}
                // Also by a revisit alone: an interrupted pass may have dropped its version, and it goes, too.
                None if is_due => drop(batch.last.insert(key, (at, None))),
                None => {}
            }
        }
    }

    /// Drops what goes from the files of a batch, or only counts it. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// When a file cannot be read or written, with its name. The files before it are done.
    pub fn drop_from(&self, batch: &DueFiles, now: u64, only_count: bool) -> io::Result<Dropped> {
        let mut dropped = Dropped::default();
        for (number, name) in batch.files.iter().filter(|(_, name)| !is_thinned(name)) {
            (self.go_on)()?;
            match self.sorted(batch, *number, name) {
                Ok(sorted) if sorted.dropped.records > 0 => {
                    dropped.add(sorted.dropped);
                    if !only_count {
                        self.rewrite(name, &sorted, now)?;
                    }
                }
                Ok(_) => {}
                Err(e) if is_damage(&e) => {
                    tracing::warn!("not thinned (storage.keep_versions), since it is damaged: {e}");
                }
                Err(e) => return Err(e),
            }
        }
        Ok(dropped)
    }

    /// Sorts the records of a file by whether they stay, and says where they will be.
    fn sorted(&self, batch: &DueFiles, number: u32, name: &str) -> io::Result<Sorted> {
        let mut records = Records::of(self.storage, name, 0)?;
        let mut sorted = Sorted { number, ..Sorted::default() };
        // Requests and documents of a browser lie behind their response.
        let mut stays = true;
        while let Some(found) = records.next_record()? {
            if found.is_torn {
                return Err(in_file(
                    self.storage,
                    name,
                    &io::Error::new(ErrorKind::UnexpectedEof, "incomplete record"),
                ));
            }
            let at = ArchivePosition { file: number, offset: found.offset };
            let (kind, url) = (found.kind(), found.field("WARC-Target-URI"));
            stays = match (kind, url) {
                (Some("response" | "revisit"), Some(url)) => {
                    let last = key(&found, url).and_then(|(key, _)| batch.last.get(&key));
                    last.is_none_or(|(last, _)| *last <= at) || batch.stays.contains(&at)
                }
                (_, Some(_)) => stays,
                _ => Reason::of(&found) != Some(Reason::Torn),
            };
            let is_named = matches!(kind, Some("response" | "metadata"));
            sorted.take(&found, stays, is_named);
        }
        let entries = length(sorted.entries.len());
        for (_, entry) in &mut sorted.entries {
            if let Entry::Kept(at) = entry {
                *at += entries;
            }
        }
        sorted.dropped.indices = entries;
        Ok(sorted)
    }

    /// Writes the thinned file, and removes the one before. The new file is complete and durable before its name is, and its
    /// name before the old one goes. So at any moment one of them is complete, and the new one counts as soon as it is there
    /// ([`WarcFiles`]). [`Thinning::tidy`] removes what an interruption leaves.
    fn rewrite(&self, name: &str, sorted: &Sorted, now: u64) -> io::Result<()> {
        let (storage, thinned) = (self.storage, thinned_name(name));
        let part = format!("{thinned}{PART}");
        let write = || {
            let old = storage.open(name)?;
            let mut new = storage.create(&part)?;
            new.write(&member(&sorted.entries, name, now))?;
            sorted.stays.iter().try_for_each(|bytes| copy(&*old, bytes.clone(), &mut *new))?;
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

    /// Removes what an interruption left: unfinished files, and files whose thinned one is there.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn tidy(&self) -> io::Result<()> {
        let names: BTreeSet<String> = self.storage.list()?.into_iter().collect();
        let is_left = |name: &&String| match name.strip_suffix(PART) {
            Some(whole) => number_in(whole).is_some() && is_thinned(whole),
            None => number_in(name).is_some() && names.contains(&thinned_name(name)),
        };
        let left: Vec<&String> = names.iter().filter(is_left).collect();
        left.iter().try_for_each(|name| self.storage.remove(name))?;
        if left.is_empty() { Ok(()) } else { self.storage.sync_dir() }
    }
}

/// The records of a file, by what becomes of them.
#[derive(Default)]
struct Sorted {
    /// Of the file.
    number: u32,
    /// Bytes that stay, ascending.
    stays: Vec<Range<u64>>,
    /// Their number.
    bytes: u64,
    /// The records that positions may name.
    entries: Vec<(u64, Entry)>,
    dropped: Dropped,
}

impl Sorted {
    /// The body before a dropped record, passing those of this file that were dropped as well: so a reader takes one step
    /// for each file.
    fn passed(&self, body: ArchivePosition) -> Option<ArchivePosition> {
        let known = self.entries.binary_search_by_key(&body.offset, |(offset, _)| *offset);
        match known.ok().filter(|_| body.file == self.number).map(|at| self.entries[at].1) {
            Some(Entry::Dropped(before)) => before,
            _ => Some(body),
        }
    }

    fn take(&mut self, found: &Found, stays: bool, is_named: bool) {
        let end = found.offset + found.length;
        let entry = match stays {
            true => Entry::Kept(self.bytes),
            false => Entry::Dropped(
                found.field(BODY_BEFORE).and_then(body_before).and_then(|body| self.passed(body)),
            ),
        };
        if is_named {
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
}

#[cfg(test)]
mod tests;
