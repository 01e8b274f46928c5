//! A formula: an expression, what it means exactly, and where it came from.

mod error;
mod file;

pub use error::FormulaError;

use crate::{Basis, Check, Expr, ParseError, Program, Protection, parse, simplify};
use serde::{Deserialize, Serialize};

/// A score formula. Formula files hold one each, in TOML; a command line may give the expression alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// What people call it. An expression without a name is called by its text.
    pub name: String,
    /// One line on what it does; may be empty.
    pub description: String,
    /// The expression.
    pub expr: Expr,
    /// How division and logarithm are protected.
    pub protection: Protection,
    /// Where the rates come from.
    pub basis: Basis,
    /// Where the formula comes from.
    pub provenance: Provenance,
}

/// Where a formula comes from. A formula that nobody learned has little of this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The paper or person it is taken from.
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
    /// The fold that it was learned on, of how many, and what they never divide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<String>,
    /// How histories were replayed: warm-up, budget, ties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The preset of the learner's parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The set of terminals that it could be made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminals: Option<String>,
    /// Individuals in a generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub population: Option<u64>,
    /// Generations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generations: Option<u64>,
    /// How it was chosen of those kept: `best`, `sum`, `avg` or `validation`.
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
    /// The day it was made, as YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The version of recrawl that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_version: Option<String>,
}

impl Provenance {
    /// Was the formula learned from data, rather than written by somebody?
    pub fn is_learned(&self) -> bool {
        self.fitness.is_some()
    }
}

impl Formula {
    /// A formula with that expression, called by the expression's text, with the default protection
    /// and basis.
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

    /// As [`Formula::new`], from text.
    ///
    /// # Errors
    /// When the text is no expression.
    pub fn from_expression(text: &str) -> Result<Formula, ParseError> {
        parse(text).map(Formula::new)
    }

    /// The formula as a program over columns, simplified: the scores are those of the expression as it
    /// stands, bit for bit.
    pub fn compile(&self) -> Program {
        Program::compile(&simplify(&self.expr, self.protection), self.protection, self.basis)
    }

    /// What is worth knowing of the formula before it schedules anything.
    pub fn check(&self) -> Check {
        Check::of(self)
    }
}

#[cfg(test)]
mod tests;
