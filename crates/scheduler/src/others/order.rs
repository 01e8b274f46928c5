//! An order that is read several times.

use super::PlannerSummary;
use crate::candidate::RankedPage;
use crate::merge::{Merge, MergeSource};
use crate::runs::{Runs, SortedRun};
use std::io;

/// Ascending items: in memory, or in a run that each reading writes anew.
pub(crate) enum ItemOrder {
    Memory(Vec<RankedPage>),
    Run(SortedRun),
}

impl ItemOrder {
    /// The items to keep.
    pub fn kept(
        mut items: Merge<RankedPage>,
        disk: &mut Runs,
        mut keep: impl FnMut(RankedPage) -> bool,
    ) -> io::Result<ItemOrder> {
        let is_in_memory = items.is_in_memory();
        let mut next = || loop {
            match items.pop()? {
                Some(item) if !keep(item) => {}
                item => return Ok::<_, io::Error>(item),
            }
        };
        if !is_in_memory {
            return Ok(ItemOrder::Run(disk.write(next)?));
        }
        let mut kept = Vec::new();
        while let Some(item) = next()? {
            kept.push(item);
        }
        Ok(ItemOrder::Memory(kept))
    }

    /// Number of items.
    pub fn len(&self) -> u64 {
        match self {
            ItemOrder::Memory(items) => items.len() as u64,
            ItemOrder::Run(run) => run.length,
        }
    }

    /// The items, for one reading.
    pub fn into_merge(self, disk: &mut Runs) -> io::Result<Merge<RankedPage>> {
        Merge::new(vec![match self {
            ItemOrder::Memory(items) => MergeSource::Memory(items.into_iter()),
            ItemOrder::Run(run) => disk.open(run)?,
        }])
    }

    /// The items to keep.
    pub fn filtered(self, disk: &mut Runs, keep: impl FnMut(RankedPage) -> bool) -> io::Result<ItemOrder> {
        let items = self.into_merge(disk)?;
        ItemOrder::kept(items, disk, keep)
    }

    /// Calls `each` for all items.
    fn each(&mut self, disk: &mut Runs, mut each: impl FnMut(RankedPage)) -> io::Result<()> {
        let run = match self {
            ItemOrder::Memory(items) => {
                items.iter().copied().for_each(each);
                return Ok(());
            }
            ItemOrder::Run(run) => run,
        };
        let mut items: Merge<RankedPage> = Merge::new(vec![disk.open(std::mem::take(run))?])?;
        *run = disk.write(|| {
            let item = items.pop()?;
            item.into_iter().for_each(&mut each);
            Ok(item)
        })?;
        Ok(())
    }

    /// Tells of the items above one and up to another, and names some of them.
    pub fn summary(
        &mut self,
        above: Option<RankedPage>,
        up_to: Option<RankedPage>,
        most: usize,
        disk: &mut Runs,
    ) -> io::Result<PlannerSummary> {
        let mut told = PlannerSummary { step: 1, ..PlannerSummary::default() };
        self.each(disk, |item| {
            if above.is_some_and(|above| item <= above) {
                told.below += 1;
            } else if up_to.is_none_or(|up_to| item <= up_to) {
                told.within += 1;
                if !told.within.is_multiple_of(told.step) {
                    return;
                }
                if told.named.len() == most {
                    // Every second one stays: the multiples of the doubled step.
                    let mut place = 0;
                    told.named.retain(|_| {
                        place += 1;
                        place % 2 == 0
                    });
                    told.step *= 2;
                    if !told.within.is_multiple_of(told.step) {
                        return;
                    }
                }
                told.named.push(item);
            }
        })?;
        Ok(told)
    }
}
