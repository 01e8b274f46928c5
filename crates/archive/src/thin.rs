//! Thins the archive out: of the versions of a page that are old enough, the last one of each month stays.
//!
//! A file is thinned once, when all its records are old enough. The age is at least a month, so what comes later changes no
//! decision. A revisit refers to the version before it, so it goes with that version, and never without it: what stays refers
//! to a body that stays. A position that a page's record names stays, too, with the version before it.
//!
//! Whole months become due: a revisit in a file that is not due keeps its version for good. Files are read in order, from
//! the oldest that is due to the end of its last month. Memory: some 64 bytes for each page and
//! month in the files that are due, which are taken up to `MAX_KEYS` or one file at a time.

use super::files::{WarcFiles, is_thinned};
use super::records::{FoundRecord, Records};
pub use super::rewrite::Dropped;
use super::rewrite::Sorted;
use super::spelling::{seconds_of, timestamp};
use recrawl_repository::storage::Storage;
use recrawl_types::ArchivePosition;
use std::collections::{BTreeSet, HashMap};
use std::io;
use xxhash_rust::xxh3::xxh3_128;

/// Pages by months of which the last version is known, before a further file waits for the next pass: some 100 MB.
const MAX_KEYS: usize = 2 << 20;
/// Least age of versions that go, in milliseconds: a month is over by then.
pub const MIN_AGE: u64 = 31 * 86_400_000;

/// The begin of the month of a time, in milliseconds since 1970.
pub fn begin_of_month(at: u64) -> u64 {
    seconds_of(&format!("{}-01T00:00:00Z", &timestamp(at)[..7])).saturating_mul(1000)
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
#[derive(Default)]
pub struct DueFiles {
    files: Vec<(u32, String)>,
    /// By page and month, the last version, or the first visit if there is none, and the version before it.
    last: HashMap<u128, (ArchivePosition, Option<ArchivePosition>)>,
    /// Versions that stay all the same: pages' records name them, or revisits in files that are not due refer to them.
    stays: BTreeSet<ArchivePosition>,
    /// The last month of these files.
    until: String,
    /// The number of the last file, also of one that cannot be read.
    end: u32,
}

impl DueFiles {
    /// The number of the last file.
    pub fn end(&self) -> u32 {
        self.end
    }
}

/// The key of a page in a month, and the month.
fn key<'f>(found: &'f FoundRecord, url: &str) -> Option<(u128, &'f str)> {
    let month = found.field("WARC-Date")?.get(..7)?;
    Some((xxh3_128(format!("{month} {url}").as_bytes()), month))
}

impl Thinning<'_> {
    /// The next files behind number `after` that are due: their records are from before `until`, in milliseconds since
    /// 1970. None if there is none.
    ///
    /// # Errors
    /// When a file cannot be opened. One that cannot be read stays as it is, and what it refers to.
    pub fn next(&self, after: u32, until: u64) -> io::Result<Option<DueFiles>> {
        let files = WarcFiles::in_storage(self.storage)?;
        let files: Vec<(u32, &str)> = files.iter().filter(|(number, _)| *number > after).collect();
        let mut batch = DueFiles::default();
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
            if is_full && (batch.end == 0 || self.begun(name)?.is_some_and(is_later)) {
                break;
            }
            let is_whole = self.read(*number, name, !is_full, &mut batch)?;
            if !is_full {
                batch.end = *number;
                batch.files.extend(is_whole.then(|| (*number, (*name).to_owned())));
            }
        }
        if batch.end == 0 {
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
        let mut records = Records::open_at(self.storage, name, 0)?;
        let mut read = || -> io::Result<Option<String>> {
            // A thinned file begins with its index, which is younger.
            if is_thinned(name) {
                records.next_record()?;
            }
            let found = records.next_record()?;
            Ok(found
                .and_then(|found| found.field("WARC-Date").filter(|date| date.len() > 7).map(str::to_owned)))
        };
        Ok(read().unwrap_or_default())
    }

    /// Notes the versions of a file: those of all pages, or else of known ones. Returns whether all of it can be read.
    fn read(&self, number: u32, name: &str, is_due: bool, batch: &mut DueFiles) -> io::Result<bool> {
        let mut records = Records::open_at(self.storage, name, 0)?;
        // Versions that its revisits refer to. They stay if the file does.
        let mut referred = BTreeSet::new();
        loop {
            let found = match records.next_record() {
                Ok(Some(found)) if !found.is_torn => found,
                Ok(None) => return Ok(true),
                unread => {
                    if is_due {
                        let why = unread.err().map_or("incomplete record".into(), |e| e.to_string());
                        warn_of(name, &why);
                        batch.stays.append(&mut referred);
                    }
                    return Ok(false);
                }
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
                Some((last, _)) => drop(referred.insert(*last)),
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
            let sorted = Sorted::read(self.storage, (*number, name), &mut |found, url, at| {
                let last = key(found, url).and_then(|(key, _)| batch.last.get(&key));
                last.is_none_or(|(last, _)| *last <= at) || batch.stays.contains(&at)
            })?;
            match sorted {
                Ok(sorted) if sorted.dropped.records > 0 => {
                    dropped.add(sorted.dropped);
                    if !only_count {
                        sorted.rewrite(self.storage, name, now)?;
                    }
                }
                Ok(_) => {}
                Err(e) => warn_of(name, &e.to_string()),
            }
        }
        Ok(dropped)
    }
}

fn warn_of(name: &str, why: &str) {
    tracing::warn!("{name} is not thinned (storage.keep_versions), since it cannot be read: {why}");
}

#[cfg(test)]
mod tests;
