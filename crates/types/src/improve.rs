//! Events and decisions of the loop of `[improve]`: as the crawl keeps them, and as the console shows them.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// A decision that waits for the next cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// The decision.
    pub what: AskedFor,
    /// Who decided.
    pub who: String,
    /// Time.
    pub at: u64,
}

/// What can wait for the next cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskedFor {
    /// Put the candidate in force.
    Promote,
    /// Take the promoted formula back.
    RollBack,
}

/// What can happen in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopEventKind {
    /// A candidate was not tried.
    Refused,
    /// It is scored beside the formula in force.
    Shadowed,
    /// It waits for an operator.
    Proposed,
    /// Its trial began.
    TrialBegan,
    /// It failed.
    Rejected,
    /// It came into force.
    Promoted,
    /// It was taken back.
    RolledBack,
    /// It stays in force.
    Kept,
    /// An operator chose a formula.
    OperatorChose,
    /// An operator held the loop.
    Held,
    /// An operator let the loop go on.
    Released,
    /// Visits find more, or fewer, changes than expected.
    Alarm,
}

impl LoopEventKind {
    /// All kinds.
    pub const ALL: [LoopEventKind; 12] = [
        LoopEventKind::Refused,
        LoopEventKind::Shadowed,
        LoopEventKind::Proposed,
        LoopEventKind::TrialBegan,
        LoopEventKind::Rejected,
        LoopEventKind::Promoted,
        LoopEventKind::RolledBack,
        LoopEventKind::Kept,
        LoopEventKind::OperatorChose,
        LoopEventKind::Held,
        LoopEventKind::Released,
        LoopEventKind::Alarm,
    ];
}

/// As in JSON, and in metric labels.
impl fmt::Display for LoopEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_one_name() {
        let kinds = "refused shadowed proposed trial_began rejected promoted rolled_back kept operator_chose held \
                     released alarm";
        assert_eq!(LoopEventKind::ALL.map(|kind| kind.to_string()).join(" "), kinds);
        for kind in LoopEventKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
        }
    }
}
