//! Decisions of operators about the loop of `improve`.

use super::{failure, logged, unplanned_cycle};
use crate::audit::COMMAND_LINE;
use recrawl_console::view::{Accepted, Change, Effect, Refusal};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::parts::improve::steps::{DecisionAuthor, LoopState, NotNow};
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_fetcher::system_clock;

/// Why nothing can be decided.
pub const NOTHING_TRIED: &str = "nothing is tried";
/// What to do about it.
pub const SET_THE_MODE: &str = "set improve.mode to \"propose\" or \"promote\"";

/// Changes the state, also of a stopped crawl.
///
/// # Panics
/// At other kinds of changes.
pub fn decide(
    state: &mut LoopState,
    settings: &Settings,
    change: &Change,
    by: &DecisionAuthor,
) -> Result<Accepted, Refusal> {
    let cycle = by.cycle;
    let not_now = |NotNow { why, todo }| Refusal::conflict(why, todo);
    let asked = |(expression, is_new): (String, bool), what: &str| Accepted {
        did: if is_new { Effect::NextCycle } else { Effect::Already },
        detail: format!("{expression}: {what} from cycle {cycle} on"),
    };
    let at_once = |is_new: bool, done: &str, already: &str| match is_new {
        true => Accepted { did: Effect::Done, detail: done.into() },
        false => Accepted { did: Effect::Already, detail: already.into() },
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
            let in_force = formula_file::in_force(settings).map_err(Refusal::failed)?;
            asked(state.promote(&in_force, by).map_err(not_now)?, "in force")
        }
        Change::RollBackCandidate => {
            asked(state.roll_back(by).map_err(not_now)?, "taken back; the formula before is in force")
        }
        other => unreachable!("{other} is no decision of the loop"),
    })
}

/// Decides in a stopped crawl, by a command.
///
/// # Errors
/// When the state cannot be read or written, or the decision does not apply: why, and what to do.
pub fn make_stopped(settings: &Settings, change: &Change) -> Result<Accepted, Failure> {
    if settings.loop_rules.is_none() {
        return Err(Failure::Usage(format!("{NOTHING_TRIED}; {SET_THE_MODE}")));
    }
    let stopped = StoppedCrawl::open(settings)?;
    let cycle = unplanned_cycle(&stopped)?;
    let by = DecisionAuthor { who: COMMAND_LINE.into(), at: system_clock()(), cycle };
    logged(settings, change, || {
        let mut state = LoopState::read(&stopped.tables)?;
        let made = decide(&mut state, settings, change, &by).map_err(failure)?;
        state.keep(&stopped.tables)?;
        stopped.tables.flush()?;
        Ok(made)
    })
}
