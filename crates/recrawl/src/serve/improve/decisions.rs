//! What operators decide of the loop: hold it, let it go on, promote, roll back, learn now.

use crate::action::improve::{NOTHING_TRIED, SET_THE_MODE, decide};
use crate::serve::shared_state::SharedState;
use recrawl_console::view::{Accepted, Actor, Change, Effect, Refusal};
use recrawl_crawl::parts::improve::steps::{DecisionAuthor, ImproveStep};

/// Makes a change of the loop. It is stored when this returns.
pub fn make(shared: &SharedState, change: &Change, who: &Actor) -> Result<Accepted, Refusal> {
    let settings = shared.settings();
    if settings.loop_rules.is_none() {
        return Err(Refusal::conflict(NOTHING_TRIED, SET_THE_MODE));
    }
    if *change == Change::LearnNow {
        return learn_now(shared);
    }
    let by = DecisionAuthor { who: who.name.clone(), at: shared.now(), cycle: shared.unplanned_cycle() };
    let accepted =
        shared.store.change(|state| decide(state, &settings, change, &by)).map_err(Refusal::failed)?;
    shared.refresh_loop().map_err(Refusal::failed)?;
    accepted
}

/// Asks the crawl thread to begin learning.
fn learn_now(shared: &SharedState) -> Result<Accepted, Refusal> {
    let state = shared.store.read().map_err(Refusal::failed)?;
    if state.is_held {
        return Err(Refusal::conflict("an operator holds the loop", "release it first"));
    }
    if !matches!(state.step, ImproveStep::Idle | ImproveStep::Proposed(_)) {
        return Err(Refusal::conflict(
            "a candidate is tried",
            "wait for its end, or hold the loop to end it",
        ));
    }
    if !shared.learner.ask() {
        return Ok(Accepted { did: Effect::Already, detail: "a formula is already being learned".into() });
    }
    shared.wake();
    let when = if shared.live.now().is_some() { "after the running round" } else { "within seconds" };
    Ok(Accepted { did: Effect::NextRound, detail: format!("learning begins {when}") })
}
