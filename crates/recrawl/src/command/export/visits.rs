//! `recrawl export visits`: the kept visits as JSON lines, for learning and for back-tests. docs/formats.md
//! describes a line under "Exported visits".

use super::Lines;
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use recrawl_repository::KeptVisit;
use recrawl_types::{Change, Cycle, Outcome, Share, Site};
use serde::Serialize;
use std::path::Path;

/// A visit as it is written. The order of the fields is that of the line.
#[derive(Serialize)]
struct Line {
    cycle: Cycle,
    time: u64,
    url: String,
    site: String,
    outcome: &'static str,
    changed: Option<bool>,
    share: &'static str,
    probability: Option<f64>,
}

/// Writes all kept visits in the order of cycles, those of a cycle in the order of URLs.
///
/// # Errors
/// When none are kept, they cannot be read, or `out` cannot be written.
pub fn export(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let cycles = repository.kept_cycles().map_err(Failure::work)?;
    if cycles.is_empty() {
        return Err(Failure::Work(format!(
            "data directory {}: no visits are kept; set storage.keep_visits above 0 and run a cycle",
            settings.data_dir.display()
        )));
    }
    for pair in cycles.windows(2).filter(|pair| pair[0].next() != pair[1]) {
        tracing::warn!(after = %pair[0], before = %pair[1], "the visits of the cycles between are not there");
    }
    let mut lines = Lines::create(out)?;
    for cycle in cycles {
        let Some(mut visits) = repository.kept_visits(cycle).map_err(Failure::work)? else {
            tracing::warn!(%cycle, "a commit has just removed the visits of this cycle");
            continue;
        };
        while let Some(visit) = visits.next_visit().map_err(Failure::work)? {
            let line = serde_json::to_string(&Line::of(cycle, &visit)).map_err(Failure::work)?;
            if !lines.write(line)? {
                return Ok(());
            }
        }
    }
    lines.finish("visits")
}

impl Line {
    fn of(cycle: Cycle, visit: &KeptVisit) -> Line {
        let (share, probability) = match visit.share {
            Share::Score => ("score", None),
            Share::Discovery => ("discovery", None),
            Share::Warmup => ("warmup", None),
            Share::Audit(probability) => ("audit", Some(probability)),
            Share::Followed => ("followed", None),
            Share::Announced => ("announced", None),
        };
        Line {
            cycle,
            time: visit.at,
            url: visit.url.to_string(),
            site: Site::of(&visit.url).to_string(),
            outcome: outcome_name(visit.outcome),
            changed: match visit.outcome.change() {
                Some(Change::Changed) => Some(true),
                Some(Change::Unchanged) => Some(false),
                Some(Change::First | Change::Undecided) | None => None,
            },
            share,
            probability,
        }
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Fetched(_) => "fetched",
        Outcome::NotModified => "not_modified",
        Outcome::Redirected(_) => "redirected",
        Outcome::NotFound(_) => "not_found",
        Outcome::Failed(_) => "failed",
        Outcome::RobotsDenied => "robots_denied",
        Outcome::RobotsUnreachable => "robots_unreachable",
        Outcome::RefusedAddress => "refused_address",
        Outcome::Skipped(_) => "skipped",
    }
}
