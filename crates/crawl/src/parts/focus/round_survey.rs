//! The survey of a round, which its plan and its lesson share.

use super::FocusRules;
use super::state::FocusState;
use super::survey::FocusSurvey;
use crate::failure::Failure;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::DatedRound;
use std::sync::{Arc, Mutex};

/// The survey of the visits before a round. Read once a round, and again after a restart.
#[derive(Default)]
pub struct RoundSurvey(Mutex<Option<(DatedRound, Arc<FocusSurvey>)>>);

impl RoundSurvey {
    /// The survey of this round. `on_progress` is called with the pages of each block that is read for it.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    ///
    /// # Panics
    /// Only if a thread panicked under the lock.
    pub fn read(
        &self,
        rules: &Arc<FocusRules>,
        tables: &SledTables,
        generation: &Generation,
        round: DatedRound,
        on_progress: &dyn Fn(usize),
    ) -> Result<Arc<FocusSurvey>, Failure> {
        let mut surveyed = self.0.lock().expect("no panic under the lock");
        if let Some((_, survey)) = surveyed.as_ref().filter(|(of, _)| *of == round) {
            return Ok(survey.clone());
        }
        let FocusState { model, rate, .. } = FocusState::before(tables, round)?.with(rules);
        let survey = Arc::new(FocusSurvey::read(rules, model, rate, round.cycle, generation, on_progress)?);
        *surveyed = Some((round, survey.clone()));
        Ok(survey)
    }

    /// Forgets it, once the round is committed.
    ///
    /// # Panics
    /// Only if a thread panicked under the lock.
    pub fn forget(&self) {
        *self.0.lock().expect("no panic under the lock") = None;
    }
}
