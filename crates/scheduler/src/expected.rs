//! The changes that a model without the formula expects, as a yardstick for what is found.

use recrawl_formula::{Formula, Program};
use recrawl_types::{Cycle, StateColumns};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Terms of sums are multiples of one step.
const STEPS: f64 = (1u32 << 24) as f64;

/// The changes expected in some pages, where P is the probability that one has changed since its last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedChanges {
    /// ΣP.
    pub changes: f64,
    /// ΣP(1 − P).
    pub variance: f64,
}

impl ExpectedChanges {
    /// Adds a page. Its terms are multiples of 2⁻²⁴, so that sums of up to 2²⁹ pages are exact: the same in any order.
    pub fn add(&mut self, probability: f64) {
        let exact = |term: f64| (term * STEPS).round() / STEPS;
        *self += ExpectedChanges {
            changes: exact(probability),
            variance: exact(probability * (1.0 - probability)),
        };
    }
}

impl AddAssign for ExpectedChanges {
    fn add_assign(&mut self, other: ExpectedChanges) {
        self.changes += other.changes;
        self.variance += other.variance;
    }
}

/// P of each page: the terminal `p_eb`, with the rate of all pages that the caller fills in
/// ([`StateColumns::global_rate`]).
pub(crate) struct ChangeExpectation(Program);

impl ChangeExpectation {
    pub fn new() -> ChangeExpectation {
        ChangeExpectation(Formula::from_expression("p_eb").expect("it is a terminal").compile())
    }

    pub fn evaluate(&self, columns: &StateColumns, cycle: Cycle, out: &mut Vec<f64>) {
        self.0.evaluate(columns, cycle, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_the_same_in_any_order() {
        let all: Vec<f64> = (1..=1_000).map(|n| f64::from(n * 65 % 65_535) / 65_535.0).collect();
        let sum = |pages: &mut dyn Iterator<Item = &f64>| {
            let mut sum = ExpectedChanges::default();
            pages.for_each(|probability| sum.add(*probability));
            sum
        };
        let forward = sum(&mut all.iter());
        assert_eq!(forward, sum(&mut all.iter().rev()));
        let mut halves = sum(&mut all.iter().step_by(2));
        halves += sum(&mut all.iter().skip(1).step_by(2));
        assert_eq!(forward, halves);
        let exact: f64 = all.iter().map(|p| p * (1.0 - p)).sum();
        assert!((forward.variance - exact).abs() < 1e-4, "{forward:?} {exact}");
    }
}
