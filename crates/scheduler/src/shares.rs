//! From candidates to a plan: the shares are filled.
//!
//! Warm-up pages are chosen before anything else. Then the audit sample is drawn, then what is announced has its
//! share, then score and discovery take turns, the one that is further from its target first, each with its best candidate
//! whose host has a slot left. What is announced leaves to the score what it cannot use; what
//! the audit or the score cannot use goes to discovery, and what discovery cannot use to the score. Last, discovery goes on beyond k up to its minimum.
//!
//! The k best candidates of each order (and for discovery its minimum more) are enough for that: each candidate that is passed was chosen,
//! or is in the sample, or found its host full of pages of the sample and of the other orders; and those
//! are together no more than k.
//!
//! Every order is read once and from front to back, so that it may lie on disk, and no set of what was chosen is kept. The sample
//! are the pages whose images are not above that of the last one drawn. Pages that are announced have an order of their own; when their
//! share is filled, what is left of it is merged with the order of the others, and the score goes on in both.

use crate::Counts;
use crate::Plan;
use crate::candidate::{Candidate, TieBreak, key_score};
use crate::chosen::{Choice, ChosenBy};
use crate::hosts::HostSlots;
use crate::merge::Merge;
use crate::pools::Pools;
use crate::request::Targets;
use crate::runs::Runs;
use crate::shuffle::Shuffle;
use std::io;

/// What the places are given by.
pub(crate) struct ShareRules {
    pub pages: u64,
    pub discovery_min: u64,
    pub targets: Targets,
    pub ties: TieBreak,
    pub audit: Shuffle,
}

/// Allocation that are being given.
struct Allocation<'r> {
    rules: &'r ShareRules,
    host_slots: HostSlots,
    /// The greatest image of the sample.
    last_drawn: Option<u64>,
    choice: Choice,
    disk: Runs,
}

impl ShareRules {
    /// Fills the shares; `choice` has the warm-up.
    pub fn fill(
        &self,
        pools: Pools,
        choice: Choice,
        host_slots: HostSlots,
        mut counts: Counts,
        disk: Runs,
    ) -> io::Result<Plan> {
        let Pools { discovery, score, announced, audit, eligible, .. } = pools;
        let mut places = Allocation { rules: self, host_slots, last_drawn: None, choice, disk };

        let images = audit.into_merge(&mut places.disk)?;
        let drawn;
        (drawn, counts.audit) = places.draw(images)?;
        counts.audit_eligible = eligible;

        let mut announced =
            Queue::new(announced.into_merge(&mut places.disk)?, ChosenBy::Announced, self.targets.announced);
        while announced.taken < announced.target && places.give(&mut announced)? {}
        counts.announced = announced.taken;

        let mut score = Queue::new(
            score.into_merge(&mut places.disk)?,
            ChosenBy::Score,
            self.targets.score + announced.target - announced.taken,
        );
        score.candidates.absorb(announced.candidates);
        let mut discovery =
            Queue::new(discovery.into_merge(&mut places.disk)?, ChosenBy::Discovery, self.targets.discovery);
        for _ in counts.audit + counts.announced..self.pages {
            let (first, second) = if score.goes_before(&discovery) {
                (&mut score, &mut discovery)
            } else {
                (&mut discovery, &mut score)
            };
            if !places.give(first)? && !places.give(second)? {
                break;
            }
        }
        // Beyond k, if need be: a young repository is filled without touching what the score may choose.
        while discovery.taken < self.discovery_min && places.give(&mut discovery)? {}
        (counts.score, counts.discovery) = (score.taken, discovery.taken);

        let Allocation { host_slots, choice, disk, .. } = places;
        let chosen = choice.finish(drawn as f64 / eligible.max(1) as f64, host_slots, disk)?;
        Ok(Plan { chosen, cutoff: score.last_key.map(key_score), counts })
    }
}

impl Allocation<'_> {
    /// Draws the audit sample; gives how many pages were drawn, and how many of them have a place. Each of
    /// the eligible pages is drawn with the same probability, drawn / eligible. Where more pages of one host are drawn than it has slots, those
    /// keep their place that were drawn first, which is by chance too: the probability of that, slots /
    /// drawn of the host, multiplies theirs. Weighing each page by the inverse of its probability
    /// therefore gives sums over all eligible pages without bias (Särndal et al. 1992, ch. 9: two-phase
    /// sampling).
    fn draw(&mut self, mut images: Merge<u64>) -> io::Result<(u64, u64)> {
        let (mut drawn, mut admitted) = (0, 0);
        while drawn < self.rules.targets.audit
            && let Some(image) = images.pop()?
        {
            let page = self.rules.audit.invert(image);
            drawn += 1;
            self.last_drawn = Some(image);
            self.host_slots.note_drawn(page);
            if self.host_slots.admit(page) {
                admitted += 1;
                self.choice.push(page, ChosenBy::Audit, drawn, &mut self.disk)?;
            }
        }
        Ok((drawn, admitted))
    }

    /// Was the page, which competes by score, drawn? If it was and has no place all the same, its host is full.
    fn is_drawn(&self, ordinal: u64) -> bool {
        self.last_drawn.is_some_and(|last| self.rules.audit.apply(ordinal) <= last)
            && self.host_slots.is_audited(ordinal)
    }

    /// Gives a place to the best candidate whose host has a slot left; was there one? A full host stays full, so what is
    /// passed is passed for good.
    fn give(&mut self, queue: &mut Queue) -> io::Result<bool> {
        while let Some(candidate) = queue.candidates.pop()? {
            let ordinal = self.rules.ties.ordinal(candidate);
            let is_taken = queue.by != ChosenBy::Discovery && self.is_drawn(ordinal);
            if !is_taken && self.host_slots.admit(ordinal) {
                queue.taken += 1;
                queue.last_key = Some(candidate.key);
                self.choice.push(ordinal, queue.by, queue.taken, &mut self.disk)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Candidates of one order, best first.
struct Queue {
    candidates: Merge<Candidate>,
    by: ChosenBy,
    target: u64,
    taken: u64,
    last_key: Option<u64>,
}

impl Queue {
    fn new(candidates: Merge<Candidate>, by: ChosenBy, target: u64) -> Queue {
        Queue { candidates, by, target, taken: 0, last_key: None }
    }

    /// Is this one further from its target than the other? Not if it has reached it, and not if both
    /// are equally far.
    fn goes_before(&self, other: &Queue) -> bool {
        let part = |taken: u64, target: u64| u128::from(taken) * u128::from(target);
        self.taken < self.target
            && (other.taken >= other.target
                || part(self.taken, other.target) < part(other.taken, self.target))
    }
}
