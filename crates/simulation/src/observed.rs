//! What a policy may know: visits and their outcomes.

use recrawl_formula::{Evidence, Priors};
use recrawl_types::{Cycle, History, Known, StateColumns, Status};

/// What a policy sees of a replay: the outcomes of visits, as in a crawl's records. It learns
/// nothing about pages that were not visited.
#[derive(Clone, Debug)]
pub struct Observed {
    cycle: Cycle,
    k: u64,
    seed: u64,
    columns: StateColumns,
    sites: Vec<u32>,
    /// The evidence of each site, updated visit by visit.
    evidence: Vec<Evidence>,
}

impl Observed {
    /// Before the first visit, of pages with these sites.
    pub(crate) fn new(sites: Vec<u32>, site_count: usize, seed: u64) -> Observed {
        let mut columns = StateColumns::default();
        sites.iter().for_each(|_| columns.push(Known::default(), None));
        let evidence = vec![Evidence::default(); site_count];
        Observed { cycle: Cycle(0), k: 0, seed, columns, sites, evidence }
    }

    /// The cycle whose visits are being chosen.
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Number of pages that the cycle can visit.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// The seed of all random choices in the replay.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// One row per page. Rows of pages that do not exist yet have no visits; those of pages that no
    /// longer exist are [gone](Status::Gone).
    pub fn columns(&self) -> &StateColumns {
        &self.columns
    }

    /// The site of each page.
    pub fn sites(&self) -> &[u32] {
        &self.sites
    }

    /// The evidence of each site.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    pub(crate) fn begin(&mut self, cycle: Cycle, k: u64) {
        (self.cycle, self.k) = (cycle, k);
    }

    /// Updates the rates of sites and of all pages.
    pub(crate) fn fill_priors(&mut self) {
        let sites = self.sites.iter().map(|&site| site as usize);
        Priors::new(&self.evidence).fill(&mut self.columns, sites);
    }

    /// Records the first visit of a page.
    pub(crate) fn first_fetch(&mut self, page: usize) {
        self.columns.set_history(page, &History::first_fetch(self.cycle));
    }

    /// Records another visit of a page.
    ///
    /// # Panics
    /// If it was never visited.
    pub(crate) fn visit(&mut self, page: usize, changed: bool) {
        let mut history = self.columns.history(page).expect("a page is compared with its first visit");
        let site = &mut self.evidence[self.sites[page] as usize];
        site.remove(Evidence::of(&history));
        history.record(self.cycle, changed);
        site.add(Evidence::of(&history));
        self.columns.set_history(page, &history);
    }

    /// Records that a page no longer exists.
    pub(crate) fn gone(&mut self, page: usize) {
        self.columns.known[page].status = Status::Gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_that_of_all_pages_of_a_site() {
        let mut observed = Observed::new(vec![0, 1, 0], 3, 0);
        (0..3).for_each(|page| observed.first_fetch(page));
        for (cycle, page, changed) in [(1, 0, true), (1, 1, true), (3, 0, false), (4, 2, true)] {
            observed.begin(Cycle(cycle), 1);
            observed.visit(page, changed);
        }
        let mut expected = vec![Evidence::default(); 3];
        for (row, &site) in observed.sites().iter().enumerate() {
            expected[site as usize].add(Evidence::of_row(observed.columns(), row));
        }
        assert_eq!(observed.evidence(), expected);
        assert_eq!(expected[0], Evidence { changes: 2, cycles: 7, changed_cycles: 5 });
        observed.fill_priors();
        let priors = Priors::new(&expected);
        assert_eq!(observed.columns().global_rate, priors.global);
        assert_eq!(observed.columns().site_rate, [priors.sites[0], priors.sites[1], priors.sites[0]]);
    }
}
