//! The pages of a plan: gathered in any order, given out in that of their ordinals.

use crate::PlanError;
use crate::best::Best;
use crate::hosts::Crowds;
use crate::memory::Division;
use crate::merge::Merge;
use crate::runs::Runs;
use recrawl_types::Share;
use std::io;

/// Bits of an entry that say which share chose the page; the others are its ordinal.
const SHARE_BITS: u32 = 3;

/// Which share chose a page. The probability of a page of the audit sample is computed when it is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Warmup,
    Audit,
    Announced,
    Score,
    Discovery,
}

impl By {
    const ALL: [By; 5] = [By::Warmup, By::Audit, By::Announced, By::Score, By::Discovery];
}

/// Pages that were chosen, in 8 bytes each.
pub(crate) struct Choice {
    best: Best<u64>,
    pages: u64,
}

impl Choice {
    /// Bytes that it wants: nobody knows how many pages are in their warm-up.
    pub const WANTED: f64 = f64::INFINITY;

    /// For any number of pages.
    pub fn new(memory: Division) -> Choice {
        Choice { best: Best::new(u64::MAX, memory.room(Choice::WANTED)), pages: 0 }
    }

    /// How many there are.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Takes a page that was not taken before.
    pub fn push(&mut self, ordinal: u64, by: By, disk: &mut Runs) -> io::Result<()> {
        assert!(ordinal >> (u64::BITS - SHARE_BITS) == 0, "no generation has as many pages");
        self.pages += 1;
        self.best.offer(ordinal << SHARE_BITS | by as u64, disk)
    }

    /// All of them in order. Of the eligible pages this part was drawn for the sample.
    pub fn finish(self, drawn: f64, crowds: Crowds, mut disk: Runs) -> io::Result<Chosen> {
        Ok(Chosen { pages: self.best.into_merge(&mut disk)?, drawn, crowds, _disk: disk })
    }
}

/// The chosen pages in ascending order, each with the share that chose it. What is spilled is read on the way, and
/// removed at the end.
pub struct Chosen {
    pages: Merge<u64>,
    drawn: f64,
    crowds: Crowds,
    _disk: Runs,
}

impl Iterator for Chosen {
    type Item = Result<(u64, Share), PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.pages.pop() {
            Ok(entry) => entry?,
            Err(e) => return Some(Err(PlanError::Spill(e))),
        };
        let ordinal = entry >> SHARE_BITS;
        let share = match By::ALL[(entry & ((1 << SHARE_BITS) - 1)) as usize] {
            By::Warmup => Share::Warmup,
            By::Audit => Share::Audit(self.drawn * self.crowds.kept_share(ordinal)),
            By::Announced => Share::Announced,
            By::Score => Share::Score,
            By::Discovery => Share::Discovery,
        };
        Some(Ok((ordinal, share)))
    }
}
