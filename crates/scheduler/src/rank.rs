//! The rank of a page by score: of one page without memory, or of all in little.

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

/// Classes that a [`Ranking`] divides pages into, at most: a class is a `u16`.
const CLASSES: usize = u16::MAX as usize;
/// The class of pages that do not compete.
const NO_CLASS: u16 = u16::MAX;
/// Candidates that are sampled to divide all pages: a few per class, so that classes are of about the same size.
const SAMPLED: u64 = 1 << 18;

/// The first of the two passes that give a [`Ranking`]: samples candidates, to divide all pages into classes.
#[derive(Debug)]
pub struct RankingSample {
    competing: Competing,
    request: PlanRequest,
    pages: u64,
    /// Every so many-th candidate is taken.
    step: u64,
    seen: u64,
    sample: Vec<Candidate>,
    classes: usize,
}

impl RankingSample {
    /// For the plan of this request, over so many pages.
    pub fn new(request: &PlanRequest, pages: u64) -> RankingSample {
        RankingSample::sized(request, pages, pages.div_ceil(SAMPLED), CLASSES)
    }

    pub(crate) fn sized(request: &PlanRequest, pages: u64, step: u64, classes: usize) -> RankingSample {
        let (competing, request) = (Competing::new(request), request.clone());
        RankingSample { competing, request, pages, step: step.max(1), seen: 0, sample: Vec::new(), classes }
    }

    /// Scans like [`RankCounter::scan`].
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let RankingSample { competing, step, seen, sample, .. } = self;
        competing.scan(policy, columns, |candidate| {
            if seen.is_multiple_of(*step) {
                sample.push(candidate);
            }
            *seen += 1;
        });
    }

    /// Divides the pages; the second pass follows.
    pub fn divide(mut self) -> RankingGatherer {
        self.sample.sort_unstable();
        let (count, classes) = (self.sample.len(), self.classes);
        let mut fences: Vec<Candidate> =
            (1..classes.min(count)).map(|i| self.sample[i * count / classes.min(count)]).collect();
        fences.dedup();
        let sizes = vec![0; fences.len() + 1];
        let classes = Vec::with_capacity(self.pages as usize);
        RankingGatherer { competing: Competing::new(&self.request), fences, sizes, classes }
    }
}

/// The second pass.
#[derive(Debug)]
pub struct RankingGatherer {
    competing: Competing,
    fences: Vec<Candidate>,
    sizes: Vec<u64>,
    classes: Vec<u16>,
}

impl RankingGatherer {
    /// Scans like [`RankCounter::scan`].
    pub fn scan(&mut self, policy: &dyn Policy, columns: &StateColumns) {
        let RankingGatherer { competing, fences, sizes, classes } = self;
        let first = classes.len();
        classes.resize(first + columns.len(), NO_CLASS);
        let ties = competing.ties;
        competing.scan(policy, columns, |candidate| {
            let class = class_of(fences, candidate);
            sizes[class] += 1;
            classes[ties.ordinal(candidate) as usize] = class as u16;
        });
    }

    /// Returns the ranking, after the last block.
    pub fn finish(self) -> Ranking {
        let RankingGatherer { competing, fences, mut sizes, classes } = self;
        let mut better = 0;
        for size in &mut sizes {
            better += std::mem::replace(size, better);
        }
        Ranking { ties: competing.ties, fences, better: sizes, classes }
    }
}

/// The ranks of all pages that compete by score, in two bytes per known page: the number of pages that are better than all of a
/// page's class is known, and those of its class are looked at again.
#[derive(Debug)]
pub struct Ranking {
    ties: TieBreak,
    /// The best candidate of each class but the first.
    fences: Vec<Candidate>,
    /// By class: pages of better ones.
    better: Vec<u64>,
    /// By ordinal.
    classes: Vec<u16>,
}

impl Ranking {
    /// The rank that a [`RankCounter`] would find for a page with this ordinal and score. `score_of` gives the scores of other
    /// pages, by ordinal: some hundred of ten million.
    ///
    /// # Errors
    /// Those of `score_of`.
    pub fn rank<E>(
        &self,
        ordinal: u64,
        score: f64,
        mut score_of: impl FnMut(u64) -> Result<f64, E>,
    ) -> Result<u64, E> {
        let page = self.ties.by_score(score, ordinal);
        let class = class_of(&self.fences, page);
        let mut rank = self.better[class] + 1;
        for (other, _) in (0..).zip(&self.classes).filter(|(_, of)| **of == class as u16) {
            rank += u64::from(self.ties.by_score(score_of(other)?, other) < page);
        }
        Ok(rank)
    }
}

fn class_of(fences: &[Candidate], candidate: Candidate) -> usize {
    fences.partition_point(|fence| *fence <= candidate)
}
