//! `thompson`: a rate drawn from the posterior of the page, times its age.

use super::chance::PageChance;
use super::rates::RateEstimator;
use recrawl_formula::Priors;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::{Cycle, Reads};

/// Thompson sampling (1933): treat a draw from the posterior as the truth. For every page and cycle
/// a rate is drawn from the Gamma posterior of `p_site`, so little-known pages are tried now and
/// then.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "thompson",
    help: "rate drawn from the page's Gamma posterior with the site's rate, times age",
    make: Make::Honest(|_| Box::new(Thompson { rates: RateEstimator::of_site() })),
};

struct Thompson {
    rates: RateEstimator,
}

impl ReplayPolicy for Thompson {
    fn name(&self) -> &str {
        KIND.name
    }

    fn reads(&self) -> Reads {
        Reads::SITE_RATE
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let (columns, now) = (observed.columns(), observed.cycle());
        let chance = PageChance::new(observed.seed(), now);
        let rates = self.rates.estimate(observed);
        out.clear();
        out.extend(rates.iter().enumerate().map(|(page, rate)| {
            let shape = Priors::SHAPE + f64::from(columns.changes[page]);
            let drawn = chance.for_page(page).gamma(shape) * rate / shape;
            drawn * f64::from(now.since(Cycle(columns.last[page])))
        }));
    }
}
