//! The plan of a cycle.

use crate::{Chosen, ExpectedChanges};
use std::ops::Add;

/// The plan of a cycle, with statistics.
pub struct Plan {
    /// The chosen pages in the order of ordinals, each with its share: [`PlanCounts::chosen`] of them.
    pub chosen: Chosen,
    /// The lowest score chosen by score; NaN if pages with NaN were chosen. None if no page was
    /// chosen by score.
    pub cutoff: Option<f64>,
    /// Number of pages of each kind.
    pub counts: PlanCounts,
    /// The changes expected in the population of the audit sample; 0 unless asked for.
    pub expected: ExpectedChanges,
    /// Of each arm that was counted ([`Planner::count_arms`](crate::Planner::count_arms)): pages of that population, and
    /// the changes expected in them. Arms after the last one that has pages are missing.
    pub arms: Vec<(u64, f64)>,
}

/// Number of scanned pages by gate (their sum is `pages`), and of chosen pages by share (their sum
/// is [`PlanCounts::chosen`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlanCounts {
    /// Pages scanned.
    pub pages: u64,
    /// Of these, gone.
    pub gone: u64,
    /// Of these, refused by a rule.
    pub refused: u64,
    /// Of these, in back-off after failures.
    pub backing_off: u64,
    /// Of these, visited in an earlier round of the cycle.
    pub visited: u64,
    /// Of these, never fetched and due.
    pub discovery_due: u64,
    /// Of these, in their warm-up and due.
    pub warmup_due: u64,
    /// Of these, due to compete by score, or to be visited whatever their score.
    pub revisit_due: u64,
    /// Of these, the population of the audit sample: all but pages of hosts whose warm-up takes all
    /// slots.
    pub audit_eligible: u64,
    /// Chosen because they were never fetched.
    pub discovery: u64,
    /// Of these, explored.
    pub explored: u64,
    /// Chosen for their warm-up.
    pub warmup: u64,
    /// Chosen for the audit sample.
    pub audit: u64,
    /// Chosen because they were announced as changed.
    pub announced: u64,
    /// Chosen by score.
    pub score: u64,
    /// Chosen for the panel.
    pub panel: u64,
    /// Chosen for a promise.
    pub promised: u64,
}

impl Add for PlanCounts {
    type Output = PlanCounts;

    fn add(self, other: PlanCounts) -> PlanCounts {
        PlanCounts {
            pages: self.pages + other.pages,
            gone: self.gone + other.gone,
            refused: self.refused + other.refused,
            backing_off: self.backing_off + other.backing_off,
            visited: self.visited + other.visited,
            discovery_due: self.discovery_due + other.discovery_due,
            warmup_due: self.warmup_due + other.warmup_due,
            revisit_due: self.revisit_due + other.revisit_due,
            audit_eligible: self.audit_eligible + other.audit_eligible,
            discovery: self.discovery + other.discovery,
            explored: self.explored + other.explored,
            warmup: self.warmup + other.warmup,
            audit: self.audit + other.audit,
            announced: self.announced + other.announced,
            score: self.score + other.score,
            panel: self.panel + other.panel,
            promised: self.promised + other.promised,
        }
    }
}

impl PlanCounts {
    /// Number of chosen pages.
    pub fn chosen(&self) -> u64 {
        self.discovery + self.warmup + self.audit + self.announced + self.score + self.panel + self.promised
    }
}
