//! The pages of a plan: collected in any order, returned in the order of ordinals.

use crate::PlanError;
use crate::candidate::RankedPage;
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
    Panel,
    Promised,
    Explored,
}

impl ChosenBy {
    const ALL: [ChosenBy; 8] = [
        ChosenBy::Warmup,
        ChosenBy::Audit,
        ChosenBy::Announced,
        ChosenBy::Score,
        ChosenBy::Discovery,
        ChosenBy::Panel,
        ChosenBy::Promised,
        ChosenBy::Explored,
    ];
}

/// Chosen pages, in 16 bytes each: ordinal and share as key, rank and score as tie.
pub(crate) struct ChosenEntry {
    best: SpillingTopK<RankedPage>,
    by_share: [u64; ChosenBy::ALL.len()],
}

impl ChosenEntry {
    /// Bytes needed: unlimited, since the number of warm-up pages is unknown.
    pub const BYTES_NEEDED: f64 = f64::INFINITY;

    pub fn new(memory: MemoryDivision) -> ChosenEntry {
        ChosenEntry {
            best: SpillingTopK::new(u64::MAX, memory.quota(ChosenEntry::BYTES_NEEDED)),
            by_share: Default::default(),
        }
    }

    /// Number of pages that a share chose.
    pub fn of_share(&self, by: ChosenBy) -> u64 {
        self.by_share[by as usize]
    }

    /// Adds a page, at most once. `rank` is its position in the order of its share.
    pub fn push(
        &mut self,
        ordinal: u64,
        by: ChosenBy,
        rank: u64,
        score: f32,
        disk: &mut Runs,
    ) -> io::Result<()> {
        assert!(ordinal >> (u64::BITS - SHARE_BITS) == 0, "no generation has as many pages");
        self.by_share[by as usize] += 1;
        // Ranks beyond are alike: nobody visits as many pages in a cycle.
        let rank = rank.min(u32::MAX.into());
        let tie = rank << 32 | u64::from(score.to_bits());
        self.best.offer(RankedPage { key: ordinal << SHARE_BITS | by as u64, tie }, disk)
    }

    /// Returns all pages in order. `drawn` is the sampling probability of eligible pages.
    /// `explored` is that of URLs that are explored.
    pub fn finish(
        self,
        drawn: f64,
        explored: f64,
        host_slots: HostSlots,
        mut disk: Runs,
    ) -> io::Result<Chosen> {
        Ok(Chosen { pages: self.best.into_merge(&mut disk)?, drawn, explored, host_slots, _disk: disk })
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
    /// Its score; NaN for a page that does not compete by score.
    pub score: f32,
    /// The number of its plan, of several with hosts of their own: [`ChosenOfArms`](crate::ChosenOfArms). Else 0.
    pub arm: usize,
    /// Is it chosen by score in the plan in force, but not in that of a candidate? See [`Contested`](crate::Contested).
    pub is_only_in_force: bool,
}

/// The chosen pages in the order of ordinals. Spilled runs are read on the way and removed at the
/// end.
pub struct Chosen {
    pages: Merge<RankedPage>,
    drawn: f64,
    explored: f64,
    host_slots: HostSlots,
    _disk: Runs,
}

impl Iterator for Chosen {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (entry, tie) = match self.pages.pop() {
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
            ChosenBy::Panel => Share::Panel,
            ChosenBy::Promised => Share::Promised,
            ChosenBy::Explored => Share::Explored(self.explored),
        };
        let score = f32::from_bits(tie as u32);
        Some(Ok(ChosenPage { ordinal, share, rank: tie >> 32, score, arm: 0, is_only_in_force: false }))
    }
}
