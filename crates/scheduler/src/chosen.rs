//! The pages of a plan: collected in any order, returned in the order of ordinals.

use crate::PlanError;
use crate::candidate::Candidate;
use crate::hosts::HostSlots;
use crate::memory::MemoryDivision;
use crate::merge::Merge;
use crate::runs::Runs;
use crate::spilling_top_k::SpillingTopK;
use recrawl_types::Share;
use std::io;

/// Bits of an entry that encode the share; the other bits are the ordinal.
const SHARE_BITS: u32 = 3;

/// The share that chose a page. The probability of an audit page is computed later.
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

/// Chosen pages, in 16 bytes each: ordinal and share as key, rank as tie.
pub(crate) struct Choice {
    best: SpillingTopK<Candidate>,
    pages: u64,
}

impl Choice {
    /// Bytes needed: unlimited, since the number of warm-up pages is unknown.
    pub const BYTES_NEEDED: f64 = f64::INFINITY;

    pub fn new(memory: MemoryDivision) -> Choice {
        Choice { best: SpillingTopK::new(u64::MAX, memory.quota(Choice::BYTES_NEEDED)), pages: 0 }
    }

    /// Number of chosen pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Adds a page, at most once. `rank` is its position in the order of its share.
    pub fn push(&mut self, ordinal: u64, by: ChosenBy, rank: u64, disk: &mut Runs) -> io::Result<()> {
        assert!(ordinal >> (u64::BITS - SHARE_BITS) == 0, "no generation has as many pages");
        self.pages += 1;
        self.best.offer(Candidate { key: ordinal << SHARE_BITS | by as u64, tie: rank }, disk)
    }

    /// Returns all pages in order. `drawn` is the sampling probability of eligible pages.
    pub fn finish(self, drawn: f64, host_slots: HostSlots, mut disk: Runs) -> io::Result<Chosen> {
        Ok(Chosen { pages: self.best.into_merge(&mut disk)?, drawn, host_slots, _disk: disk })
    }
}

/// A chosen page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenPage {
    /// Ordinal of the page.
    pub ordinal: u64,
    /// The share that chose it.
    pub share: Share,
    /// Its position in the order of that share, for
    /// [`visit_order`](crate::visit_order::visit_order). Lower is earlier.
    pub rank: u64,
}

/// The chosen pages in the order of ordinals. Spilled runs are read on the way and removed at the
/// end.
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
            ChosenBy::Audit => Share::Audit(self.drawn * self.host_slots.share_with_slots(ordinal)),
            ChosenBy::Announced => Share::Announced,
            ChosenBy::Score => Share::Score,
            ChosenBy::Discovery => Share::Discovery,
        };
        Some(Ok(ChosenPage { ordinal, share, rank }))
    }
}
