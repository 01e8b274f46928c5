//! `--changed-since`: only pages that are new or have changed.

use crate::cli::PastTime;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::report::RoundReport;
use recrawl_repository::Repository;
use recrawl_types::{Cycle, PageRecord};

/// Chooses pages by the cycle of their last change.
pub struct ChangedSince(Option<Cycle>);

impl ChangedSince {
    /// Everything without an argument; else what changed in the cycle that the time is in, or later.
    ///
    /// # Errors
    /// When the reports cannot be read.
    pub fn read(since: Option<PastTime>, repository: &Repository) -> Result<ChangedSince, Failure> {
        let Some(since) = since else { return Ok(ChangedSince(None)) };
        let mut reports = repository.reports().map_err(Failure::work)?;
        while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
            let report: RoundReport = serde_json::from_slice(bytes).map_err(Failure::work)?;
            if report.ended() >= since.begin_millis() {
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
