//! Counts of evaluations done and saved.

use serde::Serialize;
use std::ops::Add;

/// Counts of the work of a learning. They say nothing about the result, and begin anew after an interruption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Individuals whose fitness was asked for.
    pub asked: u64,
    /// Formulas that were replayed; the fitness of the others was known.
    pub replayed: u64,
    /// Of these, how many took no choice of pages that was not remembered.
    pub replays_remembered: u64,
    /// Cycles replayed.
    pub cycles: u64,
    /// Of these, how many were remembered.
    pub cycles_remembered: u64,
    /// Pages times cycles of the formulas replayed: the scores that a replay page by page computes.
    pub page_scores: u64,
    /// Scores that were computed.
    pub state_scores: u64,
    /// Visits carried out page by page.
    pub visits: u64,
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            asked: self.asked + other.asked,
            replayed: self.replayed + other.replayed,
            replays_remembered: self.replays_remembered + other.replays_remembered,
            cycles: self.cycles + other.cycles,
            cycles_remembered: self.cycles_remembered + other.cycles_remembered,
            page_scores: self.page_scores + other.page_scores,
            state_scores: self.state_scores + other.state_scores,
            visits: self.visits + other.visits,
        }
    }
}
