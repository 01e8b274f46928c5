//! `announced_u_fresh_site`: a share of the budget for pages with a signal.

use super::{Make, ReplayFormula, ReplayPolicy, ReplayPolicyKind};
use crate::Observed;
use recrawl_scheduler::{Gate, TieBreak, Ties, TopK};
use recrawl_types::Reads;

/// As a crawl that ranks by `u_fresh_site`, with the defaults of `cycle.announced_share` and
/// `hints.min_trust`: of the pages with a signal on trusted sites, the best get a tenth of the
/// budget, and the score gets the rest.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "announced_u_fresh_site",
    help: "u_fresh_site, and a tenth of the budget for the best pages with a signal of a trusted site",
    make: Make::Honest(|_| {
        Box::new(AnnouncedPolicy { score: ReplayFormula::expression("u_fresh_site", "u_fresh_site") })
    }),
};

const SHARE: f64 = 0.1;
const MIN_TRUST: f64 = 0.5;

struct AnnouncedPolicy {
    score: Box<dyn ReplayPolicy>,
}

impl ReplayPolicy for AnnouncedPolicy {
    fn name(&self) -> &str {
        KIND.name
    }

    fn reads(&self) -> Reads {
        Reads::SITE_RATE
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.score.score(observed, out);
        let ties = TieBreak::new(Ties::Hash, observed.seed(), observed.cycle());
        let mut best = TopK::new((SHARE * observed.k() as f64).round() as u64);
        for (page, &signals) in observed.columns().signals.iter().enumerate() {
            let is_announced = signals > 0 && observed.trust(page) >= MIN_TRUST;
            if is_announced && observed.gate(page) == Gate::Revisit {
                best.offer(ties.by_score(out[page], page as u64));
            }
        }
        for candidate in best.into_sorted() {
            out[ties.ordinal(candidate) as usize] = f64::INFINITY;
        }
    }
}
