//! How a page compares with the other pages of its host, if the host has a limit per cycle.

use crate::candidate::{RankedPage, TieBreak, discovery_key, key_score, score_key, warmup_key};
use crate::{Gate, PlanRequest, Policy, TopK};
use recrawl_types::{Cycle, PageRecord, StateColumns};
use std::ops::Range;

/// The slots of a host, and the page's position among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPlaces {
    /// The host's slots in a cycle, `max_per_host`.
    pub limit: u64,
    /// Due warm-up pages of the host. They get slots first.
    pub warmup: u64,
    /// Pages of the host that come before this one. For a warm-up page, warm-up pages; for an
    /// undiscovered page, such pages; else pages with a higher score.
    pub before: u64,
    /// Slots for pages of this kind.
    pub open: u64,
    /// The lowest score with a slot. None if this page does not compete by score or no page has a
    /// slot.
    pub last: Option<f64>,
}

impl HostPlaces {
    /// Has the host no slot for this page, except for the audit sample?
    pub fn are_taken(&self) -> bool {
        self.before >= self.open
    }
}

/// Finds the position of a page in a scan of its host. Memory: 32 bytes per slot of the host, at
/// most for as many slots as it has pages.
#[derive(Debug)]
pub struct HostPlacesCounter {
    cycle: Cycle,
    warmup_visits: u32,
    ties: TieBreak,
    host: Range<u64>,
    gate: Gate,
    page: RankedPage,
    limit: u64,
    /// Pages that earlier rounds of the cycle tried.
    tried: u64,
    warmup: u64,
    before: u64,
    best: TopK<RankedPage>,
    scores: Vec<f64>,
}

impl HostPlacesCounter {
    /// For a page of the host with the ordinals `host`. None if there is no limit, or the page does
    /// not compete.
    pub fn new(
        request: &PlanRequest,
        host: Range<u64>,
        ordinal: u64,
        record: &PageRecord,
        score: Option<f64>,
    ) -> Option<HostPlacesCounter> {
        let limit = request.max_per_host?;
        let history = record.visited.as_ref().map(|visited| &visited.history);
        let gate = Gate::for_page(&record.known, history.map(|h| h.visits), request.cycle, request.warmup);
        let key = match gate {
            Gate::Gone | Gate::Refused | Gate::BackOff | Gate::Visited => return None,
            Gate::Discovery => discovery_key(&record.known),
            Gate::Warmup => warmup_key(history?.last.0),
            Gate::Revisit => score_key(score?),
        };
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        // Limited by the number of pages, which bounds the memory.
        let best = TopK::new(limit.min(host.end - host.start));
        Some(HostPlacesCounter {
            cycle: request.cycle,
            warmup_visits: request.warmup,
            ties,
            host,
            gate,
            page: ties.candidate(key, ordinal),
            limit,
            tried: 0,
            warmup: 0,
            before: 0,
            best,
            scores: Vec::new(),
        })
    }

    /// Scans a block of pages from ordinal `first` on. The policy must be prepared for the cycle.
    /// Scan each block with pages of the host once, in any order.
    pub fn scan(&mut self, policy: &dyn Policy, first: u64, columns: &StateColumns) {
        let rows = self.host.start.max(first)..self.host.end.min(first + columns.len() as u64);
        if rows.is_empty() {
            return;
        }
        policy.score(columns, first, &mut self.scores);
        for ordinal in rows {
            let row = (ordinal - first) as usize;
            let gate = Gate::of_row(columns, row, self.cycle, self.warmup_visits);
            self.tried += u64::from(columns.known[row].last_attempt == self.cycle);
            self.warmup += u64::from(gate == Gate::Warmup);
            if gate != self.gate {
                continue;
            }
            let key = match gate {
                Gate::Discovery => discovery_key(&columns.known[row]),
                Gate::Warmup => warmup_key(columns.last[row]),
                Gate::Revisit | Gate::Gone | Gate::Refused | Gate::BackOff | Gate::Visited => {
                    score_key(self.scores[row])
                }
            };
            let candidate = self.ties.candidate(key, ordinal);
            self.before += u64::from(candidate < self.page);
            if gate == Gate::Revisit {
                self.best.offer(candidate);
            }
        }
    }

    /// The result, after the last block.
    pub fn places(mut self) -> HostPlaces {
        let slots = self.limit.saturating_sub(self.tried);
        let left = slots.saturating_sub(self.warmup);
        let open = if self.gate == Gate::Warmup { slots } else { left };
        let last = self.best.drain(left).max().map(|candidate| key_score(candidate.key));
        HostPlaces { limit: self.limit, warmup: self.warmup, before: self.before, open, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, ListedScores, columns, request};
    use proptest::prelude::*;
    use recrawl_types::{Content, Share, Visited};

    proptest! {
        #[test]
        fn a_page_is_chosen_where_its_host_has_a_place_for_it(
            pages in testing::pages(60),
            ranks in Just((0..60).map(f64::from).collect::<Vec<f64>>()).prop_shuffle(),
            limit in 0u64..8, warmup in 0u32..3, seed: u64, host_pages in 1usize..20,
        ) {
            // Discovery and score share the slots of a host; this test has no undiscovered pages.
            let pages: Vec<_> = pages.into_iter().filter(|page| page.1.is_some()).collect();
            let hosts: Vec<u64> = pages.chunks(host_pages).map(|host| host.len() as u64).collect();
            let request = PlanRequest { pages: 1_000, warmup, seed, max_per_host: Some(limit), ..request() };
            let mut policy = ListedScores(ranks.clone());
            let chosen = testing::plan(&request, &mut policy, &pages, &hosts, 9).unwrap().chosen;
            for (at, (known, history)) in pages.iter().enumerate() {
                let start = (at / host_pages * host_pages) as u64;
                let host = start..(start + host_pages as u64).min(pages.len() as u64);
                let visited = history.map(|history| Visited { history, content: Content::default() });
                let record = PageRecord { known: *known, visited };
                let counter = HostPlacesCounter::new(&request, host.clone(), at as u64, &record, Some(ranks[at]));
                let Some(mut counter) = counter else { continue };
                for (block, first) in pages.chunks(7).zip((0..).step_by(7)) {
                    // Blocks without pages of the host may be skipped.
                    if first < host.end && host.start < first + 7 {
                        counter.scan(&ListedScores(ranks.clone()), first, &columns(block));
                    }
                }
                let places = counter.places();
                let is_chosen = chosen.iter().any(|(ordinal, _)| *ordinal == at as u64);
                prop_assert_eq!(is_chosen, !places.are_taken(), "{:?}", places);
                let of_host = |c: &&(u64, Share)| host.contains(&c.0) && c.1 == Share::Score;
                let last = chosen.iter().filter(of_host).map(|c| ranks[c.0 as usize]).reduce(f64::min);
                if Gate::for_page(known, history.map(|h| h.visits), request.cycle, warmup) == Gate::Revisit {
                    prop_assert_eq!(places.last, last);
                }
            }
        }
    }
}
