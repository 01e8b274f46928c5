//! The interface for evaluating formulas, by a replay on the processor or on another machine.

pub mod cpu;

use crate::work::Work;
use recrawl_formula::Expr;

/// Replays a history under many formulas. Made for one part of the data, one set of rules, one fitness, one
/// protection and one basis.
pub trait Evaluate: Send + Sync {
    /// For each expression, in their order, the fitness in each cycle after the warm-up. All values are finite,
    /// and the same whatever else is evaluated, in whatever order, on however many threads.
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>>;

    /// What was done and what was saved so far: all but [`Work::asked`] and [`Work::replayed`]; zeros where
    /// it is not counted.
    fn work(&self) -> Work;
}
