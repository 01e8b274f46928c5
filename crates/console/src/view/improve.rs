//! What a crawl measures of its formula, and the loop that learns and tries others.

mod candidate;
mod step;
mod watch;

pub use candidate::{BackTest, Candidate, CandidateDocument, CandidateState, Scored, Split};
pub use step::{
    Arms, LearnerEnd, LearnerNow, Loop, LoopStep, LoopTerms, Quarantined, ShadowSoFar, TrialPhase, TrialSoFar,
};
pub use watch::{DriftAlarm, DriftWatch, FoundBeside, MoreOrFewer, PopulationWatch, Stability, Watch};

pub use recrawl_types::{Asked, AskedFor, LoopEventKind};

use serde::Serialize;
use utoipa::ToSchema;

/// What a crawl measures of its formula, and where its loop stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Improve {
    /// `improve.mode`.
    pub mode: ImproveMode,
    /// What to set to see more; null in mode `promote`.
    pub todo: Option<String>,
    /// What was measured; null before the first measured cycle.
    pub watch: Option<Watch>,
    /// Freshness of the last measured cycles, oldest first, at most 60.
    pub cycles: Vec<CycleFreshness>,
    /// The loop; null in modes `off` and `watch`.
    #[serde(rename = "loop")]
    pub stands: Option<Loop>,
}

/// Values of `improve.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImproveMode {
    /// Nothing is measured.
    #[default]
    Off,
    /// The crawl measures what its formula is worth.
    Watch,
    /// It also learns others, and proposes the better.
    Propose,
    /// It also tries these, and puts them in force.
    Promote,
}

/// An estimated share with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Estimate {
    /// The share, 0 to 1.
    pub share: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Audited pages that it rests on.
    pub pages: u64,
}

/// An estimated difference of shares with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// Candidate less control, or less the formula in force.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Pages that it rests on.
    pub pages: u64,
}

/// Freshness before the visits of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct CycleFreshness {
    /// The cycle.
    pub cycle: u64,
    /// When its last round ended, in milliseconds since 1970.
    pub ended: u64,
    /// Null if none of its audited pages answered.
    pub freshness: Option<Estimate>,
}

/// Query of the history of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Continue at [`EventList::next`] of an earlier response. Untrusted, as
    /// [`HostQuery::cursor`](super::HostQuery::cursor).
    pub cursor: Option<String>,
    /// Maximum rows, 1 to [`MAX_ROWS`](crate::MAX_ROWS).
    pub limit: usize,
}

/// A part of the history of the loop.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EventList {
    /// Events, newest first. The crawl remembers 200.
    pub events: Vec<LoopEvent>,
    /// Cursor of the next part; null at the end.
    pub next: Option<String>,
}

/// Something that happened in the loop.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LoopEvent {
    /// The cycle that it began with.
    pub cycle: u64,
    /// Time.
    pub at: u64,
    /// What happened.
    pub what: LoopEventKind,
    /// The expression of the candidate; null if it is about none.
    pub candidate: Option<String>,
    /// Its id in `/api/v1/improve/candidates/{id}`.
    pub id: Option<String>,
    /// Why, in words.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_one_name() {
        assert_eq!(LoopStep::ALL.map(|step| step.to_string()).join(" "), "idle shadow proposed trial guard");
        for step in LoopStep::ALL {
            assert_eq!(serde_json::to_value(step).unwrap(), step.to_string());
        }
    }
}
