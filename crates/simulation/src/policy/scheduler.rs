//! Policies of the crawler's scheduler: `rand` and `age`.

use super::{Make, ReplayPolicy, ReplayPolicyKind};
use crate::Observed;
use recrawl_formula::builtin::Builtin;
use recrawl_scheduler::policy::PolicyKind as CrawlerPolicyKind;

/// A new random order in each cycle: the baseline Rand (Santos et al. 2015 §5.1).
pub(super) const RAND: ReplayPolicyKind =
    ReplayPolicyKind { name: "rand", help: "random order", make: Make::Honest(|_| crawler("rand")) };

/// Visits all pages in turn: the baseline Age (Santos et al. 2015 §5.1).
pub(super) const AGE: ReplayPolicyKind = ReplayPolicyKind {
    name: "age",
    help: "longest time since the last visit first: t",
    make: Make::Honest(|_| crawler("age")),
};

/// The policy of this name in the crawler's list, which needs no formula.
fn crawler(name: &str) -> Box<dyn ReplayPolicy> {
    let kind = CrawlerPolicyKind::named(name).expect("a policy of the crawler");
    Box::new(CrawlerPolicy((kind.build)(&Builtin::named("default").expect("a built-in formula").formula())))
}

/// Scores as the crawler would with the same observations.
pub(super) struct CrawlerPolicy(pub Box<dyn recrawl_scheduler::Policy>);

impl ReplayPolicy for CrawlerPolicy {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.0.prepare(observed.cycle(), observed.seed());
        self.0.score(observed.columns(), 0, out);
    }
}
