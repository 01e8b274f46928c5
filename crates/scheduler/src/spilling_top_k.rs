//! The k least items of a stream, in a fixed amount of memory.

use crate::TopK;
use crate::memory::MemoryQuota;
use crate::merge::{Merge, MergeSource};
use crate::runs::{Runs, SortedRun, Spillable};
use std::io;

/// Keeps the k least items of a stream. It works like [`TopK`] if that buffer fits in the memory
/// quota. Otherwise it sorts the full buffer and spills it as a run.
///
/// As many runs of one level as can be read at a time are merged into one of the next level. So
/// each item is written once per level, and the number of levels is logarithmic. As soon as 2k
/// items are spilled, all are merged into one run of the k least items. Its greatest item becomes
/// the threshold for later ones, as in memory.
///
/// Selecting by scores alone would be wrong. With a limit per host, the shares alternate page by
/// page, and each choice affects the next one. So all requests use the full order.
pub(crate) struct SpillingTopK<T> {
    top: TopK<T>,
    k: u64,
    quota: MemoryQuota,
    /// Levels descend; the run of a cut comes first.
    runs: Vec<(Level, SortedRun)>,
}

/// How often a run was merged.
type Level = u32;
/// Level of the run of the k least items: it is merged again only at the next cut.
const CUT: Level = Level::MAX;

impl<T: Spillable> SpillingTopK<T> {
    pub fn new(k: u64, quota: MemoryQuota) -> SpillingTopK<T> {
        SpillingTopK { top: TopK::within(k, quota.items::<T>()), k, quota, runs: Vec::new() }
    }

    /// New items must be less than this; none while every item is accepted.
    pub fn threshold(&self) -> Option<&T> {
        self.top.threshold()
    }

    /// Adds an item of the stream.
    pub fn offer(&mut self, item: T, disk: &mut Runs) -> io::Result<()> {
        if self.top.must_spill() && self.top.admits(&item) {
            self.spill(disk)?;
            if self.spilled() >= self.k.saturating_mul(2) {
                self.cut(disk)?;
            }
        }
        self.top.offer(item);
        Ok(())
    }

    /// Number of items in runs.
    fn spilled(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.length).sum()
    }

    /// Writes the buffer as a run. Merges the runs of each level that has enough of them.
    fn spill(&mut self, disk: &mut Runs) -> io::Result<()> {
        let mut items = self.top.drain_sorted();
        let run = disk.write(|| Ok(items.next()))?;
        drop(items);
        self.runs.push((0, run));
        while let Some((level, _)) = self.runs.last() {
            let (level, count) = (*level, self.runs.iter().filter(|(of, _)| of == level).count());
            if level == CUT || count < self.quota.fan_in() {
                break;
            }
            self.merge_last(count, level + 1, disk)?;
        }
        Ok(())
    }

    /// Merges the last `count` runs into one.
    fn merge_last(&mut self, count: usize, level: Level, disk: &mut Runs) -> io::Result<()> {
        let mut merge = self.open_last(count, disk)?;
        let run = disk.write(|| merge.pop())?;
        self.runs.push((level, run));
        Ok(())
    }

    fn open_last(&mut self, count: usize, disk: &mut Runs) -> io::Result<Merge<T>> {
        // The readers use the memory of the buffer.
        self.top.release();
        let last = self.runs.drain(self.runs.len() - count..);
        Merge::new(last.map(|(_, run)| disk.open(run)).collect::<io::Result<Vec<_>>>()?)
    }

    /// Opens all runs. Merges the shortest first if there are too many to read at a time.
    fn open_all(&mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        while self.runs.len() > self.quota.fan_in() {
            let count = self.quota.fan_in().min(self.runs.len() + 1 - self.quota.fan_in());
            self.merge_last(count, 0, disk)?;
        }
        self.open_last(self.runs.len(), disk)
    }

    /// Merges all runs into one of the k least items.
    fn cut(&mut self, disk: &mut Runs) -> io::Result<()> {
        let mut merge = self.open_all(disk)?;
        let (mut left, mut threshold) = (self.k, None);
        let run = disk.write(|| {
            if left == 0 {
                return Ok(None);
            }
            left -= 1;
            threshold = merge.pop()?;
            Ok(threshold)
        })?;
        self.runs.push((CUT, run));
        self.top.set_threshold(threshold);
        Ok(())
    }

    /// Returns all items that may be among the k least, in ascending order, and leaves the buffer
    /// empty.
    fn take(&mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        self.spill(disk)?;
        self.open_all(disk)
    }

    /// Calls `each` for the `n` least of the k least items, in any order. Then it is empty and
    /// ready for the next stream.
    pub fn drain(
        &mut self,
        n: u64,
        disk: &mut Runs,
        mut each: impl FnMut(T, &mut Runs) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.runs.is_empty() {
            return self.top.drain(n).try_for_each(|item| each(item, disk));
        }
        let mut merge = self.take(disk)?;
        self.top.set_threshold(None);
        for _ in 0..n.min(self.k) {
            let Some(item) = merge.pop()? else { break };
            each(item, disk)?;
        }
        Ok(())
    }

    /// The k least items in ascending order, possibly followed by others.
    pub fn into_merge(mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        if self.runs.is_empty() {
            return Merge::new(vec![MergeSource::Memory(self.top.into_sorted().into_iter())]);
        }
        self.take(disk)
    }
}

#[cfg(test)]
mod tests;
