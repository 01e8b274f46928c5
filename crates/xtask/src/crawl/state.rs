//! State between two runs of `make crawl`: recording, port, and earlier turns.

use super::error::CrawlError;
use super::mockweb::{MeasuredFreshness, Violations};
use super::plan::CyclePhase;
use super::report::Report;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// The content of `state.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct XtaskState {
    /// The replayed data set; none for the bundled one.
    pub recording: Option<String>,
    /// The mock web's port. It is part of every URL, so it stays.
    pub port: u16,
    /// Every cycle, in order.
    pub turns: Vec<CycleEnd>,
}

/// One cycle at one clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleEnd {
    /// Phase.
    pub phase: CyclePhase,
    /// The mock web's clock.
    pub clock: u32,
    /// Report of the crawler.
    pub report: Report,
    /// Freshness of the crawler's copy after the cycle, by the truth.
    pub freshness: MeasuredFreshness,
    /// Violations in this cycle.
    pub violations: Violations,
}

impl XtaskState {
    /// The state in `file`, or none when there is no such file.
    pub fn read(file: &Path) -> Result<Option<XtaskState>, CrawlError> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(CrawlError::file(file, e)),
        };
        match serde_json::from_str(&text) {
            Ok(state) => Ok(Some(state)),
            Err(e) => Err(CrawlError::file(file, format!("{e}; to start over, run `make crawl CLEAN=1`"))),
        }
    }

    /// Writes the state atomically: to a file next to `file`, then renames it.
    pub fn write(&self, file: &Path) -> Result<(), CrawlError> {
        let text = serde_json::to_string_pretty(self).expect("a state is plain data");
        let new = file.with_extension("json.new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, file)).map_err(|e| CrawlError::file(file, e))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A turn that found nothing.
    pub fn turn(phase: CyclePhase, clock: u32) -> CycleEnd {
        let report = Report {
            cycle: clock + 1,
            scheduled: 0,
            fetched: 0,
            first_visits: 0,
            warmup_visits: 0,
            changed: 0,
            failed: 0,
            never_tried: 0,
            score_visits: 0,
            score_changed: 0,
            change_rate: None,
            seconds: 0.5,
        };
        CycleEnd {
            phase,
            clock,
            report,
            freshness: MeasuredFreshness::default(),
            violations: Violations::default(),
        }
    }

    #[test]
    fn a_state_comes_back_from_its_file() {
        let folder = std::env::temp_dir().join(format!("recrawl-xtask-state-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("state.json");
        assert_eq!(XtaskState::read(&file).expect("no file is no error"), None);
        let state = XtaskState { recording: None, port: 8418, turns: vec![turn(CyclePhase::Scored, 3)] };
        state.write(&file).expect("written");
        assert_eq!(XtaskState::read(&file).expect("read"), Some(state));
        fs::write(&file, "{").expect("written");
        let error = XtaskState::read(&file).expect_err("no JSON").to_string();
        assert!(error.contains("state.json") && error.contains("CLEAN=1"), "{error}");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
