//! The rank of a page by score: of one page without memory, or of all pages in little.

use crate::candidate::{RankedPage, TieBreak};
use crate::{Gate, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};
use std::fmt;

/// Scans the pages that compete by score, as a plan does.
#[derive(Debug)]
struct Competing {
    cycle: Cycle,
    warmup: u32,
    ties: TieBreak,
    scores: Vec<f64>,
}

impl Competing {
    fn new(request: &PlanRequest) -> Competing {
        Competing {
            cycle: request.cycle,
            warmup: request.warmup,
            ties: TieBreak::new(request.ties, request.seed, request.cycle),
            scores: Vec::new(),
        }
    }

    /// Calls `each` for those of a block whose first page has the ordinal `first`.
    fn scan(
        &mut self,
        policy: &dyn Policy,
        first: u64,
        columns: &StateColumns,
        mut each: impl FnMut(RankedPage),
    ) {
        policy.score(columns, first, &mut self.scores);
        for (row, &score) in self.scores.iter().enumerate() {
            if Gate::of_row(columns, row, self.cycle, self.warmup) == Gate::Revisit {
                each(self.ties.by_score(score, first + row as u64));
            }
        }
    }
}

/// Finds the rank of one page, or estimates it by some blocks.
#[derive(Debug)]
pub struct RankCounter {
    competing: Competing,
    page: RankedPage,
    /// Of each block, the pages that are better, and all.
    blocks: Vec<(f64, f64)>,
}

/// Standard errors of an estimate that are told as its error.
const ERRORS: f64 = 3.0;

impl RankCounter {
    /// For a page with this ordinal and score.
    pub fn new(request: &PlanRequest, ordinal: u64, score: f64) -> RankCounter {
        let competing = Competing::new(request);
        let page = competing.ties.by_score(score, ordinal);
        RankCounter { competing, page, blocks: Vec::new() }
    }

    /// Scans a block whose first page has the ordinal `first`. The policy must be prepared for the cycle.
    pub fn scan(&mut self, policy: &dyn Policy, first: u64, columns: &StateColumns) {
        let mut better = 0;
        self.competing.scan(policy, first, columns, |other| better += u32::from(other < self.page));
        self.blocks.push((better.into(), columns.len() as f64));
    }

    /// The rank among so many pages: exact if all were scanned. Otherwise it is off by more than its error once in some
    /// hundred times, if the blocks were drawn evenly.
    pub fn rank(&self, pages: u64) -> Rank {
        let (better, scanned) = self.blocks.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let drawn = scanned / pages as f64;
        let share = better / scanned;
        // Pages of a block are alike, so what blocks differ by tells the error. Where none is better, one may be.
        let spread = self.blocks.iter().map(|(better, of)| (better - share * of).powi(2)).sum::<f64>() + 1.0;
        let error = ERRORS * ((1.0 - drawn) * spread).sqrt() / drawn;
        Rank { rank: (better / drawn).round() as u64 + 1, error: error.ceil() as u64 }
    }
}

/// Candidates that are sorted at a time, 16 bytes each.
const CHUNK: usize = 1 << 20;
/// Candidates that a [`Ranking`] keeps, 16 bytes each. Of more pages it keeps every so many-th.
const MAX_SAMPLED: u64 = 1 << 18;

/// Gathers a [`Ranking`] in one pass over all pages: sorts them chunk by chunk, and keeps every so many-th of each
/// chunk.
#[derive(Debug)]
pub struct RankingGatherer {
    competing: Competing,
    /// The last of every so many candidates is kept.
    step: usize,
    /// Candidates sorted at a time.
    room: usize,
    chunk: Vec<RankedPage>,
    kept: Vec<RankedPage>,
    candidates: u64,
    slack: u64,
}

impl RankingGatherer {
    /// For the plan of this request, over so many pages.
    pub fn new(request: &PlanRequest, pages: u64) -> RankingGatherer {
        RankingGatherer::sized(request, pages.div_ceil(MAX_SAMPLED) as usize, CHUNK)
    }

    pub(crate) fn sized(request: &PlanRequest, step: usize, room: usize) -> RankingGatherer {
        RankingGatherer {
            competing: Competing::new(request),
            step: step.max(1),
            room,
            chunk: Vec::new(),
            kept: Vec::new(),
            candidates: 0,
            slack: 0,
        }
    }

    /// Scans like [`RankCounter::scan`].
    pub fn scan(&mut self, policy: &dyn Policy, first: u64, columns: &StateColumns) {
        let RankingGatherer { competing, chunk, .. } = self;
        competing.scan(policy, first, columns, |candidate| chunk.push(candidate));
        if self.chunk.len() >= self.room {
            self.thin();
        }
    }

    /// Keeps a part of the chunk.
    fn thin(&mut self) {
        let RankingGatherer { step, chunk, kept, candidates, slack, .. } = self;
        chunk.sort_unstable();
        kept.extend(chunk.iter().skip(*step - 1).step_by(*step));
        *candidates += chunk.len() as u64;
        *slack += (*step - 1).min(chunk.len()) as u64;
        chunk.clear();
    }

    /// Returns the ranking, after the last block.
    pub fn finish(mut self) -> Ranking {
        self.thin();
        let RankingGatherer { competing, step, mut kept, candidates, slack, .. } = self;
        kept.sort_unstable();
        Ranking { ties: competing.ties, step: step as u64, kept, candidates, slack }
    }
}

/// The ranks of all pages that compete by score, in 4 MB.
#[derive(Debug)]
pub struct Ranking {
    ties: TieBreak,
    /// Each stands for so many candidates of its chunk that are no worse.
    step: u64,
    /// The best first.
    kept: Vec<RankedPage>,
    candidates: u64,
    /// In each chunk, up to a step of candidates may be better than a page although none of their kept ones is.
    slack: u64,
}

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

impl Ranking {
    /// The rank that a [`RankCounter`] would find for a page with this ordinal and score. It is exact for up to 262,144
    /// pages. Of ten million, it is 185 off at most.
    pub fn rank(&self, ordinal: u64, score: f64) -> Rank {
        let page = self.ties.by_score(score, ordinal);
        let least = self.kept.partition_point(|kept| *kept < page) as u64 * self.step;
        let open = self.slack.min(self.candidates - least);
        Rank { rank: least + open / 2 + 1, error: open.div_ceil(2) }
    }
}
