//! The history of the loop, and all that is known of a candidate.

use super::loop_status;
use recrawl_console::view::{CandidateDocument, CandidateState, EventList, HistoryQuery, LoopEvent, Refusal};
use recrawl_crawl::parts::improve::candidate::FormulaCandidate;
use recrawl_crawl::parts::improve::steps::{CandidateEvent, LoopState};
use recrawl_formula::Formula;

/// The events with their numbers, newest first.
pub fn events(state: &LoopState) -> impl Iterator<Item = (u64, LoopEvent)> {
    (state.forgotten..)
        .zip(&state.events)
        .map(|(number, told)| (number, event(told)))
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
}

fn event(event: &CandidateEvent) -> LoopEvent {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    LoopEvent {
        cycle: event.cycle.0.into(),
        at: event.at,
        what: event.what,
        candidate: some(&event.candidate),
        id: some(&event.id),
        why: event.why.clone(),
    }
}

/// A part of the history. The cursor is the number of the last event told.
///
/// # Errors
/// When the cursor is unknown.
pub fn list(state: &LoopState, ask: &HistoryQuery) -> Result<EventList, Refusal> {
    let unknown = || Refusal::invalid("cursor", "unknown cursor", "use the `next` of the previous response");
    let before = match &ask.cursor {
        None => u64::MAX,
        Some(cursor) => cursor.parse().map_err(|_| unknown())?,
    };
    let mut left = events(state).filter(|(number, _)| *number < before);
    let part: Vec<(u64, LoopEvent)> = left.by_ref().take(ask.limit).collect();
    let next = left.next().and(part.last()).map(|(number, _)| number.to_string());
    Ok(EventList { events: part.into_iter().map(|(_, event)| event).collect(), next })
}

/// All that is known of a candidate; none of an unknown one.
pub fn document(state: &LoopState, waiting: Option<FormulaCandidate>, id: &str) -> Option<CandidateDocument> {
    let attempt = state.step.attempt().filter(|attempt| attempt.candidate.id() == id);
    let waiting = waiting.filter(|candidate| candidate.id() == id);
    let quarantined_until =
        state.quarantine.iter().find(|(failed, _)| failed == id).map(|(_, until)| until.0.into());
    let events: Vec<LoopEvent> =
        events(state).map(|(_, event)| event).filter(|event| event.id.as_deref() == Some(id)).collect();
    let state = match (&attempt, &waiting, quarantined_until) {
        (Some(_), ..) => CandidateState::Tried,
        (_, Some(_), _) => CandidateState::Waiting,
        (_, _, Some(_)) => CandidateState::Quarantined,
        _ if events.is_empty() => return None,
        _ => CandidateState::Past,
    };
    let candidate = attempt.map(|attempt| &attempt.candidate).or(waiting.as_ref());
    Some(CandidateDocument {
        id: id.into(),
        state,
        candidate: candidate.map(loop_status::candidate),
        formula: candidate.map(|candidate| candidate.formula_toml.clone()),
        beside: attempt
            .and_then(|attempt| Formula::from_toml(&attempt.in_force).ok())
            .map(|f| f.expr.to_string()),
        quarantined_until,
        events,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::parts::improve::steps::DecisionAuthor;
    use recrawl_types::Cycle;

    #[test]
    fn parts_of_the_history_join_also_while_events_are_forgotten() {
        let mut state = LoopState::default();
        let toggle = |state: &mut LoopState, cycle: u32| {
            let by = DecisionAuthor { who: "anna".into(), cycle: Cycle(cycle), at: 0 };
            state.hold(!state.is_held, &by);
        };
        (1..=230).for_each(|cycle| toggle(&mut state, cycle));
        let part = |state: &LoopState, cursor: Option<String>| {
            let part = list(state, &HistoryQuery { cursor, limit: 90 }).unwrap();
            (part.events.iter().map(|event| event.cycle).collect::<Vec<_>>(), part.next)
        };
        let (first, next) = part(&state, None);
        assert_eq!((first[0], first[89]), (230, 141));
        toggle(&mut state, 231);
        let (second, next) = part(&state, next);
        assert_eq!((second[0], second[89]), (140, 51));
        let (third, next) = part(&state, next);
        assert_eq!((third.first(), third.last(), next), (Some(&50), Some(&32), None));
        assert!(list(&state, &HistoryQuery { cursor: Some("x".into()), limit: 1 }).is_err());
        assert_eq!(document(&state, None, "ff"), None);
        assert_eq!(document(&state, None, ""), None, "events of no candidate");
    }
}
