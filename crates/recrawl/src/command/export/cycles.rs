//! `recrawl export cycles`: the reports of all committed cycles, as printed by `recrawl crawl
//! --json`.

use super::lines::Lines;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use std::path::Path;

/// Writes a line of JSON for each cycle, oldest first.
///
/// # Errors
/// When the reports cannot be read, or `out` cannot be written.
pub fn export(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut lines = Lines::create(out)?;
    while let Some(report) = reports.next_report().map_err(Failure::work)? {
        if !lines.write(std::str::from_utf8(report).map_err(Failure::work)?)? {
            return Ok(());
        }
    }
    lines.finish("cycles")
}
