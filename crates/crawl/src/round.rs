//! Kinds of rounds.

use serde::{Deserialize, Serialize};

/// The purpose of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundKind {
    /// It spends the budget k of its cycle.
    #[default]
    Revisit,
    /// It visits URLs that were never fetched, and what earlier rounds of the cycle did not reach.
    Fill,
    /// It visits new seeds, and pages that operators asked for.
    Urgent,
}

impl RoundKind {
    /// As in reports.
    pub fn name(self) -> &'static str {
        match self {
            RoundKind::Revisit => "revisit",
            RoundKind::Fill => "fill",
            RoundKind::Urgent => "urgent",
        }
    }
}
