//! A crawler's own policy as one of a simulation.

use super::Policy;
use crate::Observed;

/// Scores as the crawler would, had it observed the same.
pub(super) struct CrawlerPolicy<P>(pub P);

impl<P: recrawl_scheduler::Policy> Policy for CrawlerPolicy<P> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.0.prepare(observed.cycle(), observed.seed());
        self.0.score(observed.columns(), 0, out);
    }
}
