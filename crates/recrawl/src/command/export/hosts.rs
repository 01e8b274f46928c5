//! `recrawl export hosts`: what each host was asked in each round. docs/outputs.md describes a row.

use super::rows::RowFile;
use crate::cli::ExportFormat;
use crate::report::row::{Cell, CellKind, RowColumn};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::report::hosts::robots_text;
use recrawl_crawl::settings::Settings;
use recrawl_repository::StoredHost;
use recrawl_types::{DatedRound, Origin};
use std::path::Path;

/// Columns of a host.
pub const COLUMNS: &[RowColumn] = &[
    RowColumn::new("cycle", CellKind::Count),
    RowColumn::new("round", CellKind::Count),
    RowColumn::new("host", CellKind::Text),
    RowColumn::new("first", CellKind::Time),
    RowColumn::new("last", CellKind::Time),
    RowColumn::new("requests", CellKind::Count),
    // The classes of answers, in their order.
    RowColumn::new("ok", CellKind::Count),
    RowColumn::new("not_modified", CellKind::Count),
    RowColumn::new("redirects", CellKind::Count),
    RowColumn::new("client_errors", CellKind::Count),
    RowColumn::new("overload", CellKind::Count),
    RowColumn::new("server_errors", CellKind::Count),
    RowColumn::new("no_answer", CellKind::Count),
    RowColumn::new("bytes", CellKind::Count),
    RowColumn::new("shortest_gap_ms", CellKind::Count),
    RowColumn::new("delay_at_gap_ms", CellKind::Count),
    RowColumn::new("early", CellKind::Count),
    RowColumn::new("delay_ms", CellKind::Count),
    RowColumn::new("busiest_minute", CellKind::Time),
    RowColumn::new("busiest_minute_requests", CellKind::Count),
    RowColumn::new("robots", CellKind::Text),
];

/// Writes all kept rows by round, then by host.
///
/// # Errors
/// When no rows are kept, they cannot be read, or `out` cannot be written.
pub fn export(settings: &Settings, out: &Path, format: ExportFormat) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let kept = repository.kept();
    let rounds = kept.list_hosts()?;
    if rounds.is_empty() {
        return Err(Failure::Work(format!(
            "data directory {}: requests by host are not stored; set storage.keep_hosts = true and run a cycle",
            settings.data_dir.display()
        )));
    }
    let mut rows = RowFile::create(out, format, COLUMNS)?;
    for round in rounds {
        let Some(mut hosts) = kept.hosts(round)? else {
            tracing::warn!(cycle = %round.cycle, "the rows of this cycle were just removed by a commit");
            continue;
        };
        while let Some(host) = hosts.next_entry()? {
            if !rows.write(&row(round, &host))? {
                return Ok(());
            }
        }
    }
    rows.finish("hosts")
}

fn row(DatedRound { round, cycle }: DatedRound, host: &StoredHost) -> Vec<Cell> {
    let requests = &host.requests;
    let seconds = |millis: u64| Cell::from(millis / 1000);
    let robots = host.robots.iter().map(|(scheme, port, robots)| {
        let origin = Origin { scheme: *scheme, host: host.host.clone(), port: *port };
        format!("{origin} {}", robots_text(robots))
    });
    let mut row = vec![cycle.0.into(), round.0.into(), host.host.to_string().into()];
    row.extend([seconds(requests.first), seconds(requests.last), requests.requests().into()]);
    row.extend(requests.answers.map(Cell::from));
    row.extend([
        requests.bytes.into(),
        Cell::from_option(requests.shortest.map(|gap| gap.millis)),
        Cell::from_option(requests.shortest.map(|gap| gap.delay)),
        requests.early.into(),
        requests.delay.into(),
        seconds(requests.busiest.at),
        requests.busiest.requests.into(),
        robots.collect::<Vec<_>>().join("; ").into(),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{AnswerClass, HostRequests};

    #[test]
    fn a_row_has_each_column_and_the_classes_stand_in_their_order() {
        let host =
            StoredHost { host: "a.example".into(), requests: HostRequests::default(), robots: Vec::new() };
        assert_eq!(row(DatedRound::default(), &host).len(), COLUMNS.len());
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        let classes: Vec<&str> = AnswerClass::ALL.iter().map(|(_, name)| *name).collect();
        assert_eq!(names[6..6 + classes.len()], classes);
    }
}
