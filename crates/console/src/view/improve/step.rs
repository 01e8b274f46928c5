//! The step of the loop, with what it has shown so far and what the next one needs.

use super::{Asked, Candidate, Difference, Estimate};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// Where the loop stands.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Loop {
    /// The step.
    pub step: LoopStep,
    /// The first cycle of the step; null if nothing is tried.
    pub since: Option<u64>,
    /// The first cycle that can end the step; null if that depends on an operator or on learning.
    pub ends: Option<u64>,
    /// What the next step needs, in sentences.
    pub needs: Vec<String>,
    /// Does an operator hold the loop?
    pub is_held: bool,
    /// What an operator decided for the next cycle.
    pub asked: Option<Asked>,
    /// The candidate that is tried.
    pub candidate: Option<Candidate>,
    /// The candidate that the next cycle takes up.
    pub waiting: Option<Candidate>,
    /// Why the file of the next candidate is refused, if it is.
    pub refused: Option<String>,
    /// The formula that the candidate is compared with.
    pub beside: Option<String>,
    /// Both formulas scored every page; null before the candidate's first cycle.
    pub shadow: Option<ShadowSoFar>,
    /// The trial, and the guard after it; null before the trial.
    pub trial: Option<TrialSoFar>,
    /// Candidates since the last promotion, counting those that were refused.
    pub tries: u64,
    /// Error probability of the next back-test.
    pub alpha: f64,
    /// Candidates that failed.
    pub quarantine: Vec<Quarantined>,
    /// The first cycle in which the loop tries something again after an operator's choice; null if that is past.
    pub rests_until: Option<u64>,
    /// The cycle of the last alarm of the loop.
    pub alarm: Option<u64>,
    /// Learning.
    pub learner: LearnerNow,
    /// The terms by which the steps are judged.
    pub terms: LoopTerms,
}

/// The steps of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopStep {
    /// Nothing is tried.
    #[default]
    Idle,
    /// The candidate is scored beside the formula in force.
    Shadow,
    /// The candidate waits for an operator.
    Proposed,
    /// The candidate visits the pages of some sites.
    Trial,
    /// The candidate is in force on all but some sites.
    Guard,
}

impl LoopStep {
    /// All steps.
    pub const ALL: [LoopStep; 5] =
        [LoopStep::Idle, LoopStep::Shadow, LoopStep::Proposed, LoopStep::Trial, LoopStep::Guard];
}

/// As in JSON, and in metric labels.
impl fmt::Display for LoopStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A shadow run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShadowSoFar {
    /// Its cycles.
    pub cycles: u64,
    /// Share of the choices that both formulas share.
    pub overlap: Option<f64>,
    /// Changes found a visit in one step, candidate less formula in force. It decides nothing. Null without a sample.
    pub gain: Option<Difference>,
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TrialSoFar {
    /// Its part; null once it is over.
    pub phase: Option<TrialPhase>,
    /// First cycle in which the candidate visits its sites.
    pub candidate_from: u64,
    /// First cycle that counts.
    pub measured_from: u64,
    /// Part of the sites in each of the two arms.
    pub part: f64,
    /// How much fresher the candidate's sites are than the control's, less how much they were before; by a confidence
    /// sequence, which holds at every look. Null before both were measured.
    pub effect: Option<Difference>,
    /// Audited pages that exclude a loss of `max_loss`, if the effect stays as it is; null if no number does.
    pub pages_needed: Option<u64>,
    /// Freshness in both arms, oldest cycle first.
    pub arms: Vec<Arms>,
}

/// A part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialPhase {
    /// The formula in force visits both arms.
    Before,
    /// The candidate visits its arm, which does not count yet.
    Settling,
    /// The candidate's arm counts.
    Measured,
}

/// Freshness in the arms before the visits of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Arms {
    /// The cycle.
    pub cycle: u64,
    /// Of the candidate's sites.
    pub candidate: Option<Estimate>,
    /// Of the control's sites.
    pub control: Option<Estimate>,
}

/// A candidate that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Quarantined {
    /// Its id.
    pub id: String,
    /// The first cycle in which it may be tried again.
    pub until: u64,
}

/// The learner, a process of the lowest priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LearnerNow {
    /// When it started; null if none runs.
    pub running_since: Option<u64>,
    /// Will it start within seconds, or after the running round, as an operator asked?
    pub is_asked: bool,
    /// Its processor time since the daemon started, in seconds.
    pub cpu_seconds: f64,
    /// The cycle after which learning was begun last; null if never.
    pub last: Option<u64>,
    /// Cycles since then, or of the crawl.
    pub cycles_since: u64,
    /// The first cycle after which it is begun again, if nothing is tried.
    pub next: u64,
    /// Times in a row that it failed since the daemon started.
    pub failures: u64,
    /// How it ended last; null since the daemon started.
    pub ended: Option<LearnerEnd>,
}

/// How learning ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LearnerEnd {
    /// Time.
    pub at: u64,
    /// Did it leave a candidate?
    pub has_learned: bool,
    /// Why not; null if it did.
    pub why: Option<String>,
}

/// The terms of the loop (`[improve]`), in cycles unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LoopTerms {
    /// Between two times of learning.
    pub every: u64,
    /// Of a shadow run.
    pub shadow: u64,
    /// Of a trial before the candidate visits its sites.
    pub before: u64,
    /// Of a trial until the candidate's sites count.
    pub settling: u64,
    /// Of a trial that are measured at least.
    pub trial: u64,
    /// Of a trial at most.
    pub longest: u64,
    /// Of a guard.
    pub guard: u64,
    /// Without an alarm before a promotion.
    pub calm: u64,
    /// Gain in the back-test that a candidate must exceed.
    pub min_gain: f64,
    /// Loss of freshness that a trial must exclude.
    pub max_loss: f64,
    /// Sites that a trial takes.
    pub min_sites: u64,
}
