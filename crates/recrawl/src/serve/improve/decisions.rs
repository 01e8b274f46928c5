//! What operators decide of the loop: hold it, let it go on, promote, roll back, learn now.

use crate::serve::formulas;
use crate::serve::shared_state::SharedState;
use crate::serve::view::failed;
use recrawl_console::view::{Accepted, Change, Did, Refusal, Who};
use recrawl_crawl::parts::improve::steps::{LoopState, NotNow, Operator, Step};
use recrawl_crawl::settings::{Settings, formula_file};

/// Why nothing can be decided.
pub const NOTHING_TRIED: &str = "nothing is tried";
/// What to do about it.
pub const SET_THE_MODE: &str = "set improve.mode to \"propose\" or \"promote\"";

/// Makes a change of the loop. It is stored when this returns.
pub fn make(shared: &SharedState, change: &Change, who: &Who) -> Result<Accepted, Refusal> {
    let settings = shared.settings();
    if settings.loop_rules.is_none() {
        return Err(Refusal::conflict(NOTHING_TRIED, SET_THE_MODE));
    }
    if *change == Change::LearnNow {
        return learn_now(shared);
    }
    let by = Operator { who: who.name.clone(), at: shared.now(), cycle: formulas::unplanned_cycle(shared) };
    let accepted = shared.store.change(|state| decide(state, &settings, change, &by)).map_err(failed)?;
    shared.improving.refresh(shared).map_err(failed)?;
    accepted
}

/// Changes the state, also of a stopped crawl.
///
/// # Panics
/// At other kinds of changes.
pub fn decide(
    state: &mut LoopState,
    settings: &Settings,
    change: &Change,
    by: &Operator,
) -> Result<Accepted, Refusal> {
    let cycle = by.cycle;
    let not_now = |NotNow { why, todo }| Refusal::conflict(why, todo);
    let asked = |(expression, is_new): (String, bool), what: &str| Accepted {
        did: if is_new { Did::NextCycle } else { Did::Already },
        detail: format!("{expression}: {what} from cycle {cycle} on"),
    };
    let at_once = |is_new: bool, done: &str, already: &str| match is_new {
        true => Accepted { did: Did::Done, detail: done.into() },
        false => Accepted { did: Did::Already, detail: already.into() },
    };
    Ok(match change {
        Change::HoldLoop => at_once(
            state.hold(true, by),
            "held: nothing is tried until the loop is released",
            "the loop is already held",
        ),
        Change::ReleaseLoop => at_once(
            state.hold(false, by),
            "released: the loop goes on with the next cycle",
            "the loop is not held",
        ),
        Change::PromoteCandidate => {
            let in_force = formula_file::in_force(settings).map_err(failed)?;
            asked(state.promote(&in_force, by).map_err(not_now)?, "in force")
        }
        Change::RollBackCandidate => {
            asked(state.roll_back(by).map_err(not_now)?, "taken back; the formula before is in force")
        }
        other => unreachable!("{other} is no decision of the loop"),
    })
}

/// Asks the crawl thread to begin learning.
fn learn_now(shared: &SharedState) -> Result<Accepted, Refusal> {
    let state = shared.store.read().map_err(failed)?;
    if state.is_held {
        return Err(Refusal::conflict("an operator holds the loop", "release it first"));
    }
    if !matches!(state.step, Step::Idle | Step::Proposed(_)) {
        return Err(Refusal::conflict(
            "a candidate is tried",
            "wait for its end, or hold the loop to end it",
        ));
    }
    if !shared.learner.ask() {
        return Ok(Accepted { did: Did::Already, detail: "a formula is already being learned".into() });
    }
    shared.wake();
    let when = if shared.live.now().is_some() { "after the running round" } else { "within seconds" };
    Ok(Accepted { did: Did::NextRound, detail: format!("learning begins {when}") })
}
