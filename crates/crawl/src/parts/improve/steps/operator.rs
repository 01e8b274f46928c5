//! Decisions of operators about the loop. A promotion or a roll-back waits for the next cycle, which begins
//! with it; the loop is held at once.

use super::{CycleStart, ImproveStep, LoopState};
use crate::parts::improve::candidate::digest_of;
use crate::parts::improve::rules::LoopRules;
use recrawl_formula::Formula;
use recrawl_types::{Asked, AskedFor, Cycle, LoopEventKind};
use std::fmt;

/// Why a decision does not apply, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNow {
    /// Why.
    pub why: String,
    /// The way out.
    pub todo: String,
}

impl NotNow {
    fn because(why: impl Into<String>, todo: &str) -> NotNow {
        NotNow { why: why.into(), todo: todo.into() }
    }
}

impl fmt::Display for NotNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.todo)
    }
}

/// Author and time of a decision.
#[derive(Clone, Debug)]
pub struct DecisionAuthor {
    /// The name of the operator.
    pub who: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The first cycle that is not yet planned.
    pub cycle: Cycle,
}

impl LoopState {
    /// Asks for the candidate to come into force with the next cycle. Returns its expression, and whether that is new.
    ///
    /// # Errors
    /// If there is none, a trial runs, or an operator has chosen another formula.
    pub fn promote(&mut self, in_force: &Formula, by: &DecisionAuthor) -> Result<(String, bool), NotNow> {
        let attempt = match &self.step {
            ImproveStep::Proposed(attempt) | ImproveStep::Shadow(attempt) => attempt,
            ImproveStep::Idle => {
                let todo = "run recrawl improve run, or let the daemon learn one";
                return Err(NotNow::because("no candidate waits", todo));
            }
            ImproveStep::Trial(_) => {
                let todo = "wait for its end, or hold the loop to end it";
                return Err(NotNow::because("its trial runs", todo));
            }
            ImproveStep::Guard(_) => {
                let todo = "recrawl improve rollback takes it back";
                return Err(NotNow::because("it is in force already", todo));
            }
        };
        if self.in_force.as_ref().is_some_and(|expected| *expected != digest_of(in_force)) {
            let why = format!("an operator chose {}, which ends what is tried", in_force.name);
            return Err(NotNow::because(why, "choose the candidate's formula with recrawl formula use"));
        }
        let expression = attempt.candidate.expression.clone();
        Ok((expression, self.ask(AskedFor::Promote, by)))
    }

    /// Asks for the promoted formula to be taken back with the next cycle. Returns its expression, and whether that is new.
    ///
    /// # Errors
    /// If none is guarded.
    pub fn roll_back(&mut self, by: &DecisionAuthor) -> Result<(String, bool), NotNow> {
        let ImproveStep::Guard(attempt) = &self.step else {
            return Err(match &self.asked {
                Some(_) => {
                    NotNow::because("the promotion waits for the next cycle", "hold the loop to drop it")
                }
                None => NotNow::because(
                    "no promoted formula is guarded",
                    "recrawl formula rollback goes back to an earlier one",
                ),
            });
        };
        let expression = attempt.candidate.expression.clone();
        Ok((expression, self.ask(AskedFor::RollBack, by)))
    }

    /// Notes the decision; false if it is noted already.
    fn ask(&mut self, what: AskedFor, by: &DecisionAuthor) -> bool {
        let is_new = self.asked.is_none();
        if is_new {
            self.asked = Some(Asked { what, who: by.who.clone(), at: by.at });
        }
        is_new
    }

    /// Holds the loop, or lets it go on; false if it is so already. A shadow run, a trial or a guard ends, and decisions
    /// that wait are dropped; what is in force stays, and so does a proposed candidate.
    pub fn hold(&mut self, is_held: bool, by: &DecisionAuthor) -> bool {
        if self.is_held == is_held {
            return false;
        }
        self.is_held = is_held;
        let ended = match &self.step {
            ImproveStep::Shadow(_) | ImproveStep::Trial(_) | ImproveStep::Guard(_) if is_held => {
                std::mem::take(&mut self.step)
            }
            _ => ImproveStep::Idle,
        };
        if is_held {
            self.asked = None;
        }
        let what = if is_held { LoopEventKind::Held } else { LoopEventKind::Released };
        let candidate = ended.attempt().map(|attempt| &attempt.candidate);
        self.happened((by.cycle, by.at), what, candidate, format!("by {}", by.who));
        true
    }

    /// Carries out what was decided for this cycle.
    pub(super) fn carry_out(&mut self, now: &CycleStart<'_>, rules: &LoopRules) {
        let Some(Asked { what, who, .. }) = self.asked.take() else { return };
        match (what, std::mem::take(&mut self.step)) {
            (AskedFor::Promote, ImproveStep::Proposed(mut attempt) | ImproveStep::Shadow(mut attempt)) => {
                // The cycles before tell more than a trial that has ended.
                attempt.trial_since = None;
                self.put_in_force(now.cycle, now.at, attempt, format!("promoted by {who}"));
            }
            (AskedFor::RollBack, ImproveStep::Guard(attempt)) => {
                self.take_back(now.cycle, now.at, rules, attempt, format!("taken back by {who}"));
            }
            // A plan that failed has ended the step since.
            (_, other) => self.step = other,
        }
    }
}
