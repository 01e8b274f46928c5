//! `recrawl improve history|hold|release|promote|rollback`: what the loop did, and what an operator decides of it.

use crate::cli::Where;
use crate::command::{counted, print_json, print_labelled};
use crate::process::clock;
use crate::turn::Turn;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::improve::steps::{LoopState, Step};
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_types::Cycle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What an operator decides.
#[derive(Clone, Copy)]
pub enum Decision {
    Hold,
    Release,
    Promote,
    RollBack,
}

/// # Errors
/// When the state cannot be read.
pub fn history(at: &Where, as_json: bool) -> Result<(), Failure> {
    let settings = at.settings()?;
    let _turn = Turn::alone(&settings.data_dir)?;
    let state = LoopState::read(&StoppedCrawl::open(&settings)?.tables)?;
    if as_json {
        return print_json(&state);
    }
    let step = match &state.step {
        Step::Idle if state.is_held => "held".to_owned(),
        Step::Idle => "nothing is tried".into(),
        Step::Shadow(attempt) => format!(
            "since cycle {}, {} is scored beside the formula in force",
            attempt.since, attempt.candidate.expression
        ),
        Step::Proposed(attempt) => {
            format!("{} waits for an operator: recrawl improve promote", attempt.candidate.expression)
        }
        Step::Trial(attempt) => format!(
            "since cycle {}, {} is tried on some sites",
            attempt.trial_since, attempt.candidate.expression
        ),
        Step::Guard(attempt) => {
            format!("since cycle {}, {} is in force and guarded", attempt.since, attempt.candidate.expression)
        }
    };
    print_labelled(format!("step       {step}"))?;
    print_labelled(format!(
        "tries      {} since the last promotion",
        counted(state.tries.into(), "candidate")
    ))?;
    state.events.iter().try_for_each(|event| {
        let at = clock::precise(UNIX_EPOCH + Duration::from_millis(event.at));
        let what = serde_json::to_value(event.what).map_err(Failure::work)?;
        let what = what.as_str().unwrap_or_default().replace('_', " ");
        let of = if event.candidate.is_empty() { String::new() } else { format!(" {}", event.candidate) };
        print_labelled(format!("cycle {}  {at} {what}{of}: {}", event.cycle, event.why))
    })
}

/// # Errors
/// When the state cannot be read or written, or the decision does not apply: why, and what to do.
pub fn decide(at: &Where, decision: Decision) -> Result<(), Failure> {
    let settings = at.settings()?;
    let Some(rules) = settings.loop_rules else {
        let text = "nothing is tried; set improve.mode to \"propose\" or \"promote\"";
        return Err(Failure::Usage(text.into()));
    };
    let _turn = Turn::alone(&settings.data_dir)?;
    let stopped = StoppedCrawl::open(&settings)?;
    let mut state = LoopState::read(&stopped.tables)?;
    let cycle = Cycle(stopped.repository.current().cycle().0 + 1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let refused = |why: String| Failure::Work(why);
    let told = match decision {
        Decision::Hold => {
            state.hold(true);
            "held: nothing is tried until recrawl improve release".to_owned()
        }
        Decision::Release => {
            state.hold(false);
            "released: the loop goes on with the next cycle".into()
        }
        Decision::Promote => {
            format!("{}: in force from the next cycle on", state.promote(cycle, now).map_err(refused)?)
        }
        Decision::RollBack => {
            let taken = state.roll_back(cycle, now, &rules).map_err(refused)?;
            format!("{taken}: taken back; the formula before is in force from the next cycle on")
        }
    };
    state.keep(&stopped.tables)?;
    stopped.tables.flush()?;
    print_labelled(told)
}
