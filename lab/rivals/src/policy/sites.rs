//! `sls`: samples of sites.

use super::chance::PageChance;
use super::sample::{PolicySample, SampleSize, in_random_order};
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};
use std::collections::HashMap;

/// The baseline SLS of Tan & Mitra (2010, §6.3.5), the greedy policy of Cho & Ntoulas (2002): samples each site, then
/// visits whole sites, those with the largest share of changed samples first. *Ours*: a site without a sample has the
/// share of all samples, and equal sites come in random order.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "sls",
    help: "samples each site, then visits the sites with the most changed samples",
    make: Make::Honest(|_| Box::new(SitePolicy::default())),
};

#[derive(Default)]
struct SitePolicy {
    sample: PolicySample,
}

impl ReplayPolicy for SitePolicy {
    fn name(&self) -> &str {
        KIND.name
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        self.sample.wants(observed, left, draw)
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.sample.score(out, |sample| {
            let places = places(observed, &sample.outcomes);
            observed.sites().iter().map(|site| places[*site as usize]).collect()
        });
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.sample.observe(observed, visits);
    }
}

/// As many pages of each site as its sample has. If that is too many, those that come first in random order.
fn draw(observed: &Observed, chances: &[f64]) -> Vec<u32> {
    let size = SampleSize::for_cycle(observed);
    let mut taken: HashMap<u32, u64> = HashMap::new();
    let mut has_room = |page: &u32| {
        let taken = taken.entry(observed.sites()[*page as usize]).or_default();
        *taken += 1;
        *taken <= size.per_site
    };
    let pages = in_random_order(observed, chances).into_iter();
    pages.filter(|page| has_room(page)).take(size.total as usize).collect()
}

/// The places of the sites by the share of their samples that had changed; the highest place is visited first.
fn places(observed: &Observed, outcomes: &[(u32, bool)]) -> Vec<u32> {
    let count = observed.evidence().len();
    let mut of_sites = vec![(0u32, 0u32); count];
    let mut all = (0u32, 0u32);
    for &(page, changed) in outcomes {
        for (changes, visits) in [&mut of_sites[observed.sites()[page as usize] as usize], &mut all] {
            *changes += u32::from(changed);
            *visits += 1;
        }
    }
    let share = |(changes, visits): (u32, u32)| f64::from(changes) / f64::from(visits.max(1));
    let chance = PageChance::new(observed.seed(), observed.cycle());
    let key = |site: usize| {
        let counts = if of_sites[site].1 > 0 { of_sites[site] } else { all };
        // Numbers of pages come before those of sites.
        (share(counts), chance.for_page(observed.sites().len() + site).uniform())
    };
    let mut order: Vec<(usize, (f64, f64))> = (0..count).map(|site| (site, key(site))).collect();
    order.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut places = vec![0; count];
    for ((site, _), place) in order.into_iter().zip(0..) {
        places[site] = place;
    }
    places
}
