//! Candidates: formulas that were learned from the crawl's own visits.

use super::LoopEvent;
use serde::Serialize;
use utoipa::ToSchema;

/// A candidate with its back-test.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Candidate {
    /// Digest of the formula, whatever its name.
    pub id: String,
    /// Name.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// The last cycle whose visits it was learned from.
    pub cycle: u64,
    /// How it compares with the formula that was in force, over completed histories of sites that it was not learned
    /// from.
    pub back_test: BackTest,
}

/// Figures of a back-test.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BackTest {
    /// The figure that was compared: `change_rate` or `freshness`.
    pub fitness: String,
    /// The formula in force, and what it reached.
    pub in_force: Scored,
    /// What the candidate reached.
    pub candidate: f64,
    /// The best closed forms, and what they reached.
    pub closed_forms: Vec<Scored>,
    /// Lower end of the interval of the gain over the formula in force.
    pub gain_low: f64,
    /// Upper end.
    pub gain_high: f64,
    /// Error probability of that interval: smaller with each try since the last promotion.
    pub alpha: f64,
    /// Share of pages visited at least once.
    pub coverage: Split,
    /// Pages of the test.
    pub pages: u64,
    /// Their sites, or folders of few sites.
    pub groups: u64,
    /// Cycles of the test.
    pub cycles: u64,
}

/// A formula and its figure.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Scored {
    /// Name of the formula.
    pub name: String,
    /// The figure.
    pub value: f64,
}

/// A figure of both formulas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Split {
    /// Of the formula in force.
    pub in_force: f64,
    /// Of the candidate.
    pub candidate: f64,
}

/// All that is known of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CandidateDocument {
    /// Digest of the formula.
    pub id: String,
    /// Where it stands.
    pub state: CandidateState,
    /// Null if only its events are remembered.
    pub candidate: Option<Candidate>,
    /// The formula file; null as `candidate`.
    pub formula: Option<String>,
    /// The expression of the formula that it is compared with; null unless it is tried.
    pub beside: Option<String>,
    /// The first cycle in which it may be tried again; null unless it failed.
    pub quarantined_until: Option<u64>,
    /// Its events, newest first.
    pub events: Vec<LoopEvent>,
}

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateState {
    /// It waits for the next cycle, which takes it up.
    Waiting,
    /// The loop is at one of its steps.
    Tried,
    /// It failed, and is not tried again for a while.
    Quarantined,
    /// The loop is done with it.
    Past,
}
