//! The interface for evaluating formulas, by a replay on the processor or on another machine.

pub mod cpu;

use crate::work::Work;
use recrawl_formula::Expr;

/// Replays a history under many formulas, for one part of the data, one set of rules, one fitness,
/// one protection and one basis.
pub trait Evaluate: Send + Sync {
    /// For each expression in order, the values whose mean is its fitness: the fitness in each cycle after the warm-up or,
    /// of several data sets, the gain in each set. All are finite and independent of other expressions, their order, and
    /// the number of threads.
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>>;

    /// Work done and saved so far, without [`Work::asked`] and [`Work::replayed`]; zeros if it is
    /// not counted.
    fn work(&self) -> Work;
}
