//! Score formulas as data: parse, print, simplify, check, explain, and apply them over columns.
//!
//! For whoever ranks pages: the scheduler applies a [`Program`] to blocks of records, the program's
//! commands parse and show a [`Formula`], a learner makes [`Expr`]s of its own. One code serves
//! simulation and production, so a formula means the same in both.
//!
//! An expression is a small tree over *terminals* (what is known of a page: `n X t`, the rates and
//! probabilities of change), constants, and *functions* (`+ - * /`, unary minus, `log`, `exp`, `pow`).
//! How division and logarithm are protected is a [`Protection`], where the rates come from a
//! [`Basis`]; both are part of the formula. The terminals, functions and estimators each have one
//! file and one line in a list.
//!
//! Formulas are not compiled to machine code and not written in a general scripting language: a flat
//! list of tile operations is within a small factor of memory bandwidth, its cost is known before it
//! runs, and nothing in it can loop or fail.
//!
//! This crate knows nothing of pages on disk, of HTTP and of learning.

pub mod builtin;
pub mod check;
pub mod estimator;
pub mod explain;
pub mod expr;
pub mod formula;
pub mod function;
pub mod kernel;
pub mod math;
mod nearest;
pub mod parse;
mod posterior;
mod print;
pub mod prior;
pub mod program;
pub mod protection;
mod refresh;
pub mod simplify;
pub mod terminal;
pub mod tile;

pub use crate::check::{Check, Sample};
pub use crate::estimator::{Basis, Estimator};
pub use crate::explain::Term;
pub use crate::expr::Expr;
pub use crate::formula::{Formula, FormulaError, Provenance};
pub use crate::function::Function;
pub use crate::parse::{ParseError, ParseProblem, parse};
pub use crate::prior::{Evidence, Priors, SiteRates};
pub use crate::program::Program;
pub use crate::protection::Protection;
pub use crate::simplify::simplify;
pub use crate::terminal::Terminal;
pub use crate::tile::Tile;

#[cfg(test)]
mod testing;
