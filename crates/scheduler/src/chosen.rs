//! The pages of a plan: gathered in any order, given out in that of their ordinals.

use crate::PlanError;
use crate::candidate::Candidate;
use crate::hosts::HostSlots;
use crate::memory::MemoryDivision;
use crate::merge::Merge;
use crate::runs::Runs;
use crate::spilling_top_k::SpillingTopK;
use recrawl_types::Share;
use std::io;

/// Bits of an entry that say which share chose the page; the others are its ordinal.
const SHARE_BITS: u32 = 3;

/// Which share chose a page. The probability of a page of the audit sample is computed when it is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    Warmup,
    Audit,
    Announced,
    Score,
    Discovery,
}

impl ChosenBy {
    const ALL: [ChosenBy; 5] =
        [ChosenBy::Warmup, ChosenBy::Audit, ChosenBy::Announced, ChosenBy::Score, ChosenBy::Discovery];
}

/// Pages that were chosen, in 16 bytes each: ordinal and share as key, rank as tie.
pub(crate) struct Choice {
    best: SpillingTopK<Candidate>,
    pages: u64,
}

impl Choice {
    /// Bytes that it wants: nobody knows how many pages are in their warm-up.
    pub const BYTES_NEEDED: f64 = f64::INFINITY;

    /// For any number of pages.
    pub fn new(memory: MemoryDivision) -> Choice {
        Choice { best: SpillingTopK::new(u64::MAX, memory.quota(Choice::BYTES_NEEDED)), pages: 0 }
    }

    /// How many there are.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Takes a page that was not taken before; `rank` is its place in the order of the share.
    pub fn push(&mut self, ordinal: u64, by: ChosenBy, rank: u64, disk: &mut Runs) -> io::Result<()> {
        assert!(ordinal >> (u64::BITS - SHARE_BITS) == 0, "no generation has as many pages");
        self.pages += 1;
        self.best.offer(Candidate { key: ordinal << SHARE_BITS | by as u64, tie: rank }, disk)
    }

    /// All of them in order. Of the eligible pages this part was drawn for the sample.
    pub fn finish(self, drawn: f64, host_slots: HostSlots, mut disk: Runs) -> io::Result<Chosen> {
        Ok(Chosen { pages: self.best.into_merge(&mut disk)?, drawn, host_slots, _disk: disk })
    }
}

/// A page that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenPage {
    /// Which page.
    pub ordinal: u64,
    /// Which share chose it.
    pub share: Share,
    /// Its place in the order of that share, the lower the earlier: for [`turns`](crate::visit_order::visit_order).
    pub rank: u64,
}

/// The chosen pages in the order of their ordinals. What is spilled is read on the way, and
/// removed at the end.
pub struct Chosen {
    pages: Merge<Candidate>,
    drawn: f64,
    host_slots: HostSlots,
    _disk: Runs,
}

impl Iterator for Chosen {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (entry, rank) = match self.pages.pop() {
            Ok(entry) => entry.map(|c| (c.key, c.tie))?,
            Err(e) => return Some(Err(PlanError::Spill(e))),
        };
        let ordinal = entry >> SHARE_BITS;
        let share = match ChosenBy::ALL[(entry & ((1 << SHARE_BITS) - 1)) as usize] {
            ChosenBy::Warmup => Share::Warmup,
            ChosenBy::Audit => Share::Audit(self.drawn * self.host_slots.kept_share(ordinal)),
            ChosenBy::Announced => Share::Announced,
            ChosenBy::Score => Share::Score,
            ChosenBy::Discovery => Share::Discovery,
        };
        Some(Ok(ChosenPage { ordinal, share, rank }))
    }
}
