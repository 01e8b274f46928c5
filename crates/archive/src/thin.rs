//! Thins the archive out: of the versions of a page that are old enough, the last one of each month stays.
//!
//! A file is thinned once, when all its records are old enough. The age is at least a month, so what comes later changes no
//! decision. A version follows the body that it names, so versions are chains. Most URLs have one; a page that other
//! pages load is archived as a requisite, too, and has two. Only the last of its chain is named later: it stays, and each
//! other one goes with its revisits. A position that a page's record names stays, too, with the body before it.
//!
//! Whole months become due: a revisit in a file that is not due keeps its version for good. Files are read in order, from
//! the oldest that is due to the end of its last month. Memory: some 64 bytes for each page and
//! month in the files that are due, which are taken up to `MAX_TIPS` or one file at a time.

mod chains;

use super::answer::body_before;
use super::files::{WarcFiles, is_thinned};
use super::moved::{MovedIndex, present};
use super::record::BODY_BEFORE;
use super::records::Records;
pub use super::rewrite::Dropped;
use super::rewrite::Sorted;
use super::spelling::{seconds_of, timestamp};
use super::warcinfo::RECOVERED;
pub use chains::DueFiles;
use chains::{Tip, key};
use recrawl_repository::storage::Storage;
use recrawl_types::ArchivePosition;
use std::collections::BTreeSet;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Versions that are the last of a month, before a further file waits for the next pass: some 100 MB.
const MAX_TIPS: usize = 2 << 20;
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

/// The begin of a file.
struct FileBegin {
    /// In milliseconds since 1970.
    at: u64,
    /// Did it follow a recovery?
    is_recovered: bool,
}

impl Thinning<'_> {
    /// The next files behind number `after` that are due: their records are from before `until`, in milliseconds since
    /// 1970. None if there is none.
    ///
    /// # Errors
    /// When a file cannot be opened. One that cannot be read stays as it is, and what it refers to.
    pub fn next(&self, after: u32, until: u64) -> io::Result<Option<DueFiles>> {
        let all = WarcFiles::in_storage(self.storage)?;
        let files: Vec<(u32, &str)> = all.iter().filter(|(number, _)| *number > after).collect();
        let mut batch = DueFiles::new(after);
        let mut is_full = false;
        for (at, (number, name)) in files.iter().enumerate() {
            (self.go_on)()?;
            is_full = is_full || batch.all_tips().count() >= MAX_TIPS;
            // The next file began when this one was complete. The newest is never complete.
            let mut next = None;
            for (_, later) in &files[at + 1..] {
                next = self.begun(later)?;
                if next.is_some() {
                    break;
                }
            }
            let is_due = next.as_ref().is_some_and(|begun| begun.at <= until);
            if next.is_some_and(|begun| begun.is_recovered) {
                // The end of the log was not durable yet; the end of a file is, once there is another.
                batch.crashed.extend([*number - 1, *number]);
            }
            is_full |= !is_due;
            let is_later = |begun: FileBegin| timestamp(begun.at)[..7] > *batch.until;
            if is_full && (batch.end == 0 || self.begun(name)?.is_some_and(is_later)) {
                break;
            }
            let is_whole = self.read((*number, name), &all, !is_full, &mut batch)?;
            if !is_full {
                batch.end = *number;
                batch.files.extend(is_whole.then(|| (*number, (*name).to_owned())));
            }
        }
        if batch.end == 0 {
            return Ok(None);
        }
        let files = batch.files.iter().map(|(number, _)| *number);
        // Also in a file that is not due a version may be a first answer without text, which is no change: what the page has
        // is the body before it.
        let named = (self.named)(&files.chain(batch.all_tips().map(|tip| tip.at.file)).collect())?;
        let is_meant = |tip: &&Tip| named.contains(&tip.at) || batch.crashed.contains(&tip.at.file);
        let before = batch.all_tips().filter(is_meant).map(|tip| tip.before);
        let before: Vec<ArchivePosition> = before.collect();
        batch.stays.extend(named.into_iter().chain(before));
        Ok(Some(batch))
    }

    /// How a file began, by its first record of the crawl.
    fn begun(&self, name: &str) -> io::Result<Option<FileBegin>> {
        let mut records = Records::open_at(self.storage, name, 0)?;
        let mut read = || -> io::Result<Option<FileBegin>> {
            // A thinned file begins with its index, which is younger.
            if is_thinned(name) {
                records.next_record()?;
            }
            let found = records.next_record()?;
            Ok(found.and_then(|found| {
                let at = found.field("WARC-Date").filter(|date| date.len() > 7).map(seconds_of)?;
                let is_recovered = found.field(RECOVERED).is_some();
                Some(FileBegin { at: at.saturating_mul(1000), is_recovered })
            }))
        };
        Ok(read().unwrap_or_default())
    }

    /// Notes the versions of a file: those of all pages, or else of known ones. Returns whether all of it can be read.
    fn read(
        &self,
        (number, name): (u32, &str),
        all: &WarcFiles,
        is_due: bool,
        batch: &mut DueFiles,
    ) -> io::Result<bool> {
        let mut records = Records::open_at(self.storage, name, 0)?;
        // An interrupted pass thinned it: other records name where its records were. Without its index, more stays.
        let moved = is_thinned(name).then(|| MovedIndex::open(self.storage, name).ok()).flatten();
        let mut moved = moved.map(MovedIndex::origins);
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
            let at = ArchivePosition { file: number, offset: found.offset };
            if is_due && month > &*batch.until {
                batch.until = month.to_owned();
            }
            let is_known = batch.tips.contains_key(&key);
            match found.kind() {
                Some("response") if is_due || is_known => {
                    let began = moved.as_mut().and_then(|origins| origins.find(|(_, now)| *now == at.offset));
                    let at = ArchivePosition { offset: began.map_or(at.offset, |(began, _)| began), ..at };
                    let before = found.field(BODY_BEFORE).and_then(body_before).unwrap_or_default();
                    let before = self.present(before, all, batch.after);
                    let id = xxh3_64(found.field("WARC-Record-ID").unwrap_or_default().as_bytes());
                    batch.follow(key, Tip { at, before, id });
                }
                Some("revisit") if is_known => {
                    let of = batch.referred(key, month, &found);
                    if is_due { &mut referred } else { &mut batch.stays }.extend(of);
                }
                // It makes the page known, of which a later file may have a version.
                Some("revisit") if is_due => batch.follow(key, Tip { at, before: at, id: 0 }),
                _ => {}
            }
        }
    }

    /// The body before a version: past those that an interrupted pass dropped from files behind number `after`.
    fn present(&self, before: ArchivePosition, all: &WarcFiles, after: u32) -> ArchivePosition {
        match before.file > after {
            true => present(self.storage, all, before).ok().flatten().unwrap_or(before),
            false => before,
        }
    }

    /// Drops what goes from the files of a batch, or only counts it. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// When a file cannot be read or written, with its name. The files behind it are done.
    pub fn drop_from(&self, batch: &DueFiles, now: u64, only_count: bool) -> io::Result<Dropped> {
        let mut dropped = Dropped::default();
        // The newest first: a revisit goes before the version that it names.
        for (number, name) in batch.files.iter().rev().filter(|(_, name)| !is_thinned(name)) {
            (self.go_on)()?;
            let sorted = Sorted::read(self.storage, (*number, name), &mut |found, url, at| {
                batch.keeps(found, url, at)
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
