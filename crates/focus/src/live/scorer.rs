//! Log odds of many untried URLs, in the order of sites: as [`DiscoveryOrder::planned`], with all logarithms taken beforehand.

use super::yields::Yield;
use super::{DiscoveryOrder, LiveModel, UntriedUrl, planned_features};
use libm::{exp, log, log1p};

/// Depths whose logarithms are kept.
const DEPTHS: usize = 64;

/// Scores untried URLs.
pub struct Scorer<'m> {
    model: &'m LiveModel,
    order: DiscoveryOrder,
    all: Yield,
    /// Weighted features that depend on the tunnel and the depth alone.
    tunnels: [f64; 9],
    depths: [f64; DEPTHS],
    /// The site's shrunk yield, and its part of the sum.
    site: f64,
    of_site: f64,
}

impl<'m> Scorer<'m> {
    /// Scores in this order, with the yield of the crawl.
    pub fn new(model: &'m LiveModel, order: DiscoveryOrder, all: Yield) -> Scorer<'m> {
        let weights = &model.planned.0;
        let mut scorer = Scorer {
            model,
            order,
            all,
            tunnels: std::array::from_fn(|tunnel| weights[2] * tunnel as f64 / 8.0),
            depths: std::array::from_fn(|depth| weights[3] * log1p(depth as f64)),
            site: 0.0,
            of_site: 0.0,
        };
        scorer.enter(Yield::default());
        scorer
    }

    /// The next URLs are of a site with this yield.
    pub fn enter(&mut self, site: Yield) {
        let features = planned_features(&UntriedUrl { site, all: self.all, ..UntriedUrl::default() });
        let weights = &self.model.planned.0;
        self.site = site.shrunk(self.all.shrunk(0.01));
        self.of_site = [0, 6, 7].iter().map(|&at| weights[at] * features[at]).sum();
    }

    /// By how much the odds of a URL of this site are those of [`Scorer::odds_alone`], without its group. An order of the
    /// thesis expects of each URL what its site yielded.
    pub fn odds_of_site(&self) -> f64 {
        if self.order.is_of_thesis() { self.site } else { exp(self.of_site) }
    }

    /// By how much a group raises the odds of its URLs on a site of this (shrunk) yield.
    pub fn odds_of_group(&self, group: Yield, site: f64) -> f64 {
        if self.order.is_of_thesis() { 1.0 } else { exp(self.of_group(group, site)) }
    }

    /// The part of a URL's odds that depends on no visits.
    pub fn odds_alone(&self, links: f64, tunnel: u8, depth: u16) -> f64 {
        if self.order.is_of_thesis() { 1.0 } else { exp(self.alone(links, tunnel, depth)) }
    }

    fn of_group(&self, group: Yield, site: f64) -> f64 {
        let weights = &self.model.planned.0;
        match group.visits {
            0 => 0.0,
            visits => weights[4] * log(group.shrunk(site) / site) + weights[5] * log1p(visits as f64),
        }
    }

    fn alone(&self, links: f64, tunnel: u8, depth: u16) -> f64 {
        let weights = &self.model.planned.0;
        let depth = match self.depths.get(usize::from(depth)) {
            Some(depth) => *depth,
            None => weights[3] * log1p(f64::from(depth)),
        };
        weights[1] * links + self.tunnels[usize::from(tunnel.min(8))] + depth
    }

    /// Log odds of a URL of this site.
    pub fn score(&self, links: f64, tunnel: u8, depth: u16, group: Yield) -> f64 {
        if self.order.is_of_thesis() {
            return self.order.planned(self.model, &UntriedUrl { links, group, ..UntriedUrl::default() });
        }
        self.of_site + self.alone(links, tunnel, depth) + self.of_group(group, self.site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_yield() -> impl Strategy<Value = Yield> {
        (0u64..30, 0u64..30).prop_map(|(visits, finds)| Yield::new(visits, finds.min(visits)))
    }

    proptest! {
        #[test]
        fn it_scores_as_the_order_does(
            links in -15.0..15.0f64, tunnel: u8, depth in 0u16..200,
            group in any_yield(), site in any_yield(), all in any_yield(), order in 0usize..7
        ) {
            let order = DiscoveryOrder::named(DiscoveryOrder::names()[order], 0.2).expect("it is listed");
            let model = LiveModel::default();
            let candidate = UntriedUrl { links, tunnel, depth, group, site, all };
            let mut scorer = Scorer::new(&model, order, all);
            scorer.enter(site);
            let score = scorer.score(links, tunnel, depth, group);
            prop_assert!((score - order.planned(&model, &candidate)).abs() < 1e-9);
            if !order.is_of_thesis() {
                let parts = [
                    scorer.odds_alone(links, tunnel, depth),
                    scorer.odds_of_site(),
                    scorer.odds_of_group(group, site.shrunk(all.shrunk(0.01))),
                ];
                prop_assert!((log(parts.iter().product()) - score).abs() < 1e-9);
            }
        }
    }
}
