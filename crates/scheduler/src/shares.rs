//! Fills the shares of a plan from candidates.
//!
//! Warm-up pages are chosen first. Then the audit sample is drawn, and then announced pages fill
//! their share. Then score and discovery alternate: the one further from its target chooses its
//! best candidate whose host has a free slot. If announced pages do not fill their share, the score
//! gets the rest. If the audit or the score is not filled, discovery gets the rest, and vice versa.
//! Last, discovery continues beyond k up to its minimum.
//!
//! The k best candidates of each order (for discovery, plus its minimum) are sufficient. A rejected
//! candidate was chosen before, is in the sample, or found its host full of pages of the sample and
//! of other orders. Together those are at most k.
//!
//! Every order is read once from front to back, so it may be on disk, and no set of chosen pages is
//! kept. A page is in the sample if its image is at most that of the last page drawn. Announced
//! pages have their own order. When their share is filled, the rest is merged into the order by
//! score.

mod with_others;

use crate::Plan;
use crate::PlanCounts;
use crate::candidate::{RankedPage, TieBreak, key_score};
use crate::chosen::{ChosenBy, ChosenEntry};
use crate::explore::Explore;
use crate::hosts::HostSlots;
use crate::merge::Merge;
use crate::pools::Pools;
use crate::request::ShareTargets;
use crate::runs::Runs;
use crate::shuffle::Shuffle;
use std::io;

/// The targets of the shares.
pub(crate) struct ShareRules {
    pub pages: u64,
    pub discovery_min: u64,
    pub samples_siblings: bool,
    pub targets: ShareTargets,
    pub ties: TieBreak,
    pub audit: Shuffle,
    pub explore: Option<Explore>,
}

/// A plan while its shares are filled.
struct Allocation<'r> {
    rules: &'r ShareRules,
    host_slots: HostSlots,
    /// The highest image of the sample.
    last_drawn: Option<u64>,
    choice: ChosenEntry,
    disk: Runs,
}

impl ShareRules {
    /// Fills the shares; `choice` has the warm-up pages.
    pub fn fill(
        &self,
        pools: Pools,
        choice: ChosenEntry,
        host_slots: HostSlots,
        mut counts: PlanCounts,
        disk: Runs,
    ) -> io::Result<Plan> {
        let Pools { discovery, score, announced, audit, eligible, expected, .. } = pools;
        let mut allocation = Allocation { rules: self, host_slots, last_drawn: None, choice, disk };

        let images = audit.into_merge(&mut allocation.disk)?;
        let drawn;
        (drawn, counts.audit) = allocation.draw(self.targets.audit, images)?;
        counts.audit_eligible = eligible;
        let first = counts.panel + counts.promised;

        let mut announced = ShareQueue::new(
            announced.into_merge(&mut allocation.disk)?,
            ChosenBy::Announced,
            self.targets.announced,
        );
        while announced.filling.taken < announced.filling.target && allocation.choose_next(&mut announced)? {}
        counts.announced = announced.filling.taken;

        let mut score = ShareQueue::new(
            score.into_merge(&mut allocation.disk)?,
            ChosenBy::Score,
            (self.targets.score + self.targets.announced - counts.announced).saturating_sub(first),
        );
        // Announced pages that their own share has no place for may still be chosen by score.
        score.candidates.absorb(announced.candidates);
        let mut discovery = ShareQueue::new(
            discovery.into_merge(&mut allocation.disk)?,
            ChosenBy::Discovery,
            self.targets.discovery,
        );
        for _ in first + counts.audit + counts.announced..self.pages {
            // What a sample leaves of k is for the rounds that learn from it.
            let discovers = !self.samples_siblings || discovery.filling.taken < discovery.filling.target;
            let (first, second) = if !discovers || score.filling.is_further_from_target(&discovery.filling) {
                (&mut score, &mut discovery)
            } else {
                (&mut discovery, &mut score)
            };
            if !(allocation.choose_next(first)? || discovers && allocation.choose_next(second)?) {
                break;
            }
        }
        // Beyond k if needed: a young repository grows without taking pages from the score.
        while discovery.filling.taken < self.discovery_min && allocation.choose_next(&mut discovery)? {}
        (counts.score, counts.discovery) = (score.filling.taken, discovery.filling.taken);
        counts.explored = allocation.choice.of_share(ChosenBy::Explored);
        let explored = self.explore.map_or(0.0, |explore| explore.probability());

        let Allocation { host_slots, choice, disk, .. } = allocation;
        let chosen = choice.finish(drawn as f64 / eligible.max(1) as f64, explored, host_slots, disk)?;
        let cutoff = score.last_key.map(key_score);
        Ok(Plan { chosen, cutoff, counts, expected, arms: Vec::new() })
    }
}

