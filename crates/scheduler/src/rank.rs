//! The rank of a page by score: of one page without memory, or of all.

use crate::candidate::{Candidate, TieBreak};
use crate::{Gate, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};

/// Scans the pages that compete by score, as a plan does.
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

    /// Calls `each` for those of the next block of pages.
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
    /// For a page with this ordinal and score.
    pub fn new(request: &PlanRequest, ordinal: u64, score: f64) -> RankCounter {
        let competing = Competing::new(request);
        let page = competing.ties.by_score(score, ordinal);
        RankCounter { competing, page, better: 0 }
    }

    /// Scans the next block of pages. The policy must be prepared for the cycle.
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let RankCounter { competing, page, better } = self;
        competing.scan(policy, columns, |other| *better += u64::from(other < *page));
    }

    /// The rank: 1 for the best page.
    pub fn rank(&self) -> u64 {
        self.better + 1
    }
}

/// Collects a [`Ranking`].
#[derive(Debug)]
pub struct RankingGatherer {
    competing: Competing,
    candidates: Vec<Candidate>,
}

impl RankingGatherer {
    /// For the plan of this request.
    pub fn new(request: &PlanRequest) -> RankingGatherer {
        RankingGatherer { competing: Competing::new(request), candidates: Vec::new() }
    }

    /// Scans like [`RankCounter::scan`].
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let candidates = &mut self.candidates;
        self.competing.scan(policy, columns, |candidate| candidates.push(candidate));
    }

    /// Returns the ranking, after the last block.
    pub fn finish(mut self) -> Ranking {
        self.candidates.sort_unstable();
        self.candidates.shrink_to_fit();
        Ranking { ties: self.competing.ties, best_first: self.candidates }
    }
}

/// The ranks of all pages that compete by score. Memory: 16 bytes per page.
#[derive(Debug)]
pub struct Ranking {
    ties: TieBreak,
    best_first: Vec<Candidate>,
}

impl Ranking {
    /// The rank that a [`RankCounter`] would find for a page with this ordinal and score.
    pub fn rank(&self, ordinal: u64, score: f64) -> u64 {
        let page = self.ties.by_score(score, ordinal);
        self.best_first.partition_point(|other| *other < page) as u64 + 1
    }
}
