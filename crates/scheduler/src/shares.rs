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

use crate::candidate::{Candidate, TieBreak, key_score};
use crate::hosts::Crowds;
use crate::pools::Pools;
use crate::request::Targets;
use crate::shuffle::Shuffle;
use crate::{Counts, Plan};
use rayon::slice::ParallelSliceMut;
use recrawl_types::Share;
use std::collections::HashSet;

/// What the places are given by.
pub(crate) struct Rules {
    pub pages: u64,
    pub discovery_min: u64,
    pub targets: Targets,
    pub ties: TieBreak,
    pub audit: Shuffle,
}

impl Rules {
    /// Fills the shares.
    pub fn fill(&self, pools: Pools, mut crowds: Crowds, mut counts: Counts) -> Plan {
        let Pools { warmup, discovery, score, announced, audit, eligible, .. } = pools;
        let mut chosen: Vec<(u64, Share)> =
            warmup.into_sorted().into_iter().map(|page| (self.ties.ordinal(page), Share::Warmup)).collect();
        counts.warmup = chosen.len() as u64;

        let sample = self.draw(audit.into_sorted(), eligible, &mut crowds);
        counts.audit = sample.len() as u64;

        let mut taken: HashSet<u64> = sample.iter().map(|&(ordinal, _)| ordinal).collect();
        let not_taken = |taken: &HashSet<u64>, page: Candidate| {
            taken.is_empty() || !taken.contains(&self.ties.ordinal(page))
        };
        let mut announced = Queue::new(announced.into_sorted(), self.targets.announced);
        announced.candidates.retain(|&page| not_taken(&taken, page));
        chosen.extend(sample);
        while announced.taken < announced.target {
            let Some(page) = announced.peek(&self.ties, &mut crowds) else { break };
            announced.take();
            crowds.admit(page);
            chosen.push((page, Share::Announced));
            taken.insert(page);
        }
        counts.announced = announced.taken;
        let mut score =
            Queue::new(score.into_sorted(), self.targets.score + announced.target - announced.taken);
        score.candidates.retain(|&page| not_taken(&taken, page));
        let mut discovery = Queue::new(discovery.into_sorted(), self.targets.discovery);
        for _ in counts.audit + counts.announced..self.pages {
            let by_score = score.peek(&self.ties, &mut crowds);
            let by_discovery = discovery.peek(&self.ties, &mut crowds);
            let (page, share, queue) = match (by_score, by_discovery) {
                (None, None) => break,
                (Some(page), None) => (page, Share::Score, &mut score),
                (Some(page), Some(_)) if score.goes_before(&discovery) => (page, Share::Score, &mut score),
                (_, Some(page)) => (page, Share::Discovery, &mut discovery),
            };
            queue.take();
            crowds.admit(page);
            chosen.push((page, share));
        }
        // Beyond k, if need be: a young repository is filled without touching what the score may choose.
        while discovery.taken < self.discovery_min {
            let Some(page) = discovery.peek(&self.ties, &mut crowds) else { break };
            discovery.take();
            crowds.admit(page);
            chosen.push((page, Share::Discovery));
        }
        (counts.score, counts.discovery) = (score.taken, discovery.taken);
        chosen.par_sort_unstable_by_key(|&(ordinal, _)| ordinal);
        Plan { chosen, cutoff: score.last_key.map(key_score), counts }
    }

    /// The audit sample. Each of the eligible pages is drawn with the same
    /// probability, drawn / eligible. Where more pages of one host are drawn than it has slots, those
    /// keep their place that were drawn first, which is by chance too: the probability of that, slots /
    /// drawn of the host, multiplies theirs. Weighing each page by the inverse of its probability
    /// therefore gives sums over all eligible pages without bias (Särndal et al. 1992, ch. 9: two-phase
    /// sampling).
    fn draw(&self, images: Vec<u64>, eligible: u64, crowds: &mut Crowds) -> Vec<(u64, Share)> {
        let probability = images.len() as f64 / eligible.max(1) as f64;
        let drawn: Vec<u64> = images.into_iter().map(|image| self.audit.invert(image)).collect();
        drawn.iter().for_each(|&page| crowds.note_drawn(page));
        let mut sample = Vec::with_capacity(drawn.len());
        for page in drawn {
            if crowds.admit(page) {
                sample.push((page, Share::Audit(probability * crowds.kept_share(page))));
            }
        }
        sample
    }
}

/// Candidates of one order, best first.
struct Queue {
    candidates: Vec<Candidate>,
    next: usize,
    target: u64,
    taken: u64,
    last_key: Option<u64>,
}

impl Queue {
    fn new(candidates: Vec<Candidate>, target: u64) -> Queue {
        Queue { candidates, next: 0, target, taken: 0, last_key: None }
    }

    /// The best candidate whose host has a slot left. A full host stays full, so what is passed is
    /// passed for good.
    fn peek(&mut self, ties: &TieBreak, crowds: &mut Crowds) -> Option<u64> {
        while let Some(&candidate) = self.candidates.get(self.next) {
            let ordinal = ties.ordinal(candidate);
            if crowds.has_room(ordinal) {
                return Some(ordinal);
            }
            self.next += 1;
        }
        None
    }

    /// Takes the candidate that was peeked at.
    fn take(&mut self) {
        self.last_key = Some(self.candidates[self.next].key);
        self.next += 1;
        self.taken += 1;
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
