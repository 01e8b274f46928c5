//! `recrawl export cycles` and `recrawl export rounds`: the reports of all that is committed.

use super::lines::CountedLines;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use std::collections::VecDeque;
use std::path::Path;

/// Writes a line of JSON for each round, oldest first, as printed by `recrawl crawl --json`.
///
/// # Errors
/// When the reports cannot be read, or `out` cannot be written.
pub fn export_rounds(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut lines = CountedLines::create(out)?;
    while let Some(report) = reports.next_report().map_err(Failure::work)? {
        if !lines.write(std::str::from_utf8(report).map_err(Failure::work)?)? {
            return Ok(());
        }
    }
    lines.finish("rounds")
}

/// Writes a line of JSON for each cycle, oldest first: the reports of its rounds, added up.
///
/// # Errors
/// As of [`export_rounds`].
pub fn export(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut lines = CountedLines::create(out)?;
    let mut cycles = VecDeque::new();
    while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
        let round = serde_json::from_slice(bytes).map_err(Failure::work)?;
        open_read::add_round(&mut cycles, round, usize::MAX);
        // Only the last one may go on.
        if cycles.len() > 1
            && let Some(cycle) = cycles.pop_front()
            && !write(&mut lines, &cycle)?
        {
            return Ok(());
        }
    }
    if let Some(cycle) = cycles.pop_front()
        && !write(&mut lines, &cycle)?
    {
        return Ok(());
    }
    lines.finish("cycles")
}

fn write(lines: &mut CountedLines, report: &RoundReport) -> Result<bool, Failure> {
    lines.write(String::from_utf8_lossy(&report.to_json()))
}
