//! `--changed-since`: only pages that are new or have changed.

use crate::cli::since_1970;
use crate::command::show::now;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::report::RoundReport;
use recrawl_repository::Repository;
use recrawl_types::{Cycle, PageRecord};
use std::time::Duration;

/// Chooses pages by the cycle of their last change.
pub struct ChangedSince(Option<Cycle>);

impl ChangedSince {
    /// Everything without an argument; else what changed in the cycle that the time is in, or later.
    ///
    /// # Errors
    /// When the argument is no time, or the reports cannot be read.
    pub fn parse(argument: Option<&str>, repository: &Repository) -> Result<ChangedSince, Failure> {
        let Some(text) = argument else { return Ok(ChangedSince(None)) };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let since = match humantime::parse_duration(text) {
            Ok(age) => Some(now().saturating_sub(milliseconds(age))),
            Err(_) => since_1970(text).map(milliseconds),
        };
        let since = since.ok_or_else(|| {
            let what = "write an age (7d), a day (2026-01-31) or a time (2026-01-31T12:00:00Z)";
            Failure::Usage(format!("--changed-since {text}: {what}"))
        })?;
        let mut reports = repository.reports().map_err(Failure::work)?;
        while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
            let report: RoundReport = serde_json::from_slice(bytes).map_err(Failure::work)?;
            if report.ended() >= since {
                return Ok(ChangedSince(Some(Cycle(report.cycle))));
            }
        }
        Ok(ChangedSince(Some(Cycle(u32::MAX))))
    }

    pub fn admits(&self, record: &PageRecord) -> bool {
        let changed =
            record.visited.as_ref().map(|visited| visited.history.first.max(visited.history.last_change));
        self.0.is_none_or(|since| changed.is_some_and(|changed| changed >= since))
    }
}
