//! Score formulas as data: parse, print, simplify, check, explain, and apply them over columns.
//!
//! For all that rank pages: the scheduler applies a [`Program`] to blocks of records, the program's
//! commands parse and show a [`Formula`], and the learner builds [`Expr`]s. Simulation and
//! production share this code, so a formula means the same in both.
//!
//! An expression is a small tree of *terminals* (values of a page: `n X t`, rates and probabilities
//! of change), constants, and *functions* (`+ - * /`, unary minus, `log`, `exp`, `pow`).
//! [`Protection`] defines undefined divisions and logarithms, and [`Basis`] the rate estimates;
//! both are part of the formula. Each terminal, function and estimator has one file and one line in
//! a list.
//!
//! Formulas are not compiled to machine code or written in a scripting language. A flat list of
//! tile operations is within a small factor of memory bandwidth, its cost is known in advance, and
//! it can neither loop nor fail.
//!
//! Two pages of one age: one has changed since its first visit, and waits longer.
//!
//! ```
//! use recrawl_formula::Formula;
//! use recrawl_types::{Cycle, History, Known, StateColumns};
//!
//! let mut changing = History::first_fetch(Cycle(1));
//! changing.record(Cycle(2), true);
//! let mut quiet = History::first_fetch(Cycle(1));
//! quiet.record(Cycle(9), false);
//!
//! let mut pages = StateColumns::default();
//! pages.push(Known::default(), Some(&changing));
//! pages.push(Known::default(), Some(&quiet));
//!
//! let formula = Formula::from_expression("t * X / n")?;
//! let mut scores = Vec::new();
//! formula.compile().evaluate(&pages, Cycle(10), &mut scores);
//! // Scored for cycle 10: t = 8 and 1, X = 1 and 0, n = 1 for both.
//! assert_eq!(scores, [8.0, 0.0]);
//! # Ok::<(), recrawl_formula::ParseError>(())
//! ```
//!
//! Beside a page's own record, some terminals read what groups of pages show: [`sections`], [`siblings`], and the model
//! of the [next change](next_change).
//!
//! This crate knows nothing of pages on disk, HTTP or learning of formulas.

pub mod builtin;
pub mod check;
pub mod estimator;
pub mod explain;
pub mod expr;
pub mod formula;
pub mod function;
pub mod in_links;
pub mod kernel;
pub mod math;
mod nearest;
pub mod next_change;
pub mod parse;
mod posterior;
mod print;
pub mod prior;
pub mod program;
pub mod protection;
mod refresh;
pub mod sections;
pub mod siblings;
mod signal;
pub mod simplify;
pub mod terminal;
pub mod tile;

pub use crate::check::{Check, GridSample};
pub use crate::estimator::{Basis, Estimator};
pub use crate::explain::Term;
pub use crate::expr::Expr;
pub use crate::formula::{Formula, FormulaError, Provenance};
pub use crate::function::Function;
pub use crate::next_change::{NextChange, NextChangeModel};
pub use crate::parse::{ParseError, ParseProblem, parse};
pub use crate::posterior::expected_change;
pub use crate::prior::{Priors, RateEvidence, SiteRates};
pub use crate::program::Program;
pub use crate::protection::Protection;
pub use crate::simplify::simplify;
pub use crate::terminal::Terminal;
pub use crate::tile::Tile;

#[cfg(test)]
mod testing;
