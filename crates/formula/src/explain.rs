//! Explains a score, part by part.

use crate::{Expr, Formula, Program, SiteRates};
use recrawl_types::{Cycle, History, Known, StateColumns};
use serde::Serialize;

/// A part of an expression and its value for one page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Text of the part.
    pub text: String,
    /// Value of the part.
    pub value: f64,
    /// Depth in the expression; the expression itself has 0.
    pub depth: usize,
}

impl Formula {
    /// The score of a page with this history as of `cycle`, and the value of each part of the
    /// expression. A part comes before its own parts; constants are omitted. The values are
    /// computed by the same code as in scheduling. `rates` are the rates for the page's site in
    /// that cycle, which only formulas use whose [`reads`](Program::reads) need priors. The page has
    /// no siblings and no signals.
    pub fn explain(&self, history: &History, rates: SiteRates, cycle: Cycle) -> Vec<Term> {
        let mut columns = StateColumns::default();
        columns.push(Known::default(), Some(history));
        (columns.global_rate, columns.site_rate) = (rates.global, vec![rates.site]);
        (columns.sibling_rate, columns.burst) = (vec![rates.site], vec![1.0]);
        columns.section_rate = vec![rates.site];
        self.explain_block(&columns, cycle)
    }

    /// The same for a block of one page, with all that the formula [`reads`](Program::reads) beside
    /// the page's record.
    pub fn explain_block(&self, columns: &StateColumns, cycle: Cycle) -> Vec<Term> {
        let mut terms = Vec::new();
        self.add_terms(&self.expr, 0, columns, cycle, &mut terms);
        terms
    }

    fn add_terms(
        &self,
        expr: &Expr,
        depth: usize,
        columns: &StateColumns,
        cycle: Cycle,
        terms: &mut Vec<Term>,
    ) {
        if depth > 0 && matches!(expr, Expr::Constant(_)) {
            return;
        }
        let mut value = Vec::with_capacity(1);
        Program::compile(expr, self.protection, self.basis).evaluate(columns, cycle, &mut value);
        terms.push(Term { text: expr.to_string(), value: value[0], depth });
        for argument in expr.arguments() {
            self.add_terms(argument, depth + 1, columns, cycle, terms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: SiteRates = SiteRates { global: 0.1, site: 0.2 };

    #[test]
    fn the_default_formula_term_by_term() {
        let formula = Formula::from_expression("t * (X + 0.1) / (n + 1)").unwrap();
        let mut history = History::first_fetch(Cycle(1));
        history.record(Cycle(2), true);
        history.record(Cycle(3), false);
        let terms = formula.explain(&history, RATES, Cycle(7));
        let shown: Vec<_> = terms.iter().map(|t| (t.depth, t.text.as_str(), t.value)).collect();
        assert_eq!(
            shown,
            [
                (0, "t * (X + 0.1) / (n + 1)", 4.0 * 1.1 / 3.0),
                (1, "t * (X + 0.1)", 4.0 * 1.1),
                (2, "t", 4.0),
                (2, "X + 0.1", 1.1),
                (3, "X", 1.0),
                (1, "n + 1", 3.0),
                (2, "n", 2.0),
            ]
        );
    }

    #[test]
    fn signals_of_a_block_are_explained() {
        let formula = Formula::from_expression("1 + signals").unwrap();
        let history = History::first_fetch(Cycle(1));
        let mut columns = StateColumns { signals: vec![3], ..StateColumns::default() };
        columns.push(Known::default(), Some(&history));
        let values = |terms: Vec<Term>| terms.iter().map(|t| t.value).collect::<Vec<_>>();
        assert_eq!(values(formula.explain_block(&columns, Cycle(2))), [4.0, 3.0]);
        assert_eq!(values(formula.explain(&history, RATES, Cycle(2))), [1.0, 0.0]);
    }

    #[test]
    fn a_constant_alone_is_explained_too() {
        let formula = Formula::from_expression("2").unwrap();
        let terms = formula.explain(&History::first_fetch(Cycle(1)), RATES, Cycle(2));
        assert_eq!(terms, [Term { text: "2".into(), value: 2.0, depth: 0 }]);
    }
}
