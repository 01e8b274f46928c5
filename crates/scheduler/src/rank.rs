//! The rank of a page by score among all pages, or an estimate of it by some blocks of them.

use crate::candidate::{RankedPage, TieBreak};
use crate::{Gate, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};
use std::fmt;

/// The pages of some blocks that compete by score, as in a plan. Memory: 16 bytes each.
#[derive(Debug)]
pub struct Ranking {
    cycle: Cycle,
    warmup: u32,
    ties: TieBreak,
    scores: Vec<f64>,
    candidates: Vec<RankedPage>,
    /// Of each block, how many of its pages compete, and all.
    blocks: Vec<(usize, usize)>,
}

impl Ranking {
    /// For the plan of this request.
    pub fn new(request: &PlanRequest) -> Ranking {
        Ranking {
            cycle: request.cycle,
            warmup: request.warmup,
            ties: TieBreak::new(request.ties, request.seed, request.cycle),
            scores: Vec::new(),
            candidates: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Scans a block whose first page has the ordinal `first`. The policy must be prepared for the cycle.
    pub fn scan(&mut self, policy: &dyn Policy, first: u64, columns: &StateColumns) {
        let before = self.candidates.len();
        policy.score(columns, first, &mut self.scores);
        for (row, &score) in self.scores.iter().enumerate() {
            if Gate::of_row(columns, row, self.cycle, self.warmup) == Gate::Revisit {
                self.candidates.push(self.ties.by_score(score, first + row as u64));
            }
        }
        self.blocks.push((self.candidates.len() - before, columns.len()));
    }

    /// The rank among so many pages of a page with this ordinal and score: exact if all were scanned. Otherwise it is off by
    /// more than its error once in some hundred times, if the blocks lie evenly.
    pub fn rank(&self, ordinal: u64, score: f64, pages: u64) -> Rank {
        let page = self.ties.by_score(score, ordinal);
        let mut candidates = self.candidates.iter();
        let better = |&(competing, _): &(usize, usize)| {
            candidates.by_ref().take(competing).filter(|other| **other < page).count() as f64
        };
        let better: Vec<f64> = self.blocks.iter().map(better).collect();
        let scanned = self.blocks.iter().map(|(_, pages)| pages).sum::<usize>() as f64;
        let (all, drawn) = (better.iter().sum::<f64>(), scanned / pages as f64);
        // Pages of a block are alike, so what blocks differ by tells the error. Where none is better, one may be.
        let off = |(better, (_, pages)): (&f64, &(usize, usize))| better - all / scanned * *pages as f64;
        let spread = better.iter().zip(&self.blocks).map(|of| off(of).powi(2)).sum::<f64>() + 1.0;
        let error = ERRORS * ((1.0 - drawn) * spread).sqrt() / drawn;
        Rank { rank: (all / drawn).round() as u64 + 1, error: error.ceil() as u64 }
    }
}

/// Standard errors of an estimate that are told as its error.
const ERRORS: f64 = 3.0;

/// A rank, from 1 for the best page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The rank, or the middle of what it may be.
    pub rank: u64,
    /// How far the true rank may be from it; 0 for an exact one.
    pub error: u64,
}

impl Rank {
    /// The best rank that it may be.
    pub fn best(self) -> u64 {
        self.rank.saturating_sub(self.error).max(1)
    }

    /// The worst rank that it may be.
    pub fn worst(self) -> u64 {
        self.rank + self.error
    }
}

impl fmt::Display for Rank {
    /// `9`, or `9 ± 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            0 => write!(f, "{}", self.rank),
            error => write!(f, "{} ± {error}", self.rank),
        }
    }
}
