//! Any formula as a policy.

use super::Policy;
use crate::Observed;
use recrawl_formula::{Formula, Program};

/// Scores by a formula and has its name.
#[derive(Clone, Debug)]
pub struct FormulaPolicy {
    name: String,
    program: Program,
}

impl FormulaPolicy {
    /// The policy of a formula.
    pub fn new(formula: &Formula) -> FormulaPolicy {
        FormulaPolicy { name: formula.name.clone(), program: formula.compile() }
    }
}

impl Policy for FormulaPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn needs_priors(&self) -> bool {
        self.program.reads().needs_priors()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.program.evaluate(observed.columns(), observed.cycle(), out);
    }
}
