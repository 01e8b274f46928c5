//! The changes that a model without the formula expects, as a yardstick for what is found.

use recrawl_formula::{Formula, Program};
use recrawl_types::{Cycle, StateColumns};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The changes expected in some pages, where P is the probability that one has changed since its last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedChanges {
    /// ΣP.
    pub changes: f64,
    /// ΣP(1 − P).
    pub variance: f64,
}

impl ExpectedChanges {
    /// Adds a page.
    pub fn add(&mut self, probability: f64) {
        *self += ExpectedChanges { changes: probability, variance: probability * (1.0 - probability) };
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
pub(crate) struct Expectation(Program);

impl Expectation {
    pub fn new() -> Expectation {
        Expectation(Formula::from_expression("p_eb").expect("it is a terminal").compile())
    }

    pub fn of(&self, columns: &StateColumns, cycle: Cycle, out: &mut Vec<f64>) {
        self.0.evaluate(columns, cycle, out);
    }
}
