//! Policies of the crawler's scheduler: `rand` and `age`.

use super::{Make, Policy, PolicyKind};
use crate::Observed;
use recrawl_scheduler::policy::age::AgePolicy;
use recrawl_scheduler::policy::random::RandomPolicy;

/// A new random order in each cycle: the baseline Rand (Santos et al. 2015 §5.1).
pub(super) const RAND: PolicyKind = PolicyKind {
    name: "rand",
    help: "random order",
    make: Make::Honest(|_| Box::new(CrawlerPolicy(RandomPolicy::default()))),
};

/// Visits all pages in turn: the baseline Age (Santos et al. 2015 §5.1).
pub(super) const AGE: PolicyKind = PolicyKind {
    name: "age",
    help: "longest time since the last visit first: t",
    make: Make::Honest(|_| Box::new(CrawlerPolicy(AgePolicy::default()))),
};

/// Scores as the crawler would with the same observations.
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
