//! Cuts files down to the newest version of each page, so that `storage.archive_max` takes older ones first.
//!
//! A pass goes on behind the file at which the last one ended, and begins with the oldest file again behind the last. So
//! files that were cut long ago are cut again, once newer versions took the place of theirs.

use super::cap::lengths;
use super::rewrite::{Dropped, Sorted};
use super::thin::Thinning;
use std::io;

/// Bytes of files whose newest versions are known at a time: each takes 16 bytes of memory.
const AT_A_TIME: u64 = 2 << 30;
/// A file is cut if at least one part of so many becomes free: another writing must be worth it.
const LEAST_FREED: u64 = 8;

/// The result of a pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CutFiles {
    /// Records that went.
    pub dropped: Dropped,
    /// The number of the last file that was looked at.
    pub end: u32,
}

impl Thinning<'_> {
    /// Drops all but newest versions, and their revisits, until at most `max` bytes are left, or each file but the newest
    /// was looked at once. The first is the one behind number `after`.
    ///
    /// # Errors
    /// When the folder or the pages cannot be read, or a file cannot be written. One that cannot be read stays as it is.
    pub fn cut_to_newest(&self, max: u64, after: u32, now: u64) -> io::Result<CutFiles> {
        let mut files = lengths(self.storage)?;
        files.sort_unstable();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        files.pop();
        let turn = files.partition_point(|(number, ..)| *number <= after);
        files.rotate_left(turn);
        let mut cut = CutFiles { end: after, ..CutFiles::default() };
        let mut rest = &files[..];
        while total > max && !rest.is_empty() {
            let mut bytes = 0;
            let is_within = |(_, length, _): &&(u32, u64, String)| {
                bytes += length;
                bytes <= AT_A_TIME
            };
            let (batch, later) = rest.split_at(rest.iter().take_while(is_within).count().max(1));
            let named = (self.named)(&batch.iter().map(|(number, ..)| *number).collect())?;
            for (number, length, name) in batch {
                if total <= max {
                    break;
                }
                (self.go_on)()?;
                cut.end = *number;
                let sorted = Sorted::read(self.storage, (*number, name), &mut |found, _, at| {
                    found.kind() == Some("response") && named.contains(&at)
                })?;
                let sorted = match sorted {
                    Ok(sorted) => sorted,
                    Err(e) => {
                        tracing::warn!(
                            "{name} is not cut (storage.archive_max), since it cannot be read: {e}"
                        );
                        continue;
                    }
                };
                let mut dropped = sorted.dropped;
                if sorted.versions == 0 {
                    (dropped.bytes, dropped.indices) = (*length, 0);
                    self.storage.remove(name)?;
                    self.storage.sync_dir()?;
                } else if dropped.freed() > length / LEAST_FREED {
                    sorted.rewrite(self.storage, name, now)?;
                } else {
                    continue;
                }
                total -= dropped.freed().min(*length);
                cut.dropped.add(dropped);
            }
            rest = later;
        }
        Ok(cut)
    }
}

#[cfg(test)]
mod tests;
