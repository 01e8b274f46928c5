//! `age`: the longest time since the last visit first.

use super::{Policy, PolicyKind};
use recrawl_types::{Cycle, StateColumns};

/// Scores by the cycles since the last visit: the baseline Age (Santos et al. 2015 §5.1). It visits
/// all pages in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgePolicy {
    cycle: Cycle,
}

impl Policy for AgePolicy {
    fn name(&self) -> &str {
        KIND.name
    }

    fn prepare(&mut self, cycle: Cycle, _seed: u64) {
        self.cycle = cycle;
    }

    fn score(&self, columns: &StateColumns, _first_ordinal: u64, out: &mut Vec<f64>) {
        out.clear();
        out.extend(columns.last.iter().map(|&last| f64::from(self.cycle.since(Cycle(last)))));
    }
}

/// The registered policy.
pub(super) const KIND: PolicyKind = PolicyKind {
    name: "age",
    help: "the longest time since the last visit first",
    build: |_| Box::new(AgePolicy::default()),
};
