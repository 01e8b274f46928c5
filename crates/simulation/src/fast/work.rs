//! Counters of the work that the shortcuts save.

use std::sync::atomic::{AtomicU64, Ordering};

/// Work done and saved, over all runs of a [`Replayer`](super::Replayer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Replayed formulas.
    pub runs: u64,
    /// Of these, formulas whose choices were all cached.
    pub runs_remembered: u64,
    /// Replayed cycles, without the warm-up.
    pub cycles: u64,
    /// Of these, cached cycles.
    pub cycles_remembered: u64,
    /// Pages times cycles: the number of scores that a page-by-page replay computes.
    pub page_scores: u64,
    /// Computed scores.
    pub state_scores: u64,
    /// Visits carried out page by page, including those made up later for cached cycles.
    pub visits: u64,
}

/// The sums over all threads.
#[derive(Debug, Default)]
pub(super) struct WorkCounters([AtomicU64; 7]);

impl WorkCounters {
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
