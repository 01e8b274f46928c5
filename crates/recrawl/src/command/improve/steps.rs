//! `recrawl improve history`: the steps of the loop, by the running daemon, or else from the data directory.

use crate::cli::OnCrawl;
use crate::command::{counted, print_json, print_labelled};
use crate::daemon::{Daemon, ReadsApi};
use crate::report::{loop_events, loop_status};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::parts::improve::candidate::FormulaCandidate;
use recrawl_crawl::parts::improve::steps::LoopState;
use recrawl_crawl::settings::Settings;
use recrawl_terminal::clock;
use serde::Serialize;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

/// The loop and its events, as the API of the console has them.
#[derive(Serialize)]
struct LoopHistory {
    /// Null if `improve.mode` tries nothing.
    #[serde(rename = "loop")]
    stands: Value,
    /// Newest first.
    events: Vec<Value>,
}

impl LoopHistory {
    fn of_daemon(daemon: &Daemon) -> Result<LoopHistory, Failure> {
        let missing = || {
            Failure::Work("the answer of the daemon has no history; is the daemon of another version?".into())
        };
        let mut improve = daemon.json("/api/v1/improve")?.ok_or_else(missing)?;
        let (mut events, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut list =
                daemon.json(&format!("/api/v1/improve/history?limit=1000{cursor}"))?.ok_or_else(missing)?;
            if let Value::Array(part) = list["events"].take() {
                events.extend(part);
            }
            match list["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(LoopHistory { stands: improve["loop"].take(), events }),
            }
        }
    }

    fn of_stopped(settings: &Settings) -> Result<LoopHistory, Failure> {
        let stopped = StoppedCrawl::open(settings)?;
        let state = LoopState::read(&stopped.tables)?;
        let cycle = stopped.repository.current().cycle();
        let waiting = FormulaCandidate::read(&settings.data_dir);
        let stands =
            settings.loop_rules.map(|rules| loop_status::from_state(&state, &rules, cycle, waiting, None));
        let value = |event| serde_json::to_value(event).map_err(Failure::work);
        Ok(LoopHistory {
            stands: serde_json::to_value(stands).map_err(Failure::work)?,
            events: loop_events::events(&state).map(|(_, event)| value(event)).collect::<Result<_, _>>()?,
        })
    }

    /// The step in words.
    fn step(&self) -> String {
        let stands = &self.stands;
        let expression = stands["candidate"]["expression"].as_str().unwrap_or_default();
        let since = format!("since cycle {}", stands["since"]);
        match stands["step"].as_str() {
            None => "nothing is tried; set improve.mode to \"propose\" or \"promote\"".into(),
            Some("shadow") => format!("{since}, {expression} is scored beside the formula in force"),
            Some("proposed") => format!("{expression} waits for an operator: recrawl improve promote"),
            Some("trial") => format!("{since}, {expression} is tried on some sites"),
            Some("guard") => format!("{since}, {expression} is in force and guarded"),
            Some(_) if stands["is_held"] == true => "held".into(),
            Some(_) => "nothing is tried".into(),
        }
    }
}

/// # Errors
/// When the state cannot be read.
pub fn history(on: &OnCrawl) -> Result<(), Failure> {
    let settings = on.at.settings()?;
    let history = match Daemon::in_charge(&settings.data_dir)? {
        Some(daemon) => LoopHistory::of_daemon(&daemon)?,
        None => LoopHistory::of_stopped(&settings)?,
    };
    if on.json {
        return print_json(&history);
    }
    print_labelled(format!("step       {}", history.step()))?;
    for what in history.stands["needs"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        print_labelled(format!("next       {what}"))?;
    }
    if let Some(tries) = history.stands["tries"].as_u64() {
        print_labelled(format!("tries      {} since the last promotion", counted(tries, "candidate")))?;
    }
    history.events.iter().rev().try_for_each(|event| print_labelled(event_text(event)))
}

fn event_text(event: &Value) -> String {
    let at = clock::precise(UNIX_EPOCH + Duration::from_millis(event["at"].as_u64().unwrap_or_default()));
    let what = event["what"].as_str().unwrap_or_default().replace('_', " ");
    let of = event["candidate"].as_str().map(|candidate| format!(" {candidate}")).unwrap_or_default();
    format!("cycle {}  {at} {what}{of}: {}", event["cycle"], event["why"].as_str().unwrap_or_default())
}
