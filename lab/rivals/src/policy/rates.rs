//! Estimated rates of all pages, for policies that need more than a product.

use recrawl_formula::{Formula, Program};
use recrawl_simulation::Observed;

/// The mean of each page's rate under a Gamma prior (empirical Bayes).
#[derive(Clone, Debug)]
pub(super) struct RateEstimator {
    program: Program,
    values: Vec<f64>,
}

impl RateEstimator {
    /// With the rate of all pages as the mean of the prior.
    pub fn global() -> RateEstimator {
        RateEstimator::from_terminal("eb")
    }

    /// With the rate of the page's site as the mean of the prior.
    pub fn of_site() -> RateEstimator {
        RateEstimator::from_terminal("eb_site")
    }

    fn from_terminal(terminal: &str) -> RateEstimator {
        let formula = Formula::from_expression(terminal).expect("the terminal is there");
        RateEstimator { program: formula.compile(), values: Vec::new() }
    }

    /// The rates before a cycle, in changes per cycle, one per page; NaN for pages that were never
    /// visited.
    pub fn estimate(&mut self, observed: &Observed) -> &[f64] {
        self.program.evaluate(observed.columns(), observed.cycle(), &mut self.values);
        &self.values
    }
}
