//! The weights of the model of the next change, learned from the comparisons of revisit rounds.
//!
//! A lesson reads each page as the plan of its round read it. So a schedule needs no room for the features of its
//! pages, and a resumed round learns the same. Urgent and fill rounds teach nothing: their pages are asked for, or new.

use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::record_inputs::RecordInputs;
use crate::round::RoundKind;
use crate::stored::{keep, kept};
use recrawl_formula::NextChangeModel;
use recrawl_formula::{Formula, NextChange};
use recrawl_repository::{Generation, PageStateBlocks, ReadError, SledTables};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, NEXT_CHANGE_WEIGHTS, Reads};
use serde::{Deserialize, Serialize};

/// The name under which the model is kept.
const NEXT_CHANGE: &str = "next_change";

/// The model in the tables. A round that is merged again after a crash finds the model that it began with.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredModel {
    /// The round of the last lesson.
    round: u32,
    before: LearnedModel,
    now: LearnedModel,
}

/// The model after a lesson.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LearnedModel {
    cycle: u32,
    model: NextChangeModel,
}

/// The weights of the model; 0 before its first lesson.
///
/// # Errors
/// When the tables cannot be read.
pub fn weights(tables: &SledTables) -> Result<[f64; NEXT_CHANGE_WEIGHTS], Failure> {
    Ok(kept::<StoredModel>(tables, NEXT_CHANGE)?.unwrap_or_default().now.model.weights)
}

/// The lesson of a round, whose comparisons are met in URL order.
pub struct NextChangeLesson<'g> {
    round: DatedRound,
    before: LearnedModel,
    lesson: recrawl_formula::next_change::Lesson,
    inputs: RecordInputs,
    states: PageStateBlocks<'g>,
    last: Option<CanonicalUrl>,
    failed: Option<ReadError>,
}

impl<'g> NextChangeLesson<'g> {
    /// Begins the lesson of a revisit round whose formula reads the model; none for other rounds. `passed` is called
    /// with the pages of each block of a pass over the generation.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn of_round(
        tables: &SledTables,
        generation: &'g Generation,
        (round, kind): (DatedRound, RoundKind),
        formula_toml: Option<&str>,
        passed: &dyn Fn(usize),
    ) -> Result<Option<NextChangeLesson<'g>>, Failure> {
        let reads = formula_toml.filter(|_| kind == RoundKind::Revisit).and_then(reads);
        let Some(reads) = reads else { return Ok(None) };
        let kept = kept::<StoredModel>(tables, NEXT_CHANGE)?.unwrap_or_default();
        let before = if kept.round == round.round.0 { kept.before } else { kept.now };
        let lesson = before.model.clone().lesson(round.cycle.since(Cycle(before.cycle)));
        let inputs = RecordInputs::read(reads, round.cycle, generation, passed)?;
        let states = generation.states().with_keys(true);
        Ok(Some(NextChangeLesson { round, before, lesson, inputs, states, last: None, failed: None }))
    }
}

impl RoundLesson for NextChangeLesson<'_> {
    /// Of several comparisons of a page the first counts.
    fn compared(&mut self, url: &CanonicalUrl, _is_newer: Option<bool>, is_changed: bool) {
        if self.failed.is_some() || self.last.as_ref() == Some(url) {
            return;
        }
        match self.states.block_of(url.key()) {
            Ok(Some((first, columns, is_new))) => {
                if is_new {
                    self.inputs.fill(first, columns);
                }
                if let Some(row) = columns.keys.row_of(url.key()).filter(|&row| columns.visited[row]) {
                    self.lesson.visit(&NextChange::of_row(columns, row, self.round.cycle), is_changed);
                }
            }
            Ok(None) => {}
            Err(failed) => self.failed = Some(failed),
        }
        self.last = Some(url.clone());
    }

    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)?;
        let now = LearnedModel { cycle: round.cycle.0, model: self.lesson.clone().learned() };
        keep(tables, NEXT_CHANGE, &StoredModel { round: round.round.0, before: self.before.clone(), now })
    }
}

/// Inputs of the model, if the formula by which the round was planned reads the model.
fn reads(formula_toml: &str) -> Option<Reads> {
    NextChange::reads(Formula::from_toml(formula_toml).ok()?.compile().reads())
}

#[cfg(test)]
mod tests;
