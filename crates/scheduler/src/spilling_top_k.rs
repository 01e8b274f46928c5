//! The k least of a stream, within a fixed memory.

use crate::TopK;
use crate::memory::MemoryQuota;
use crate::merge::{Merge, Source};
use crate::runs::{Item, Run, Runs};
use std::io;

/// Keeps the k least items of a stream, like [`TopK`], which it is as long as the buffer of that fits into its
/// room. Where it does not, the buffer is sorted and spilled as a run whenever it is full. Runs are
/// merged, as many at a time as the room has for their readers: so many of one level become one of the next, so that an
/// item is written once a level, of which there are as many as the logarithm of k over the room says. As soon as 2k items are
/// spilled, all are merged into one run of the k least, whose greatest is the threshold for all later ones, just as in memory.
///
/// A selection over the scores alone would not do in place of the order: with a limit on hosts the shares take turns, page by
/// page, and what one takes decides what the other may. So there is one way for all requests.
pub(crate) struct SpillingTopK<T> {
    top: TopK<T>,
    k: u64,
    quota: MemoryQuota,
    /// Levels descend; what is left of a cut comes first.
    runs: Vec<(Level, Run)>,
}

/// How many times over a run was merged.
type Level = u32;
/// A run of the k least is merged with others at the next cut only.
const CUT: Level = Level::MAX;

impl<T: Item> SpillingTopK<T> {
    /// For the `k` least items.
    pub fn new(k: u64, quota: MemoryQuota) -> SpillingTopK<T> {
        SpillingTopK { top: TopK::within(k, quota.items::<T>()), k, quota, runs: Vec::new() }
    }

    /// What an item must be below to be of use, once that is known.
    pub fn threshold(&self) -> Option<&T> {
        self.top.threshold()
    }

    /// Takes one item of the stream.
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

    /// Items in runs.
    fn spilled(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.length).sum()
    }

    /// Writes the buffer as a run, and merges the runs of each level that has enough of them.
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
        // The readers have the memory of the buffer.
        self.top.release();
        let last = self.runs.drain(self.runs.len() - count..);
        Merge::of(last.map(|(_, run)| disk.open(run)).collect::<io::Result<Vec<_>>>()?)
    }

    /// Opens all runs, after merging the shortest where they are too many to be read at a time.
    fn open_all(&mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        while self.runs.len() > self.quota.fan_in() {
            let count = self.quota.fan_in().min(self.runs.len() + 1 - self.quota.fan_in());
            self.merge_last(count, 0, disk)?;
        }
        self.open_last(self.runs.len(), disk)
    }

    /// Leaves one run, of the k least.
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

    /// All that may be among the k least, in ascending order; nothing is left here but the memory.
    fn take(&mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        self.spill(disk)?;
        self.open_all(disk)
    }

    /// Gives the `n` least of the k least to `each`, in no particular order; after that it is empty and ready for the
    /// next stream.
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

    /// The k least in ascending order, and perhaps others behind them.
    pub fn into_merge(mut self, disk: &mut Runs) -> io::Result<Merge<T>> {
        if self.runs.is_empty() {
            return Merge::of(vec![Source::Memory(self.top.into_sorted().into_iter())]);
        }
        self.take(disk)
    }
}

#[cfg(test)]
mod tests;
