//! Counts of the work that shortcuts save.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was done and what was saved, over all runs of a [`Replayer`](super::Replayer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Formulas replayed.
    pub runs: u64,
    /// Of these, how many took no choice that was not remembered.
    pub runs_remembered: u64,
    /// Cycles replayed, the warm-up aside.
    pub cycles: u64,
    /// Of these, how many were remembered.
    pub cycles_remembered: u64,
    /// Pages times cycles: the scores that a replay page by page computes.
    pub page_scores: u64,
    /// Scores that were computed.
    pub state_scores: u64,
    /// Visits carried out page by page, those of cycles that were caught up with too.
    pub visits: u64,
}

/// The sums, which all threads add to.
#[derive(Debug, Default)]
pub(super) struct Counters([AtomicU64; 7]);

impl Counters {
    pub fn add(&self, work: Work) {
        let Work { runs, runs_remembered, cycles, cycles_remembered, page_scores, state_scores, visits } =
            work;
        let all = [runs, runs_remembered, cycles, cycles_remembered, page_scores, state_scores, visits];
        self.0.iter().zip(all).for_each(|(sum, n)| {
            sum.fetch_add(n, Ordering::Relaxed);
        });
    }

    pub fn read(&self) -> Work {
        let [runs, runs_remembered, cycles, cycles_remembered, page_scores, state_scores, visits] =
            std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed));
        Work { runs, runs_remembered, cycles, cycles_remembered, page_scores, state_scores, visits }
    }
}
