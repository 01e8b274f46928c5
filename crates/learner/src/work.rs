//! Counters of evaluations done and saved.

use serde::Serialize;
use std::ops::Add;

/// Counters of work. They do not affect the result, and restart after an interruption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Individuals whose fitness was requested.
    pub asked: u64,
    /// Replayed formulas; the fitness of the others was cached.
    pub replayed: u64,
    /// Of these, formulas whose choices were all cached.
    pub replays_remembered: u64,
    /// Of the replayed formulas, those replayed page by page.
    #[serde(skip_serializing_if = "is_none")]
    pub replays_by_page: u64,
    /// Replayed cycles.
    pub cycles: u64,
    /// Of these, cached cycles.
    pub cycles_remembered: u64,
    /// Pages times cycles of the replayed formulas: the number of scores that a page-by-page replay
    /// computes.
    pub page_scores: u64,
    /// Computed scores.
    pub state_scores: u64,
    /// Visits carried out page by page.
    pub visits: u64,
}

/// Whether it is 0. JSON then leaves it out.
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            asked: self.asked + other.asked,
            replayed: self.replayed + other.replayed,
            replays_remembered: self.replays_remembered + other.replays_remembered,
            replays_by_page: self.replays_by_page + other.replays_by_page,
            cycles: self.cycles + other.cycles,
            cycles_remembered: self.cycles_remembered + other.cycles_remembered,
            page_scores: self.page_scores + other.page_scores,
            state_scores: self.state_scores + other.state_scores,
            visits: self.visits + other.visits,
        }
    }
}
