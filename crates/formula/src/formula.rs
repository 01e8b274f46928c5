//! A formula: an expression, its exact meaning, and its provenance.

mod error;
mod file;

pub use error::FormulaError;

use crate::{Basis, Check, Expr, ParseError, Program, Protection, parse, simplify};
use serde::{Deserialize, Serialize};

/// A score formula. A formula file holds one, in TOML; a command line may give only the expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// Name. An expression without a name is named by its text.
    pub name: String,
    /// A one-line description; may be empty.
    pub description: String,
    /// The expression.
    pub expr: Expr,
    /// How division and logarithm are protected.
    pub protection: Protection,
    /// The basis of the rate estimates.
    pub basis: Basis,
    /// Provenance.
    pub provenance: Provenance,
}

/// The provenance of a formula; mostly empty for one that was not learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The paper or person that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The data set it was learned on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The digest of that data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_digest: Option<String>,
    /// The learning protocol: `thesis` or `journal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Its fold, the number of folds, and the unit that they never divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<String>,
    /// Rules of the replays: warm-up, budget, ties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The preset of the learner's parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The set of terminals it was learned with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminals: Option<String>,
    /// Individuals in a generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub population: Option<u64>,
    /// Generations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generations: Option<u64>,
    /// The method that selected it: `best`, `sum`, `avg` or `validation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
    /// The fitness that learning maximised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitness: Option<String>,
    /// The random seed of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_seed: Option<u64>,
    /// The fitness on the training part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// The fitness on the validation part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// The fitness on the test part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// The day of learning, as YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The version of recrawl that learned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_version: Option<String>,
}

impl Provenance {
    /// Whether the formula was learned from data.
    pub fn is_learned(&self) -> bool {
        self.fitness.is_some()
    }
}

impl Formula {
    /// A formula with this expression, named by its text, with the default protection and basis.
    pub fn new(expr: Expr) -> Formula {
        Formula {
            name: expr.to_string(),
            description: String::new(),
            expr,
            protection: Protection::default(),
            basis: Basis::default(),
            provenance: Provenance::default(),
        }
    }

    /// Like [`Formula::new`], from text.
    ///
    /// # Errors
    /// If the text is not an expression.
    pub fn from_expression(text: &str) -> Result<Formula, ParseError> {
        parse(text).map(Formula::new)
    }

    /// The formula as a simplified program over columns. Its scores equal those of the original
    /// expression, bit for bit.
    pub fn compile(&self) -> Program {
        Program::compile(&simplify(&self.expr, self.protection), self.protection, self.basis)
    }

    /// Checks the formula before it schedules anything.
    pub fn check(&self) -> Check {
        Check::run(self)
    }
}

#[cfg(test)]
mod tests;
