//! Histories without gaps, as data sets that can be replayed.

use crate::histories::{Histories, SeenPage};
use crate::places::Places;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use recrawl_estimation::laws::LAWS;
use recrawl_estimation::{Laws, Visited, Weights};
use recrawl_simulation::{Beginning, Dataset, RecordedPage, Signals, Truth};
use recrawl_types::Cycle;
use std::ops::Range;
use std::sync::Arc;

/// What is needed to complete the histories of a sample.
#[derive(Clone, Debug)]
pub struct Completions<'h> {
    histories: &'h Histories,
    laws: Laws,
    /// Of each page, its visits and what they tell of its law.
    pages: Vec<(Visited, Weights)>,
    places: Places,
}

impl<'h> Completions<'h> {
    /// Fits the laws of the pages. A page of the panel counts as often as it was compared: only its history has no gaps, so
    /// it alone tells steady changes from spells where all other visits are far apart.
    pub fn new(histories: &'h Histories) -> Completions<'h> {
        let visited: Vec<Visited> = histories.pages.iter().map(SeenPage::visited).collect();
        let longest = visited.iter().flat_map(|page| &page.gaps).map(|gap| gap.0).max().unwrap_or(1);
        let laws = Laws::up_to(longest);
        let in_panel = histories.panel.iter().map(|changed| {
            let gaps = changed.iter().map(|changed| (1, *changed)).collect();
            (Visited { earlier: Vec::new(), gaps }, changed.len() as f64)
        });
        let all: Vec<(Visited, f64)> =
            visited.iter().map(|page| (page.clone(), 1.0)).chain(in_panel).collect();
        let likelihoods: Vec<([f64; LAWS], f64)> =
            all.into_par_iter().map(|(page, count)| (laws.likelihood(&page), count)).collect();
        let prior = Weights::fit(&likelihoods);
        let weights = likelihoods.iter().map(|(page, _)| prior.posterior(page));
        let pages = visited.into_iter().zip(weights).collect();
        Completions { histories, laws, pages, places: Places::from_pages(&histories.pages) }
    }

    /// How many groups of pages there are, which change more alike than others.
    pub fn groups(&self) -> usize {
        self.places.groups.len()
    }

    /// Pages of the sample.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The share of the crawl's pages that is in the sample, above 0.
    pub fn sampled(&self) -> f64 {
        let pages = self.histories.pages.len() as f64;
        pages / (self.histories.population as f64).max(pages).max(1.0)
    }

    /// The cycles of a completion.
    pub fn cycles(&self) -> u32 {
        self.histories.last.since(self.histories.first) + 1
    }

    /// Changes that were overwritten before a visit found them, for each change that a visit found (0 for none).
    /// None without a changed visit.
    pub fn missed_a_found(&self) -> Option<f64> {
        let (mut found, mut behind) = (0, 0.0);
        for (page, weights) in &self.pages {
            found += page.gaps.iter().filter(|(_, has_changed)| *has_changed).count();
            behind += self.laws.changes_behind(page, weights);
        }
        (found > 0).then(|| behind / found as f64 - 1.0)
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
            for (number, page) in pages.iter().enumerate() {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(number as u64);
                changes.push(self.completed(number, begun, *last, &mut random));
                let (site, group) = self.places.of_pages[number];
                let url = page.url.as_text().into();
                let importance = page.importance;
                recorded.push(RecordedPage { url, site, group, first: 0, last: last.0, importance });
                histories.push(page.before);
            }
        }
        Dataset {
            name,
            dates: Vec::new(),
            pages: recorded,
            sites: self.places.sites.clone(),
            groups: self.places.groups.clone(),
            truth: Truth::from_changes_after(begun - 1, last.0, changes.iter().map(Vec::as_slice)),
            signals: Signals::default(),
            contents: None,
            beginning: Some(Arc::new(Beginning { cycle: begun, histories })),
        }
    }

    /// The changes of a page. Those before the kept visits that nobody had seen yet count as one, in the last cycle before
    /// them.
    fn completed(&self, number: usize, begun: u32, last: Cycle, random: &mut ChaCha8Rng) -> Vec<(u32, u16)> {
        let (page, (visited, weights)) = (&self.histories.pages[number], &self.pages[number]);
        let seen = page.before.last;
        let ahead = last.since(page.visits.last().map_or(seen, |(cycle, _)| *cycle));
        let mut changes: Vec<(u32, u16)> = Vec::new();
        self.laws.draw(visited, weights, ahead, random, |after| {
            let cycle = (seen.0 + after).max(begun);
            if changes.last().is_none_or(|change| change.0 < cycle) {
                changes.push((cycle, changes.len() as u16 + 1));
            }
        });
        changes
    }
}

#[cfg(test)]
mod tests;
