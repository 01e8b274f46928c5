//! The ranks of all pages in the next cycle, cached until the next commit: two passes over all pages
//! serve all queries.

use crate::cycle::inputs::FormulaInputs;
use crate::failure::Failure;
use crate::focus::survey;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, OriginRun, SledTables};
use recrawl_scheduler::{PlanRequest, Ranking, RankingSample};
use recrawl_types::{Round, StateColumns};
use std::sync::{Arc, Mutex};

/// Maximum number of pages whose ranks are cached; with more, each query counts better pages
/// without memory.
const MAX_RANKED: u64 = 20_000_000;

/// The ranks of all pages of a generation. Memory: 2 bytes per page, and 16 per site if the
/// formula uses rates.
#[derive(Debug)]
pub struct Ranks {
    generation: Round,
    request: PlanRequest,
    formula: Formula,
    /// What the formula reads beside the records.
    pub inputs: FormulaInputs,
    ranking: Ranking,
}

/// The last ranks that were computed.
#[derive(Debug, Default)]
pub struct KeptRanks(Mutex<Option<Arc<Ranks>>>);

impl KeptRanks {
    /// The ranks given by this request and formula; none for more than `MAX_RANKED` pages. Blocks
    /// while another caller computes them.
    ///
    /// # Errors
    /// When the generation cannot be read. `origins` are those of the generation.
    pub fn of(
        &self,
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        origins: &[OriginRun],
        tables: &SledTables,
        settings: &Settings,
    ) -> Result<Option<Arc<Ranks>>, Failure> {
        if generation.pages() > MAX_RANKED {
            return Ok(None);
        }
        let mut kept = self.0.lock().expect("no panic under the lock");
        if let Some(ranks) = &*kept
            && ranks.generation == generation.number()
            && ranks.request == *request
            && ranks.formula == *formula
        {
            return Ok(Some(ranks.clone()));
        }
        // Free the old ranks first.
        *kept = None;
        let ranks = Arc::new(Ranks::gather(request, formula, generation, origins, tables, settings)?);
        *kept = Some(ranks.clone());
        Ok(Some(ranks))
    }
}

impl Ranks {
    /// The rank of a page of this generation that competes by this score. Reads the states of some pages about as good.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn rank(&self, generation: &Generation, ordinal: u64, score: f64) -> Result<u64, Failure> {
        let (policy, mut scores) = (self.request.policy(&self.formula), Vec::new());
        self.ranking.rank(ordinal, score, |other| {
            let page = self.inputs.page(generation, other).map_err(Failure::work)?;
            policy.score(&page, other, &mut scores);
            Ok(scores[0])
        })
    }

    fn gather(
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        origins: &[OriginRun],
        tables: &SledTables,
        settings: &Settings,
    ) -> Result<Ranks, Failure> {
        let focus = survey::of_formula(formula, settings, generation, Some(tables))?;
        let inputs = FormulaInputs::read(formula, request.cycle, generation, origins, Some(tables), &|_| {})?;
        let inputs = inputs.with_focus(focus);
        let policy = request.policy(formula);
        let scan = |each: &mut dyn FnMut(&StateColumns)| {
            generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Failure> {
                inputs.fill(first, columns);
                each(columns);
                Ok(())
            })
        };
        let mut sample = RankingSample::new(request, generation.pages());
        scan(&mut |columns| sample.scan(&*policy, columns))?;
        let mut gatherer = sample.divide();
        scan(&mut |columns| gatherer.scan(&*policy, columns))?;
        let (request, formula) = (request.clone(), formula.clone());
        Ok(Ranks { generation: generation.number(), request, formula, inputs, ranking: gatherer.finish() })
    }
}
