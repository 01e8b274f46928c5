//! Samples of a cycle: visits whose outcomes a policy sees before it chooses the rest.

use super::chance::PageChance;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::PolicyVisit;
use recrawl_types::Cycle;
use std::collections::HashMap;

/// The sample of the current cycle, and its outcomes.
#[derive(Default)]
pub(super) struct PolicySample {
    cycle: Option<Cycle>,
    /// The sampled pages, ascending.
    pages: Vec<u32>,
    /// How many of them the replay was asked to visit.
    asked: u64,
    /// Whether the visits chosen next are of the sample.
    is_next: bool,
    /// The sampled pages that were visited, and whether they had changed.
    pub outcomes: Vec<(u32, bool)>,
    /// A random number for each page, uniform in (0, 1).
    pub chances: Vec<f64>,
}

impl PolicySample {
    /// Draws the sample, if the cycle is new, and returns how many visits to make now: those of the sample that remain,
    /// or all that are left. `draw` gets a random order of pages (lower is earlier).
    pub fn wants(
        &mut self,
        observed: &Observed,
        left: u64,
        draw: impl FnOnce(&Observed, &[f64]) -> Vec<u32>,
    ) -> u64 {
        if self.cycle.replace(observed.cycle()) != Some(observed.cycle()) {
            let chance = PageChance::new(observed.seed(), observed.cycle());
            self.chances =
                (0..observed.columns().len()).map(|page| chance.for_page(page).uniform()).collect();
            self.pages = draw(observed, &self.chances);
            self.pages.sort_unstable();
            self.asked = 0;
            self.outcomes.clear();
        }
        let wanted = (self.pages.len() as u64 - self.asked).min(left);
        self.asked += wanted;
        self.is_next = wanted > 0;
        if self.is_next { wanted } else { left }
    }

    /// Scores all pages: those of the sample first, or if it is visited, those that `rest` scores higher, in whole
    /// numbers. Equal ones are in random order.
    pub fn score(&self, out: &mut Vec<f64>, rest: impl FnOnce(&PolicySample) -> Vec<u32>) {
        let mut scores = vec![0; self.chances.len()];
        match self.is_next {
            true => self.pages.iter().for_each(|&page| scores[page as usize] = 1),
            false => scores = rest(self),
        }
        out.clear();
        out.extend(
            scores.iter().zip(&self.chances).map(|(&score, chance)| f64::from(score) + (1.0 - chance)),
        );
    }

    /// Notes the outcomes of the sample.
    pub fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        if self.cycle == Some(observed.cycle()) {
            let sampled = visits.iter().filter(|visit| self.pages.binary_search(&visit.page).is_ok());
            self.outcomes.extend(sampled.filter_map(|visit| Some((visit.page, visit.changed?))));
        }
    }

    /// The sampled pages that had changed.
    pub fn changed(&self) -> Vec<u32> {
        self.outcomes.iter().filter(|outcome| outcome.1).map(|outcome| outcome.0).collect()
    }
}

/// How many pages to sample: of each site √(N·r), for N pages a site on average and r visits a page in a cycle (Cho &
/// Ntoulas 2002, §3). *Ours*: rounded, at least 1, and all together at most half of the visits, so that visits remain
/// to choose with what the sample shows.
pub(super) struct SampleSize {
    /// Of each site.
    pub per_site: u64,
    /// Of all sites together.
    pub total: u64,
}

impl SampleSize {
    /// For the visits of this cycle, of the pages that compete for them.
    pub fn for_cycle(observed: &Observed) -> SampleSize {
        let mut sites: HashMap<u32, u64> = HashMap::new();
        for page in (0..observed.columns().len()).filter(|&page| observed.competes(page)) {
            *sites.entry(observed.sites()[page]).or_default() += 1;
        }
        let pages: u64 = sites.values().sum();
        let mean = pages as f64 / sites.len() as f64;
        let rate = observed.k() as f64 / pages as f64;
        let per_site = ((mean * rate).sqrt().round() as u64).max(1);
        let total: u64 = sites.values().map(|&pages| per_site.min(pages)).sum();
        SampleSize { per_site, total: total.min(observed.k() / 2) }
    }
}

/// A random sample of all competing pages, as large as that of [`SampleSize`].
pub(super) fn of_all(observed: &Observed, chances: &[f64]) -> Vec<u32> {
    let size = SampleSize::for_cycle(observed).total as usize;
    let mut pages = in_random_order(observed, chances);
    pages.truncate(size);
    pages
}

/// The competing pages in random order.
pub(super) fn in_random_order(observed: &Observed, chances: &[f64]) -> Vec<u32> {
    let competing = (0..chances.len()).filter(|&page| observed.competes(page));
    let mut pages: Vec<u32> = competing.map(|page| page as u32).collect();
    pages.sort_by(|&a, &b| chances[a as usize].total_cmp(&chances[b as usize]).then(a.cmp(&b)));
    pages
}
