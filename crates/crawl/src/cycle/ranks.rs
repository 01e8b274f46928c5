//! The ranks of all pages in the next cycle, cached until the next commit: one pass over all pages serves all
//! queries.

use crate::cycle::inputs::FormulaInputs;
use crate::failure::Failure;
use crate::parts::focus::survey;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, SledTables};
use recrawl_scheduler::{PlanRequest, Rank, Ranking, RankingGatherer};
use recrawl_types::Round;
use std::sync::{Arc, Mutex};

/// The ranks of all pages of a generation. Memory: 4 MB, and 16 bytes per site if the formula uses rates.
#[derive(Debug)]
pub struct Ranks {
    generation: Round,
    request: PlanRequest,
    formula: Formula,
    /// Inputs of the formula beside the records.
    pub inputs: FormulaInputs,
    ranking: Ranking,
}

/// The last ranks that were computed.
#[derive(Debug, Default)]
pub struct StoredRanks {
    last: Mutex<Option<Arc<Ranks>>>,
    /// The generation that was last asked about.
    asked: Mutex<Option<Round>>,
}

impl StoredRanks {
    /// Were the last questions about an older generation? Then some about this one will likely follow. True once.
    pub fn are_due(&self, generation: Round) -> bool {
        let mut asked = self.asked.lock().expect("no panic under the lock");
        asked.take_if(|asked| *asked != generation).is_some()
    }

    /// Notes that somebody asks about pages of this generation.
    pub fn asked(&self, generation: Round) {
        *self.asked.lock().expect("no panic under the lock") = Some(generation);
    }

    /// The ranks given by this request and formula. Blocks while another caller computes them.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn get_or_compute(
        &self,
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        tables: &SledTables,
        settings: &Settings,
    ) -> Result<Arc<Ranks>, Failure> {
        let mut kept = self.last.lock().expect("no panic under the lock");
        if let Some(ranks) = &*kept
            && ranks.generation == generation.number()
            && ranks.request == *request
            && ranks.formula == *formula
        {
            return Ok(ranks.clone());
        }
        // Free the old ranks first.
        *kept = None;
        let ranks = Arc::new(Ranks::gather(request, formula, generation, tables, settings)?);
        *kept = Some(ranks.clone());
        Ok(ranks)
    }
}

impl Ranks {
    /// The rank of a page of this generation that competes by this score.
    pub fn rank(&self, ordinal: u64, score: f64) -> Rank {
        self.ranking.rank(ordinal, score)
    }

    fn gather(
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        tables: &SledTables,
        settings: &Settings,
    ) -> Result<Ranks, Failure> {
        let focus = survey::of_formula(formula, settings.focus.as_ref(), generation, Some(tables))?;
        let inputs =
            FormulaInputs::read(formula, request.cycle, generation, Some(tables), &settings.pages, &|_| {})?;
        let inputs = inputs.with_focus(focus);
        let policy = request.policy(formula);
        let mut gatherer = RankingGatherer::new(request, generation.pages());
        generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Failure> {
            inputs.fill(first, columns);
            gatherer.scan(&*policy, columns);
            Ok(())
        })?;
        let (request, formula) = (request.clone(), formula.clone());
        Ok(Ranks { generation: generation.number(), request, formula, inputs, ranking: gatherer.finish() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_due_once_when_the_pages_asked_about_are_of_an_older_generation() {
        let kept = StoredRanks::default();
        assert!(!kept.are_due(Round(7)), "nobody has asked");
        kept.asked(Round(7));
        assert!(!kept.are_due(Round(7)), "the question has ranked these");
        assert!(kept.are_due(Round(8)));
        assert!(!kept.are_due(Round(8)) && !kept.are_due(Round(9)), "nobody has asked since");
    }
}
