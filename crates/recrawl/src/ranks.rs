//! The ranks of all pages in the next cycle, kept between questions: one pass over all pages then answers as many as come
//! until the next commit.

use crate::failure::Failure;
use crate::priors::SitePriors;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, OriginRun};
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{PlanRequest, Policy, Ranking, RankingGatherer};
use std::sync::{Arc, Mutex};

/// Ranks of more pages are not kept; the page that is asked about is then counted among them, without memory.
const MAX_RANKED: u64 = 2_000_000;

/// How all pages of a generation are ranked. Memory: 16 bytes a page, and 16 a site where the formula asks for rates.
#[derive(Debug)]
pub struct Ranks {
    request: PlanRequest,
    formula: Formula,
    /// The rates of sites, where the formula asks for them.
    pub priors: Option<SitePriors>,
    /// The rank of each.
    pub ranking: Ranking,
}

/// The ranks that were asked for last.
#[derive(Debug, Default)]
pub struct KeptRanks(Mutex<Option<Arc<Ranks>>>);

impl KeptRanks {
    /// The ranks that the plan of that request gives by that formula; none of more than [`MAX_RANKED`] pages. Who asks while
    /// they are being gathered waits for them.
    ///
    /// # Errors
    /// When the generation, whose origins are handed in, cannot be read.
    pub fn of(
        &self,
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        origins: &[OriginRun],
    ) -> Result<Option<Arc<Ranks>>, Failure> {
        if generation.pages() > MAX_RANKED {
            return Ok(None);
        }
        let mut kept = self.0.lock().expect("no panic under the lock");
        if let Some(ranks) = &*kept
            && ranks.request == *request
            && ranks.formula == *formula
        {
            return Ok(Some(ranks.clone()));
        }
        // What was kept makes room first.
        *kept = None;
        let ranks = Arc::new(Ranks::gather(request, formula, generation, origins)?);
        *kept = Some(ranks.clone());
        Ok(Some(ranks))
    }
}

impl Ranks {
    fn gather(
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        origins: &[OriginRun],
    ) -> Result<Ranks, Failure> {
        let priors = SitePriors::wanted_by(formula, generation, origins, &|_| {})?;
        let mut policy = FormulaPolicy::new(formula);
        policy.prepare(request.cycle, request.seed);
        let mut gatherer = RankingGatherer::new(request);
        generation.scan(|first, columns| -> Result<(), Failure> {
            if let Some(priors) = &priors {
                priors.fill(first, columns);
            }
            gatherer.scan(&policy, columns);
            Ok(())
        })?;
        let (request, formula) = (request.clone(), formula.clone());
        Ok(Ranks { request, formula, priors, ranking: gatherer.finish() })
    }
}
