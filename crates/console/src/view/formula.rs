//! Formulas and comparisons of their rankings.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A formula.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct FormulaText {
    /// Name.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// One-line description; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Provenance from its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub provenance: Option<Value>,
}

/// A formula in the history.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FormulaUse {
    /// The formula.
    #[serde(flatten)]
    pub formula: FormulaText,
    /// Time of the selection.
    pub at: u64,
    /// Who selected it: the name of a token, or `command line`.
    pub who: String,
    /// First cycle that uses it.
    pub from_cycle: Option<u64>,
}

/// The formulas of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Formulas {
    /// Formula in force.
    pub in_force: FormulaText,
    /// Formula from the next cycle on, if different.
    pub next: Option<FormulaText>,
    /// Formulas selected by operators, newest first.
    pub history: Vec<FormulaUse>,
    /// Built-in formulas.
    pub built_in: Vec<FormulaText>,
}

/// Terminals, cost and warnings of a formula.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FormulaCheck {
    /// Name; for an expression, its text.
    pub name: String,
    /// Parsed expression.
    pub expression: String,
    /// Simplified expression, if different.
    pub simplified: Option<String>,
    /// Terminals of the expression.
    pub terminals: Vec<String>,
    /// Nodes of the expression before simplification.
    pub nodes: u64,
    /// Depth; 1 for a single terminal.
    pub depth: u64,
    /// Operations per page.
    pub cost: u64,
    /// Warnings: scores that are not finite, fall with age or starve pages.
    pub warnings: Vec<String>,
}

/// Ranking differences between two formulas.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RankChanges {
    /// Parsed expression of the other formula.
    pub expression: String,
    /// Pages ranked by both.
    pub pages: u64,
    /// Pages that each formula selects.
    pub k: u64,
    /// Share of those selected by both.
    pub overlap: f64,
    /// What each choice of k pages is expected to bring, all by one estimator.
    pub expected: Vec<Choice>,
    /// The estimator, in words.
    pub basis: String,
    /// Observed share of pages with a change, by the last audit sample, to judge the estimator by; null
    /// without a sample.
    pub observed_change_rate: Option<f64>,
    /// Pages that rise most, largest rise first.
    pub rise: Vec<RankChange>,
    /// Pages that fall most, largest fall first.
    pub fall: Vec<RankChange>,
}

/// A choice of k pages, and what it is expected to bring.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Choice {
    /// Who chooses.
    pub by: ChoiceOf,
    /// Expected ChangeRate: mean probability of a change of the chosen pages. Null if none is chosen.
    pub change_rate: Option<f64>,
    /// Expected freshness of all ranked pages right after the chosen ones are visited. Null without pages.
    pub freshness: Option<f64>,
}

/// Who chooses pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOf {
    /// The formula in force.
    InForce,
    /// The other formula.
    Candidate,
    /// The estimator itself: no choice is expected to find more changes.
    Best,
    /// Chance.
    Random,
}

/// A page with different ranks. Rank 1 is fetched first.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RankChange {
    /// URL.
    pub url: String,
    /// Rank by the formula in force.
    pub rank: u64,
    /// Rank by the other formula.
    pub other_rank: u64,
    /// Score by the formula in force; null if not finite.
    pub score: Option<f64>,
    /// Score by the other formula; null if not finite.
    pub other_score: Option<f64>,
}
