//! Phase and clock of the next cycle, after the protocol of the GP4C papers: discovery at clock 0,
//! visits of every page at clocks 1 and 2, selection by score from clock 3 on. A function of the
//! earlier turns, so that a later run continues where the last one stopped.

use super::state::CycleEnd;
use serde::{Deserialize, Serialize};

/// Maximum discovery cycles. Later cycles visit the remaining new pages.
const DISCOVERY_CYCLES: usize = 6;
/// Warm-up cycles.
pub const WARMUP_CYCLES: usize = 2;

/// Phase of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CyclePhase {
    /// First visits only, while the clock stands still.
    Discovery,
    /// Every page is visited.
    Warmup,
    /// The score selects pages within the budget; these cycles are evaluated.
    Scored,
}

impl CyclePhase {
    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            CyclePhase::Discovery => "discovery",
            CyclePhase::Warmup => "warm-up",
            CyclePhase::Scored => "scored",
        }
    }
}

/// Phase and clock of the turn after `done`.
pub fn next(done: &[CycleEnd]) -> (CyclePhase, u32) {
    let Some(last) = done.last() else { return (CyclePhase::Discovery, 0) };
    let count = |phase| done.iter().filter(|t| t.phase == phase).count();
    match last.phase {
        CyclePhase::Discovery
            if last.report.never_tried > 0 && count(CyclePhase::Discovery) < DISCOVERY_CYCLES =>
        {
            (CyclePhase::Discovery, last.clock)
        }
        CyclePhase::Discovery => (CyclePhase::Warmup, last.clock + 1),
        CyclePhase::Warmup if count(CyclePhase::Warmup) < WARMUP_CYCLES => {
            (CyclePhase::Warmup, last.clock + 1)
        }
        CyclePhase::Warmup | CyclePhase::Scored => (CyclePhase::Scored, last.clock + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::state::tests::turn;

    /// The turns of a crawl whose first `n` discovery cycles leave pages unvisited.
    fn turns(n: u64, count: usize) -> Vec<(CyclePhase, u32)> {
        let mut done = Vec::new();
        for i in 0..count {
            let (phase, clock) = next(&done);
            let mut turn = turn(phase, clock);
            turn.report.never_tried = n.saturating_sub(i as u64);
            done.push(turn);
        }
        done.iter().map(|t| (t.phase, t.clock)).collect()
    }

    #[test]
    fn discovery_warm_up_score() {
        use CyclePhase::{Discovery, Scored, Warmup};
        assert_eq!(
            turns(1, 6),
            [(Discovery, 0), (Discovery, 0), (Warmup, 1), (Warmup, 2), (Scored, 3), (Scored, 4)]
        );
    }

    #[test]
    fn discovery_has_an_end() {
        let turns = turns(99, 8);
        assert_eq!(turns.iter().filter(|t| t.0 == CyclePhase::Discovery).count(), DISCOVERY_CYCLES);
        assert_eq!(turns[DISCOVERY_CYCLES], (CyclePhase::Warmup, 1));
    }
}
