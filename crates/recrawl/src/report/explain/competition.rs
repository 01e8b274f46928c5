//! The page's rank among all pages, and among those of its host, in the next cycle.

use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::failure::Failure;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_scheduler::{HostPlaces, HostPlacesCounter, PlanRequest, Policy};
use recrawl_types::StateColumns;
use std::ops::Range;

/// All pages, and how to rank them.
pub struct Competition<'g> {
    pub request: &'g PlanRequest,
    pub generation: &'g Generation,
    pub formula: &'g Formula,
    /// What the formula reads beside the records.
    pub inputs: &'g FormulaInputs,
    pub ranks: &'g Ranks,
}

impl Competition<'_> {
    fn policy(&self) -> Box<dyn Policy> {
        self.request.policy(self.formula)
    }

    /// The score of a page that was visited. Reads the block of its state.
    pub fn score(&self, ordinal: u64) -> Result<Option<f64>, Failure> {
        let page = self.inputs.page(self.generation, ordinal).map_err(Failure::work)?;
        Ok((!page.is_empty()).then(|| self.score_of(&page, ordinal)))
    }

    /// The score of the page in a block of one.
    pub fn score_of(&self, page: &StateColumns, ordinal: u64) -> f64 {
        let mut scores = Vec::new();
        self.policy().score(page, ordinal, &mut scores);
        scores[0]
    }

    /// The place of a page on its host. Reads the state of the host's pages.
    pub fn places(&self, mut counter: HostPlacesCounter, host: &Range<u64>) -> Result<HostPlaces, Failure> {
        let policy = self.policy();
        let mut states = self.generation.states_from(host.start).with_keys(self.inputs.need_keys());
        while let Some((first, columns)) = states.next_block().map_err(Failure::work)? {
            if first >= host.end {
                break;
            }
            self.inputs.fill(first, columns);
            counter.scan(&*policy, first, columns);
        }
        Ok(counter.places())
    }
}
