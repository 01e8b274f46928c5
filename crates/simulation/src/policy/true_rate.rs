//! `true_rate`: the true mean rate of each page times its age.

use super::{Make, ReplayPolicy, ReplayPolicyKind};
use crate::{Dataset, Observed};
use recrawl_types::Cycle;

/// Perfect knowledge of mean rates: the bound of all policies that estimate rates, such as `nad`.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "true_rate",
    help: "bound: true mean rate of each page over the whole history, times age",
    make: Make::Bound(|data: &Dataset| Box::new(TrueRate { rates: rates(data) })),
};

struct TrueRate {
    rates: Vec<f64>,
}

/// Changes per cycle of each page while it exists; 0 for a page that exists in one cycle only.
fn rates(data: &Dataset) -> Vec<f64> {
    let changes = data.truth.changes();
    let rate = |(page, changes): (&crate::RecordedPage, u32)| {
        f64::from(changes) / f64::from((page.last - page.first).max(1))
    };
    data.pages.iter().zip(changes).map(rate).collect()
}

impl ReplayPolicy for TrueRate {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let age = |last: u32| f64::from(observed.cycle().since(Cycle(last)));
        out.clear();
        out.extend(self.rates.iter().zip(&observed.columns().last).map(|(rate, &last)| rate * age(last)));
    }
}
