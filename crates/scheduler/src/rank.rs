//! The rank of one page among those that compete by score.

use crate::candidate::{Candidate, TieBreak};
use crate::{Gate, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};

/// Finds the rank of one page, in the same pass over the pages that a plan takes.
#[derive(Debug)]
pub struct RankCounter {
    cycle: Cycle,
    warmup: u32,
    ties: TieBreak,
    page: Candidate,
    scanned: u64,
    better: u64,
    scores: Vec<f64>,
}

impl RankCounter {
    /// For the page with that ordinal and score, in the plan of that request.
    pub fn new(request: &PlanRequest, ordinal: u64, score: f64) -> RankCounter {
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        RankCounter {
            cycle: request.cycle,
            warmup: request.warmup,
            ties,
            page: ties.by_score(score, ordinal),
            scanned: 0,
            better: 0,
            scores: Vec::new(),
        }
    }

    /// Takes the next block of pages, to be scored by a policy that is prepared for the cycle.
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        policy.score(columns, self.scanned, &mut self.scores);
        for (row, &score) in self.scores.iter().enumerate() {
            let candidate = self.ties.by_score(score, self.scanned + row as u64);
            let competes = Gate::of_row(columns, row, self.cycle, self.warmup) == Gate::Revisit;
            self.better += u64::from(competes && candidate < self.page);
        }
        self.scanned += columns.len() as u64;
    }

    /// The rank: 1 for the best of the pages that compete by score.
    pub fn rank(&self) -> u64 {
        self.better + 1
    }
}
