//! Histories without gaps, as data sets that can be replayed.

use crate::histories::{Histories, SeenPage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_estimation::rates::RATES;
use recrawl_estimation::{Clustering, Likelihoods, Rates, completion, draw_changes};
use recrawl_simulation::{Beginning, Dataset, RecordedPage, Signals, Truth};
use recrawl_types::{Cycle, Site};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Sites below which the first segment of the path counts as well, so that groups can be compared.
const FEW_SITES: usize = 10;

/// What is needed to complete the histories of a sample.
#[derive(Clone, Debug)]
pub struct Completions<'h> {
    histories: &'h Histories,
    prior: Rates,
    posteriors: Vec<Rates>,
    clustering: Clustering,
    sites: Vec<String>,
    groups: Vec<String>,
    /// Of each page, its site and its group.
    places: Vec<(u32, u32)>,
}

impl<'h> Completions<'h> {
    /// Fits the rates of the pages.
    pub fn new(histories: &'h Histories) -> Completions<'h> {
        let mut likelihoods = Likelihoods::default();
        let pages: Vec<[f64; RATES]> =
            histories.pages.iter().map(|page| likelihoods.of(&page.gaps())).collect();
        let prior = Rates::fit(&pages);
        let mut clustering = Clustering::default();
        for spell in &histories.panel {
            clustering.add(spell, |gap, visits| {
                let rates = prior.posterior(&likelihoods.of(visits));
                rates.mean(|rate| completion::changes_behind_one(rate, gap))
            });
        }
        let (sites, groups, places) = placed(&histories.pages);
        let posteriors = pages.iter().map(|page| prior.posterior(page)).collect();
        Completions { histories, prior, posteriors, clustering, sites, groups, places }
    }

    /// How often the pages of the sample change.
    pub fn prior(&self) -> &Rates {
        &self.prior
    }

    /// How many groups of pages there are, which change more alike than others.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Changes that were overwritten before a visit found them, for each change that a visit found (0 for none).
    /// None without a changed visit.
    pub fn missed_a_found(&self) -> Option<f64> {
        let (mut found, mut missed) = (0u64, 0.0);
        for (page, rates) in self.histories.pages.iter().zip(&self.posteriors) {
            let mut last = page.before.last;
            for &(cycle, changed) in &page.visits {
                let gap = cycle.since(std::mem::replace(&mut last, cycle)).max(1);
                if changed {
                    let behind_one = rates.mean(|rate| completion::changes_behind_one(rate, gap));
                    missed += (behind_one * self.clustering.factor(gap)).clamp(1.0, f64::from(gap)) - 1.0;
                    found += 1;
                }
            }
        }
        (found > 0).then(|| missed / found as f64)
    }

    /// Draws one completion. The same seed draws the same.
    pub fn draw(&self, seed: u64) -> Dataset {
        self.drawn(format!("completion {seed}"), seed..seed + 1)
    }

    /// Draws some completions as one data set: each page is there as often, at its site and in its group.
    pub fn pooled(&self, completions: u64) -> Dataset {
        self.drawn(format!("{completions} completions"), 0..completions)
    }

    fn drawn(&self, name: String, seeds: Range<u64>) -> Dataset {
        let Histories { first, last, pages, .. } = self.histories;
        let begun = first.0 - 1;
        let count = pages.len() * (seeds.end - seeds.start) as usize;
        let mut changes: Vec<Vec<(u32, u16)>> = Vec::with_capacity(count);
        let (mut recorded, mut histories) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for seed in seeds {
            for (number, (page, rates)) in pages.iter().zip(&self.posteriors).enumerate() {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(number as u64);
                let rate = rates.quantile(random.random());
                changes.push(completed(page, rate, begun, *last, &mut random));
                let (site, group) = self.places[number];
                let url = page.url.as_text().into();
                recorded.push(RecordedPage { url, site, group, first: 0, last: last.0 });
                histories.push(page.before);
            }
        }
        Dataset {
            name,
            dates: Vec::new(),
            pages: recorded,
            sites: self.sites.clone(),
            groups: self.groups.clone(),
            truth: Truth::from_changes_after(begun - 1, last.0, changes.iter().map(Vec::as_slice)),
            signals: Signals::default(),
            contents: None,
            beginning: Some(Arc::new(Beginning { cycle: begun, histories })),
        }
    }
}

/// The changes of a page of this rate. Those before the kept visits that nobody had seen yet count as one, in the last
/// cycle before them.
fn completed(
    page: &SeenPage,
    rate: f64,
    begun: u32,
    last: Cycle,
    random: &mut ChaCha8Rng,
) -> Vec<(u32, u16)> {
    let mut changes: Vec<(u32, u16)> = Vec::new();
    let mut seen = page.before.last;
    let visits = page.visits.iter().map(|&(cycle, changed)| (cycle, Some(changed)));
    for (cycle, has_changed) in visits.chain([(last, None)]) {
        draw_changes(rate, cycle.since(seen), has_changed, random, |after| {
            let cycle = (seen.0 + after).max(begun);
            if changes.last().is_none_or(|change| change.0 < cycle) {
                changes.push((cycle, changes.len() as u16 + 1));
            }
        });
        seen = cycle;
    }
    changes
}

/// Sites and groups with their pages'.
fn placed(pages: &[SeenPage]) -> (Vec<String>, Vec<String>, Vec<(u32, u32)>) {
    let (mut sites, mut groups) = (Names::default(), Names::default());
    let site_of = |page: &SeenPage| Site::of_host(&page.url.host()).to_string();
    let of_site: Vec<u32> = pages.iter().map(|page| sites.place(site_of(page))).collect();
    let has_few = sites.all.len() < FEW_SITES;
    let group = |(page, site): (&SeenPage, &u32)| {
        let text = page.url.as_text();
        let path = text.splitn(4, '/').nth(3).unwrap_or_default();
        let folder = path.split_once('/').map_or("", |(folder, _)| folder);
        let name = &sites.all[*site as usize];
        if has_few { format!("{name}/{folder}") } else { name.clone() }
    };
    let names: Vec<String> = pages.iter().zip(&of_site).map(group).collect();
    let of_group = names.into_iter().map(|name| groups.place(name));
    let places = of_site.iter().copied().zip(of_group).collect();
    (sites.all, groups.all, places)
}

/// Names in the order of their first use.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Names {
    fn place(&mut self, name: String) -> u32 {
        *self.places.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            self.all.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests;
