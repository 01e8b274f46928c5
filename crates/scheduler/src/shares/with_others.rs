//! Fills the shares of a part of the pages, as one plan of all pages would fill them.

use super::{Allocation, Filling, ShareQueue, ShareRules};
use crate::candidate::{RankedPage, key_score};
use crate::chosen::{ChosenBy, ChosenEntry};
use crate::hosts::HostSlots;
use crate::merge::Merge;
use crate::others::{ItemOrder, Others};
use crate::pools::Pools;
use crate::runs::Runs;
use crate::{Gather, Plan, PlanCounts};
use std::io;

impl ShareRules {
    /// Fills the shares by bars on which all planners agree; `choice` has the warm-up pages.
    pub fn fill_with(
        &self,
        gather: &mut Gather<'_>,
        pools: Pools,
        choice: ChosenEntry,
        host_slots: HostSlots,
        mut counts: PlanCounts,
        disk: Runs,
    ) -> io::Result<Plan> {
        let Pools { discovery, score, announced, audit, eligible, expected, .. } = pools;
        let mut others = Others::new(gather);
        let mut part = Allocation { rules: self, host_slots, last_drawn: None, choice, disk };
        counts.audit_eligible = eligible;
        let own_first = counts.panel + counts.promised;
        let [all_eligible, first] = others.sum([eligible, own_first])?;

        let drawn = self.targets.audit.min(all_eligible);
        let images = audit.into_merge(&mut part.disk)?;
        let mut images = ItemOrder::kept(images, &mut part.disk, |_| true)?;
        let [last] = others.bars([drawn], [&mut images], &mut part.disk)?;
        counts.audit = part.draw_up_to(last, images)?;
        let [audited] = others.sum([counts.audit])?;

        let items = announced.into_merge(&mut part.disk)?;
        let mut announced = part.not_drawn(items)?;
        let [all_announced] = others.sum([announced.len()])?;
        let taken = self.targets.announced.min(all_announced);
        let [bar] = others.bars([taken], [&mut announced], &mut part.disk)?;
        let rest;
        (counts.announced, rest) = part.choose_up_to(bar, announced, ChosenBy::Announced)?;

        let mut items = score.into_merge(&mut part.disk)?;
        items.absorb(rest);
        let mut score = part.not_drawn(items)?;
        let items = discovery.into_merge(&mut part.disk)?;
        let mut discovery = ItemOrder::kept(items, &mut part.disk, |_| true)?;
        let left = others.sum([score.len(), discovery.len()])?;
        let ranks = self.divide(first, audited, taken, left);
        let bars = others.bars(ranks, [&mut score, &mut discovery], &mut part.disk)?;
        counts.score = part.choose_up_to(bars[0], score, ChosenBy::Score)?.0;
        counts.discovery = part.choose_up_to(bars[1], discovery, ChosenBy::Discovery)?.0;
        counts.explored = part.choice.of_share(ChosenBy::Explored);

        let explored = self.explore.map_or(0.0, |explore| explore.probability());
        let Allocation { host_slots, choice, disk, .. } = part;
        let probability = drawn as f64 / all_eligible.max(1) as f64;
        let chosen = choice.finish(probability, explored, host_slots, disk)?;
        let cutoff = bars[0].map(|bar| key_score(bar.key));
        Ok(Plan { chosen, cutoff, counts, expected, arms: Vec::new() })
    }

    /// The pages that all choose by score and for discovery, of which so many are left: as [`ShareRules::fill`] takes them
    /// one by one.
    fn divide(&self, first: u64, audited: u64, announced: u64, [by_score, new]: [u64; 2]) -> [u64; 2] {
        let target = (self.targets.score + self.targets.announced - announced).saturating_sub(first);
        let mut score = Filling { target, taken: 0 };
        let mut discovery = Filling { target: self.targets.discovery, taken: 0 };
        for _ in first + audited + announced..self.pages {
            let discovers = !self.samples_siblings || discovery.taken < discovery.target;
            let prefers_score = !discovers || score.is_further_from_target(&discovery);
            let (has_score, has_new) = (score.taken < by_score, discovers && discovery.taken < new);
            match (has_score, has_new) {
                (true, false) => score.taken += 1,
                (true, true) if prefers_score => score.taken += 1,
                (_, true) => discovery.taken += 1,
                (false, false) => break,
            }
        }
        [score.taken, discovery.taken.max(self.discovery_min.min(new))]
    }
}

impl Allocation<'_> {
    /// Draws the pages with images up to this one; none for no image. Returns the number with a slot.
    fn draw_up_to(&mut self, last: Option<RankedPage>, images: ItemOrder) -> io::Result<u64> {
        let Some(last) = last else { return Ok(0) };
        let images = images.filtered(&mut self.disk, |image| image <= last)?;
        let (own, images) = (images.len(), images.into_merge(&mut self.disk)?);
        let (_, admitted) = self.draw(own, images)?;
        // The last of all, also where it is another's.
        self.last_drawn = Some(last.key);
        Ok(admitted)
    }

    /// The candidates that are not in the sample.
    fn not_drawn(&mut self, candidates: Merge<RankedPage>) -> io::Result<ItemOrder> {
        let Allocation { rules, host_slots, last_drawn, disk, .. } = self;
        ItemOrder::kept(candidates, disk, |candidate| {
            !rules.is_drawn(host_slots, *last_drawn, rules.ties.ordinal(candidate))
        })
    }

    /// Chooses the candidates up to a bar, whose hosts have slots; none without a bar. Returns their number, and the
    /// candidates behind the bar.
    fn choose_up_to(
        &mut self,
        bar: Option<RankedPage>,
        candidates: ItemOrder,
        by: ChosenBy,
    ) -> io::Result<(u64, Merge<RankedPage>)> {
        let mut queue = ShareQueue::new(candidates.into_merge(&mut self.disk)?, by, u64::MAX);
        while queue.candidates.peek().is_some_and(|next| bar.is_some_and(|bar| next <= bar)) {
            if let Some(candidate) = queue.candidates.pop()? {
                self.choose(candidate, &mut queue)?;
            }
        }
        Ok((queue.filling.taken, queue.candidates))
    }
}
