//! Any formula as a policy.

use super::Policy;
use crate::Observed;
use recrawl_formula::{Basis, Formula, Program, builtin::Builtin};
use recrawl_types::Reads;

/// Scores by a formula and has its name.
#[derive(Clone, Debug)]
pub struct FormulaPolicy {
    name: String,
    expression: String,
    program: Program,
}

impl FormulaPolicy {
    /// Ranks by this formula.
    pub fn new(formula: &Formula) -> FormulaPolicy {
        FormulaPolicy {
            name: formula.name.clone(),
            expression: formula.expr.to_string(),
            program: formula.compile(),
        }
    }

    /// The policy of a built-in formula, with its rates estimated on `basis`.
    ///
    /// # Panics
    /// If there is no such formula.
    pub fn builtin(name: &str, basis: Basis) -> Box<dyn Policy> {
        let builtin = Builtin::named(name).expect("policies name formulas that are there");
        Box::new(FormulaPolicy::new(&Formula { basis, ..builtin.formula() }))
    }

    /// A named policy that ranks by an expression.
    ///
    /// # Panics
    /// If the text is not an expression.
    pub fn expression(name: &str, text: &str) -> Box<dyn Policy> {
        let formula = Formula::from_expression(text).expect("policies are written in expressions that parse");
        Box::new(FormulaPolicy::new(&Formula { name: name.to_owned(), ..formula }))
    }
}

impl Policy for FormulaPolicy {
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
