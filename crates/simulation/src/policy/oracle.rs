//! `oracle`: the pages that differ from their last visit.

use super::{Make, ReplayPolicy, ReplayPolicyKind};
use crate::{Dataset, Observed, Truth};

/// The bound of ChangeRate: no policy finds a change that did not happen.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "oracle",
    help: "bound: pages that differ from their last visit first",
    make: Make::Bound(|data: &Dataset| Box::new(OraclePolicy { truth: &data.truth })),
};

struct OraclePolicy<'a> {
    truth: &'a Truth,
}

impl ReplayPolicy for OraclePolicy<'_> {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let (columns, now) = (observed.columns(), observed.cycle().0);
        let differs =
            |page: usize| columns.visited[page] && self.truth.differs(page, columns.last[page], now);
        out.clear();
        out.extend((0..columns.len()).map(|page| f64::from(u8::from(differs(page)))));
    }
}
