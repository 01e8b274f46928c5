//! The ranks of all pages in the next cycle, kept until the next commit: one pass over all pages serves all
//! questions.

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

/// The last ranks that were computed, and whether others are needed.
#[derive(Debug, Default)]
pub struct StoredRanks {
    last: Mutex<Option<Arc<Ranks>>>,
    /// The generation that was last asked about, and whether its ranks were there.
    asked: Mutex<Option<(Round, bool)>>,
}

impl StoredRanks {
    /// The ranks given by this request and formula, if they are kept. Notes that somebody asks for them.
    pub fn get(
        &self,
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
    ) -> Option<Arc<Ranks>> {
        let kept = self.last.lock().expect("no panic under the lock").clone();
        let ranks = kept.filter(|ranks| {
            ranks.generation == generation.number() && ranks.request == *request && ranks.formula == *formula
        });
        self.asked(generation.number(), ranks.is_some());
        ranks
    }

    fn asked(&self, generation: Round, is_ranked: bool) {
        *self.asked.lock().expect("no panic under the lock") = Some((generation, is_ranked));
    }

    /// Did the last question lack ranks? Or was it about an older generation? Then some about this one will likely
    /// follow. True once.
    pub fn are_due(&self, generation: Round) -> bool {
        let mut asked = self.asked.lock().expect("no panic under the lock");
        asked.take_if(|(asked, is_ranked)| *asked != generation || !*is_ranked).is_some()
    }

    /// Keeps the ranks that `gather` makes, in place of those before.
    ///
    /// # Errors
    /// As of `gather`.
    pub fn replace(&self, gather: impl FnOnce() -> Result<Ranks, Failure>) -> Result<(), Failure> {
        let keep = |ranks| *self.last.lock().expect("no panic under the lock") = ranks;
        // Frees the old ranks first.
        keep(None);
        keep(Some(Arc::new(gather()?)));
        Ok(())
    }
}

impl Ranks {
    /// The rank of a page of this generation that competes by this score.
    pub fn rank(&self, ordinal: u64, score: f64) -> Rank {
        self.ranking.rank(ordinal, score)
    }

    /// The ranks of all pages: reads the state of each.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn gather(
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
            gatherer.scan(&*policy, first, columns);
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
    fn ranks_are_due_once_after_a_question_without_them_and_after_a_commit() {
        let kept = StoredRanks::default();
        assert!(!kept.are_due(Round(7)), "nobody has asked");
        kept.asked(Round(7), false);
        assert!(kept.are_due(Round(7)) && !kept.are_due(Round(7)), "the question had no ranks");
        kept.asked(Round(7), true);
        assert!(!kept.are_due(Round(7)), "the question had them");
        assert!(kept.are_due(Round(8)));
        assert!(!kept.are_due(Round(8)) && !kept.are_due(Round(9)), "nobody has asked since");
    }
}
