//! The page's place among others in the next cycle.

use crate::failure::Failure;
use crate::priors::SitePriors;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{HostPlaces, HostPlacesCounter, PlanRequest, Policy, RankCounter};
use std::ops::Range;

/// All pages, and what ranks them.
pub struct Competition<'g> {
    pub request: &'g PlanRequest,
    pub generation: &'g Generation,
    pub formula: &'g Formula,
    /// The rates of sites, where the formula asks for them.
    pub priors: Option<&'g SitePriors>,
}

impl Competition<'_> {
    fn policy(&self) -> FormulaPolicy {
        let mut policy = FormulaPolicy::new(self.formula);
        policy.prepare(self.request.cycle, self.request.seed);
        policy
    }

    /// The rank of the page with that ordinal and score, which competes by it: a pass over all pages.
    pub fn rank(&self, ordinal: u64, score: f64) -> Result<u64, Failure> {
        let (policy, mut counter) = (self.policy(), RankCounter::new(self.request, ordinal, score));
        self.generation.scan(|first, columns| -> Result<(), Failure> {
            if let Some(priors) = self.priors {
                priors.fill(first, columns);
            }
            counter.scan(&policy, columns);
            Ok(())
        })?;
        Ok(counter.rank())
    }

    /// The place of a page among those of its host: a pass over these.
    pub fn places(&self, mut counter: HostPlacesCounter, host: &Range<u64>) -> Result<HostPlaces, Failure> {
        let policy = self.policy();
        let mut states = self.generation.states_from(host.start);
        while let Some((first, columns)) = states.next_block().map_err(Failure::work)? {
            if first >= host.end {
                break;
            }
            if let Some(priors) = self.priors {
                priors.fill(first, columns);
            }
            counter.scan(&policy, first, columns);
        }
        Ok(counter.places())
    }
}