impl Allocation<'_> {
    /// Draws the audit sample. Returns the number of pages drawn, and of those with a slot.
    ///
    /// Each eligible page is drawn with the same probability, drawn / eligible. If more pages of
    /// one host are drawn than it has slots, those drawn first get a slot. That is random too, so
    /// their probability is multiplied by slots / drawn of the host. Weighting each page by the
    /// inverse of its probability gives unbiased sums over all eligible pages (Särndal et al. 1992,
    /// ch. 9: two-phase sampling).
    fn draw(&mut self, most: u64, mut images: Merge<RankedPage>) -> io::Result<(u64, u64)> {
        let (mut drawn, mut admitted) = (0, 0);
        while drawn < most
            && let Some(RankedPage { key: image, tie }) = images.pop()?
        {
            let page = self.rules.audit.invert(image);
            drawn += 1;
            self.last_drawn = Some(image);
            self.host_slots.note_drawn(page);
            if self.host_slots.admit(page) {
                admitted += 1;
                let score = f32::from_bits(tie as u32);
                self.choice.push(page, ChosenBy::Audit, drawn, score, &mut self.disk)?;
            }
        }
        Ok((drawn, admitted))
    }

    /// Was this page drawn for the sample? If it was drawn and has no slot, its host is full.
    fn is_drawn(&self, ordinal: u64) -> bool {
        let Allocation { rules, host_slots, last_drawn, .. } = self;
        rules.is_drawn(host_slots, *last_drawn, ordinal)
    }

    /// Chooses the best candidate whose host has a free slot; false if there is none. A full host
    /// stays full, so rejected candidates need not be kept.
    fn choose_next(&mut self, queue: &mut ShareQueue) -> io::Result<bool> {
        while let Some(candidate) = queue.candidates.pop()? {
            if self.choose(candidate, queue)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Chooses a candidate if its host has a free slot.
    fn choose(&mut self, candidate: RankedPage, queue: &mut ShareQueue) -> io::Result<bool> {
        let ordinal = self.rules.ties.ordinal(candidate);
        let is_taken = queue.by != ChosenBy::Discovery && self.is_drawn(ordinal);
        if is_taken || !self.host_slots.admit(ordinal) {
            return Ok(false);
        }
        queue.filling.taken += 1;
        queue.last_key = Some(candidate.key);
        let score = if queue.by == ChosenBy::Discovery { f32::NAN } else { key_score(candidate.key) as f32 };
        let is_explored = queue.by == ChosenBy::Discovery
            && self.rules.explore.is_some_and(|explore| explore.draws(ordinal));
        let by = if is_explored { ChosenBy::Explored } else { queue.by };
        self.choice.push(ordinal, by, queue.filling.taken, score, &mut self.disk)?;
        Ok(true)
    }
}

impl ShareRules {
    fn is_drawn(&self, host_slots: &HostSlots, last_drawn: Option<u64>, ordinal: u64) -> bool {
        last_drawn.is_some_and(|last| self.audit.apply(ordinal) <= last) && host_slots.is_audited(ordinal)
    }
}

/// The pages that a share shall have, and has.
#[derive(Clone, Copy, Debug)]
struct Filling {
    target: u64,
    taken: u64,
}

/// Candidates of one order, best first.
struct ShareQueue {
    candidates: Merge<RankedPage>,
    by: ChosenBy,
    filling: Filling,
    last_key: Option<u64>,
}

impl ShareQueue {
    fn new(candidates: Merge<RankedPage>, by: ChosenBy, target: u64) -> ShareQueue {
        ShareQueue { candidates, by, filling: Filling { target, taken: 0 }, last_key: None }
    }
}

impl Filling {
    /// Is this one further from its target than the other? False if it reached its target or both
    /// are equally far.
    fn is_further_from_target(&self, other: &Filling) -> bool {
        let part = |taken: u64, target: u64| u128::from(taken) * u128::from(target);
        self.taken < self.target
            && (other.taken >= other.target
                || part(self.taken, other.target) < part(other.taken, self.target))
    }
}
