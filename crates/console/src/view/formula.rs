//! Formulas, as they are shown and compared.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A formula.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct FormulaText {
    /// What people call it.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// One line on what it does; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where it comes from, as its file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub provenance: Option<Value>,
}

/// A formula, and since when.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FormulaUse {
    /// The formula.
    #[serde(flatten)]
    pub formula: FormulaText,
    /// When it was chosen.
    pub at: u64,
    /// Who chose it: the name beside a token, or `command line`.
    pub who: String,
    /// The first cycle it ranked, or will.
    pub from_cycle: Option<u64>,
}

/// The formulas of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Formulas {
    /// The one in force.
    pub in_force: FormulaText,
    /// The one from the next cycle on, where it is another.
    pub next: Option<FormulaText>,
    /// What operators chose, newest first.
    pub history: Vec<FormulaUse>,
    /// Those that the program brings.
    pub built_in: Vec<FormulaText>,
}

/// What a formula uses and costs, and what to beware of.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FormulaCheck {
    /// Its name; of an expression, its text.
    pub name: String,
    /// The expression as it was understood.
    pub expression: String,
    /// The simplified expression, where it is another.
    pub simplified: Option<String>,
    /// The terminals it reads.
    pub terminals: Vec<String>,
    /// Nodes as written.
    pub nodes: u64,
    /// Depth; a single terminal has 1.
    pub depth: u64,
    /// Steps a page.
    pub cost: u64,
    /// What to beware of, in words: scores that are not finite, fall with age, or starve pages.
    pub warnings: Vec<String>,
}

/// Where another formula would rank pages otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RankChanges {
    /// The formula, as it was understood.
    pub expression: String,
    /// Pages that both ranked.
    pub pages: u64,
    /// How many each would choose.
    pub k: u64,
    /// Share of the k that both choose.
    pub overlap: f64,
    /// Pages that rise most, those that rise further first.
    pub rise: Vec<RankChange>,
    /// Pages that fall most, those that fall further first.
    pub fall: Vec<RankChange>,
}

/// A page that another formula would rank otherwise. Rank 1 is fetched first.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RankChange {
    /// The page.
    pub url: String,
    /// By the formula in force.
    pub rank: u64,
    /// By the other.
    pub other_rank: u64,
    /// The score by the formula in force; none where it is not finite.
    pub score: Option<f64>,
    /// The score by the other; none where it is not finite.
    pub other_score: Option<f64>,
}
