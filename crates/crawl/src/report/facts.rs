//! What was decided when a cycle was planned.

use recrawl_types::Cycle;
use serde::{Deserialize, Serialize};

/// Decisions made when a cycle was planned; stored, so that a resumed cycle reports the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// The planned cycle.
    pub cycle: Cycle,
    /// Start time, in milliseconds since 1970.
    pub started: u64,
    /// Name of the formula, or of the policy that needs none.
    pub formula: String,
    /// Text of the formula; none for another policy, in cycles planned by an older version, and if nothing is ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula_toml: Option<String>,
    /// The lowest score that was selected; none without a score share.
    pub cutoff: Option<f64>,
    /// Scheduled pages, seeds included.
    pub scheduled: u64,
    /// Random seed for ties and samples; 0 in cycles planned by an older version.
    #[serde(default)]
    pub random_seed: u64,
    /// Of the scheduled pages, those chosen by score; none if unknown.
    #[serde(default)]
    pub by_score: Option<u64>,
    /// Pages from which the audit sample was drawn; none if unknown.
    #[serde(default)]
    pub audit_eligible: Option<u64>,
    /// Digest of the operator's rules that refuse pages: [`readmission::digest`](crate::cycle::readmission::digest).
    #[serde(default)]
    pub rules: u64,
}

impl Facts {
    /// For a cycle without a plan, which has a name in place of a formula's.
    pub fn without_plan(cycle: Cycle, started: u64, name: &str) -> Facts {
        Facts {
            cycle,
            started,
            formula: name.into(),
            formula_toml: None,
            cutoff: None,
            scheduled: 0,
            random_seed: 0,
            by_score: None,
            audit_eligible: None,
            rules: 0,
        }
    }
}
