//! Any formula as a policy.

use super::ReplayPolicy;
use crate::Observed;
use recrawl_formula::{Basis, Formula, Program, builtin::Builtin};
use recrawl_types::Reads;

/// Scores by a formula and has its name.
#[derive(Clone, Debug)]
pub struct ReplayFormula {
    name: String,
    expression: String,
    program: Program,
}

impl ReplayFormula {
    /// Ranks by this formula.
    pub fn new(formula: &Formula) -> ReplayFormula {
        ReplayFormula {
            name: formula.name.clone(),
            expression: formula.expr.to_string(),
            program: formula.compile(),
        }
    }

    /// The policy of a built-in formula, with its rates estimated on `basis`.
    ///
    /// # Panics
    /// If there is no such formula.
    pub fn builtin(name: &str, basis: Basis) -> Box<dyn ReplayPolicy> {
        let builtin = Builtin::named(name).expect("policies name formulas that are there");
        Box::new(ReplayFormula::new(&Formula { basis, ..builtin.formula() }))
    }

    /// A named policy that ranks by an expression.
    ///
    /// # Panics
    /// If the text is not an expression.
    pub fn expression(name: &str, text: &str) -> Box<dyn ReplayPolicy> {
        let formula = Formula::from_expression(text).expect("policies are written in expressions that parse");
        Box::new(ReplayFormula::new(&Formula { name: name.to_owned(), ..formula }))
    }
}

impl ReplayPolicy for ReplayFormula {
    fn name(&self) -> &str {
        &self.name
    }

    fn expression(&self) -> Option<String> {
        Some(self.expression.clone())
    }

    fn reads(&self) -> Reads {
        self.program.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.program.evaluate(observed.columns(), observed.cycle(), out);
    }
}
