//! A made-up loop in the middle of a trial, and its routes.

use super::client::served;
use super::crawl::NOW;
use crate::view::*;
use serde_json::json;

/// Id of the only candidate.
const ID: &str = "0af3";

pub fn improve() -> Improve {
    let estimate = |share: f64| Estimate { share, low: share - 0.02, high: share + 0.02, pages: 1200 };
    let found = FoundBeside { visits: 900, changed: 300, expected: 310.5 };
    let stands = Loop {
        step: LoopStep::Trial,
        since: Some(80),
        ends: Some(136),
        needs: vec!["28 more cycles are measured.".into()],
        is_held: false,
        asked: None,
        candidate: Some(learned()),
        waiting: None,
        refused: None,
        beside: Some("t * X".into()),
        shadow: Some(ShadowSoFar { cycles: 7, overlap: Some(0.6), gain: None }),
        trial: Some(TrialSoFar {
            phase: Some(TrialPhase::Measured),
            candidate_from: 94,
            measured_from: 108,
            part: 0.1,
            effect: Some(Difference { value: 0.01, low: -0.03, high: 0.05, pages: 900 }),
            pages_needed: Some(1600),
            arms: vec![Arms { cycle: 108, candidate: Some(estimate(0.84)), control: None }],
        }),
        tries: 2,
        alpha: 0.05 / 12.0,
        quarantine: vec![Quarantined { id: "77".into(), until: 190 }],
        rests_until: None,
        alarm: Some(105),
        learner: LearnerNow {
            running_since: Some(NOW - 60_000),
            cpu_seconds: 12.5,
            cycles_since: 3,
            next: 112,
            ..LearnerNow::default()
        },
        terms: LoopTerms { every: 7, ..LoopTerms::default() },
    };
    Improve {
        mode: ImproveMode::Promote,
        todo: None,
        watch: Some(Watch {
            cycles: 90,
            last: 108,
            pooled: 28,
            freshness: Some(estimate(0.83)),
            pages: 1200,
            pages_needed: 100,
            pages_for_two_points: Some(1290),
            score: found,
            audit: found,
            drift: DriftWatch {
                below: 1.5,
                limit: 5.0,
                alarm: Some(DriftAlarm { cycle: 105, changes: MoreOrFewer::More }),
                ..DriftWatch::default()
            },
            population: PopulationWatch {
                cycles_needed: 48,
                change_rate: Some(Stability { index: 0.04, limit: 0.25 }),
                depth: Some(Stability { index: 0.01, limit: 0.25 }),
                has_moved: Some(false),
            },
        }),
        cycles: vec![CycleFreshness { cycle: 108, ended: 1_790_000_000_000, freshness: None }],
        stands: Some(stands),
    }
}

fn learned() -> Candidate {
    let scored = |name: &str| Scored { name: name.into(), value: 0.2 };
    Candidate {
        id: ID.into(),
        name: "learned-here".into(),
        expression: "t * p_eb".into(),
        cycle: 70,
        back_test: BackTest {
            fitness: "change_rate".into(),
            in_force: scored("default"),
            candidate: 0.22,
            closed_forms: vec![scored("p_eb_site")],
            gain_low: 0.01,
            gain_high: 0.03,
            alpha: 0.025,
            coverage: Split { in_force: 0.9, candidate: 0.95 },
            pages: 1000,
            groups: 80,
            cycles: 60,
        },
    }
}

fn event(at: u64) -> LoopEvent {
    LoopEvent {
        cycle: at,
        at: NOW,
        what: LoopEventKind::Shadowed,
        candidate: Some("t * p_eb".into()),
        id: Some(ID.into()),
        why: "gain 0.01 to 0.03 in the back-test".into(),
    }
}

/// Five events.
pub fn history(ask: &HistoryQuery) -> Result<EventList, Refusal> {
    let before = match &ask.cursor {
        None => 5,
        Some(cursor) => cursor.parse().map_err(|_| {
            Refusal::invalid("cursor", "unknown cursor", "use the `next` of the previous response")
        })?,
    };
    let events: Vec<LoopEvent> = (0..before).rev().take(ask.limit).map(event).collect();
    let next = events.last().filter(|last| last.cycle > 0).map(|last| last.cycle.to_string());
    Ok(EventList { events, next })
}

pub fn candidate(id: &str) -> Result<CandidateDocument, Refusal> {
    if id != ID {
        return Err(Refusal::NotFound(format!("{id}: unknown candidate")));
    }
    Ok(CandidateDocument {
        id: id.into(),
        state: CandidateState::Tried,
        candidate: Some(learned()),
        formula: None,
        beside: Some("t * X".into()),
        quarantined_until: None,
        events: vec![event(71)],
    })
}

pub fn computing() -> Computing {
    Computing { state: ComputingState::Computing, cycle: 108, since: NOW }
}

pub fn savings() -> Savings {
    let missing = Missing { what: "audited pages".into(), there: 12, needed: 100 };
    let basis = ForecastBasis { cycle: 108, missing: vec![missing], ..ForecastBasis::default() };
    Savings { basis, plain: None, bytes_a_visit: None }
}

#[test]
fn the_history_comes_in_parts_that_join() {
    let served = served();
    let part = |query: &str| served.get(&format!("/api/v1/improve/history?limit=2{query}")).json();
    let cycles = |part: &serde_json::Value| -> Vec<u64> {
        part["events"].as_array().unwrap().iter().map(|event| event["cycle"].as_u64().unwrap()).collect()
    };
    let first = part("");
    assert_eq!((cycles(&first), &first["next"]), (vec![4, 3], &json!("3")));
    let last = part("&cursor=1");
    assert_eq!((cycles(&last), &last["next"]), (vec![0], &json!(null)));
    for wrong in ["?cursor=x", "?limit=0", "?last=3"] {
        let refused = served.get(&format!("/api/v1/improve/history{wrong}"));
        assert_eq!((refused.status, refused.problem().as_str()), (422, "invalid"), "{wrong}");
    }
}

#[test]
fn what_does_not_apply_now_is_a_conflict_that_says_what_to_do() {
    let served = served();
    let refused = served.change("POST", "/api/v1/improve/promote", "");
    assert_eq!((refused.status, refused.problem().as_str()), (409, "conflict"));
    assert_eq!(refused.json()["detail"], "its trial runs");
    assert_eq!(refused.json()["todo"], "wait for its end, or hold the loop to end it");
    let unknown = served.get("/api/v1/improve/candidates/ff");
    assert_eq!((unknown.status, unknown.problem().as_str()), (404, "not-found"));
}

#[test]
fn a_forecast_that_is_computed_says_so_and_one_without_enough_says_what_is_missing() {
    let served = served();
    let computing = served.get("/api/v1/whatif");
    assert_eq!(computing.status, 202);
    assert_eq!(computing.json(), json!({"state": "computing", "cycle": 108, "since": NOW}));
    let saved = served.get("/api/v1/savings").json();
    assert_eq!(
        (&saved["state"], &saved["enough"], &saved["plain"]),
        (&json!("ready"), &json!(false), &json!(null))
    );
    assert_eq!(saved["missing"], json!([{"what": "audited pages", "there": 12, "needed": 100}]));
}
