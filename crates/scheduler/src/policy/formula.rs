//! `formula`: the score of a formula.

use super::{Policy, PolicyKind};
use recrawl_formula::{Formula, Program};
use recrawl_types::{Cycle, StateColumns};

/// Scores by a formula.
#[derive(Clone, Debug)]
pub struct FormulaPolicy {
    name: String,
    program: Program,
    cycle: Cycle,
}

impl FormulaPolicy {
    /// The policy has the name of its formula.
    pub fn new(formula: &Formula) -> FormulaPolicy {
        FormulaPolicy { name: formula.name.clone(), program: formula.compile(), cycle: Cycle::default() }
    }
}

impl Policy for FormulaPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&mut self, cycle: Cycle, _seed: u64) {
        self.cycle = cycle;
    }

    fn score(&self, columns: &StateColumns, _first_ordinal: u64, out: &mut Vec<f64>) {
        self.program.evaluate(columns, self.cycle, out);
    }
}

/// The registered policy.
pub(super) const KIND: PolicyKind = PolicyKind {
    name: "formula",
    help: "the score of the crawl's formula",
    build: |formula| Box::new(FormulaPolicy::new(formula)),
};
