//! Selects one of the kept formulas.

use crate::fitness::mean;
use crate::preset::{ChoiceMethod, Sigma};
use recrawl_formula::{Expr, Protection, simplify};
use std::cmp::Ordering;

/// A kept formula, or one on the Pareto front, evaluated on training and validation.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedFormula {
    /// The random seed of the run that found it.
    pub seed: u64,
    /// The expression as bred.
    pub bred: Expr,
    /// Its simplified form.
    pub simplified: Expr,
    train: f64,
    validation: f64,
    deviation: f64,
    undivided: f64,
}

impl EvaluatedFormula {
    /// A formula with its fitness in each cycle of training and of validation.
    pub(crate) fn new(
        seed: u64,
        bred: Expr,
        protection: Protection,
        train: Vec<f64>,
        validation: Vec<f64>,
    ) -> EvaluatedFormula {
        let simplified = simplify(&bred, protection);
        let both: Vec<f64> = train.iter().chain(&validation).copied().collect();
        let middle = mean(&both);
        let squares: f64 = both.iter().map(|x| (x - middle) * (x - middle)).sum();
        EvaluatedFormula {
            seed,
            bred,
            simplified,
            train: mean(&train),
            validation: mean(&validation),
            deviation: (squares / both.len().max(1) as f64).sqrt(),
            undivided: squares.sqrt(),
        }
    }

    /// The fitness on the training part.
    pub fn train(&self) -> f64 {
        self.train
    }

    /// The fitness on the validation part.
    pub fn validation(&self) -> f64 {
        self.validation
    }

    /// The spread of the fitness over all cycles of both parts.
    pub fn sigma(&self, sigma: Sigma) -> f64 {
        match sigma {
            Sigma::Deviation => self.deviation,
            Sigma::Undivided => self.undivided,
        }
    }

    /// The value that a method maximises.
    pub fn score(&self, method: ChoiceMethod, sigma: Sigma) -> f64 {
        match method {
            ChoiceMethod::Best => self.train,
            ChoiceMethod::Sum => self.train + self.validation - self.sigma(sigma),
            ChoiceMethod::Avg => f64::midpoint(self.train, self.validation) - self.sigma(sigma),
            ChoiceMethod::Validation => self.validation,
        }
    }
}

/// The candidate that the method chooses; of equal ones the one with fewer nodes, then the first.
///
/// # Panics
/// If there is no candidate.
pub(crate) fn choose(
    candidates: &[EvaluatedFormula],
    method: ChoiceMethod,
    sigma: Sigma,
) -> &EvaluatedFormula {
    let order = |a: &&EvaluatedFormula, b: &&EvaluatedFormula| -> Ordering {
        let nodes = || a.simplified.nodes().cmp(&b.simplified.nodes());
        b.score(method, sigma).total_cmp(&a.score(method, sigma)).then_with(nodes)
    };
    candidates.iter().min_by(order).expect("a run keeps at least one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_formula::parse;

    fn candidate(text: &str, train: &[f64], validation: &[f64]) -> EvaluatedFormula {
        let bred = parse(text).unwrap();
        EvaluatedFormula::new(1, bred, Protection::Program, train.to_vec(), validation.to_vec())
    }

    #[test]
    fn each_method_chooses_by_its_own_measure() {
        let candidates = [
            candidate("t", &[0.9, 0.9], &[0.1, 0.1]),
            candidate("X", &[0.2, 0.2], &[0.7, 0.7]),
            candidate("n", &[0.5, 0.5], &[0.45, 0.45]),
            candidate("cg", &[0.8, 0.8], &[0.6, 0.6]),
        ];
        let chosen = |method, sigma| choose(&candidates, method, sigma).bred.to_string();
        assert_eq!(chosen(ChoiceMethod::Best, Sigma::Deviation), "t");
        assert_eq!(chosen(ChoiceMethod::Validation, Sigma::Deviation), "X");
        assert_eq!(chosen(ChoiceMethod::Sum, Sigma::Deviation), "cg");
        assert_eq!(chosen(ChoiceMethod::Avg, Sigma::Deviation), "cg");
        // Without division the spread weighs more, so the steadiest is chosen.
        assert_eq!(chosen(ChoiceMethod::Avg, Sigma::Undivided), "cg");
        assert_eq!(candidates[0].sigma(Sigma::Deviation), 0.4);
        assert_eq!(candidates[0].sigma(Sigma::Undivided), 0.8);
        assert_eq!(candidates[0].score(ChoiceMethod::Sum, Sigma::Undivided), 1.0 - 0.8);
    }

    #[test]
    fn of_equals_the_smaller_and_then_the_first_is_chosen() {
        let candidates = [
            candidate("t + X", &[0.5], &[0.5]),
            candidate("X", &[0.5], &[0.5]),
            candidate("n", &[0.5], &[0.5]),
        ];
        assert_eq!(choose(&candidates, ChoiceMethod::Best, Sigma::Deviation).bred.to_string(), "X");
    }
}
