//! The rank of a page among those that compete by score: of one page without memory, or of all.

use crate::candidate::{Candidate, TieBreak};
use crate::{Gate, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};

/// Walks the pages that compete by score, in the same pass over all pages that a plan takes.
#[derive(Debug)]
struct Competing {
    cycle: Cycle,
    warmup: u32,
    ties: TieBreak,
    scanned: u64,
    scores: Vec<f64>,
}

impl Competing {
    fn new(request: &PlanRequest) -> Competing {
        Competing {
            cycle: request.cycle,
            warmup: request.warmup,
            ties: TieBreak::new(request.ties, request.seed, request.cycle),
            scanned: 0,
            scores: Vec::new(),
        }
    }

    /// Those of the next block of pages.
    fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns, mut each: impl FnMut(Candidate)) {
        policy.score(columns, self.scanned, &mut self.scores);
        for (row, &score) in self.scores.iter().enumerate() {
            if Gate::of_row(columns, row, self.cycle, self.warmup) == Gate::Revisit {
                each(self.ties.by_score(score, self.scanned + row as u64));
            }
        }
        self.scanned += columns.len() as u64;
    }
}

/// Finds the rank of one page.
#[derive(Debug)]
pub struct RankCounter {
    competing: Competing,
    page: Candidate,
    better: u64,
}

impl RankCounter {
    /// For the page with that ordinal and score, in the plan of that request.
    pub fn new(request: &PlanRequest, ordinal: u64, score: f64) -> RankCounter {
        let competing = Competing::new(request);
        let page = competing.ties.by_score(score, ordinal);
        RankCounter { competing, page, better: 0 }
    }

    /// Takes the next block of pages, to be scored by a policy that is prepared for the cycle.
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let RankCounter { competing, page, better } = self;
        competing.scan(policy, columns, |other| *better += u64::from(other < *page));
    }

    /// The rank: 1 for the best of the pages that compete by score.
    pub fn rank(&self) -> u64 {
        self.better + 1
    }
}

/// Gathers a [`Ranking`].
#[derive(Debug)]
pub struct RankingGatherer {
    competing: Competing,
    candidates: Vec<Candidate>,
}

impl RankingGatherer {
    /// For the plan of that request.
    pub fn new(request: &PlanRequest) -> RankingGatherer {
        RankingGatherer { competing: Competing::new(request), candidates: Vec::new() }
    }

    /// As of [`RankCounter::scan`].
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let candidates = &mut self.candidates;
        self.competing.scan(policy, columns, |candidate| candidates.push(candidate));
    }

    /// When all pages were scanned.
    pub fn finish(mut self) -> Ranking {
        self.candidates.sort_unstable();
        self.candidates.shrink_to_fit();
        Ranking { ties: self.competing.ties, best_first: self.candidates }
    }
}

/// The ranks of all pages that compete by score. Memory: 16 bytes a page.
#[derive(Debug)]
pub struct Ranking {
    ties: TieBreak,
    best_first: Vec<Candidate>,
}

impl Ranking {
    /// What a [`RankCounter`] finds for the page with that ordinal and score.
    pub fn rank(&self, ordinal: u64, score: f64) -> u64 {
        let page = self.ties.by_score(score, ordinal);
        self.best_first.partition_point(|other| *other < page) as u64 + 1
    }
}
