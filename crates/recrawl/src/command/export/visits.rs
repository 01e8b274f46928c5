//! `recrawl export visits`: the stored visits, for learning and back-tests. docs/outputs.md
//! describes a row.

use super::rows::RowFile;
use crate::cli::ExportFormat;
use crate::report::row::{Cell, CellKind, RowColumn};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_repository::{Followed, StoredPosition, StoredVisit, VisitFollower};
use recrawl_types::{Change, Cycle, Outcome, Site};
use std::path::Path;

/// Columns of a visit.
pub const COLUMNS: &[RowColumn] = &[
    RowColumn::new("cycle", CellKind::Count),
    RowColumn::new("time", CellKind::Time),
    RowColumn::new("url", CellKind::Text),
    RowColumn::new("site", CellKind::Text),
    RowColumn::new("outcome", CellKind::Text),
    RowColumn::new("changed", CellKind::Flag),
    RowColumn::new("share", CellKind::Text),
    RowColumn::new("probability", CellKind::Number),
    RowColumn::new("why", CellKind::Text),
    RowColumn::new("status", CellKind::Count),
    RowColumn::new("confirmed", CellKind::Count),
    RowColumn::new("age", CellKind::Count),
    RowColumn::new("score", CellKind::Number),
    RowColumn::new("above_cutoff", CellKind::Flag),
    RowColumn::new("expected", CellKind::Number),
    RowColumn::new("bytes", CellKind::Count),
    RowColumn::new("milliseconds", CellKind::Count),
];

/// Writes all stored visits by cycle, then by URL.
///
/// # Errors
/// When no visits are stored, they cannot be read, or `out` cannot be written.
pub fn export(settings: &Settings, out: &Path, format: ExportFormat) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let rounds = repository.kept().list().map_err(Failure::work)?;
    let Some(first) = rounds.first() else {
        return Err(Failure::Work(format!(
            "data directory {}: no stored visits; set storage.keep_visits above 0 and run a cycle",
            settings.data_dir.display()
        )));
    };
    let mut rows = RowFile::create(out, format, COLUMNS)?;
    let (mut follower, mut at, mut after) =
        (VisitFollower::default(), StoredPosition::before(first.round), None);
    let (kept, until) = (repository.kept(), repository.current().number());
    loop {
        match follower.next(&mut at, &kept, until).map_err(Failure::work)? {
            Followed::Page(round, visits) => {
                for visit in &visits {
                    if !rows.write(&row(round.cycle, visit))? {
                        return Ok(());
                    }
                }
            }
            Followed::End(round) => after = Some(round.cycle),
            Followed::Lost(next) => {
                let after = after.unwrap_or(first.cycle);
                tracing::warn!(%after, before = %next.cycle, "visits between these cycles are missing");
            }
            Followed::Nothing => break,
        }
    }
    rows.finish("visits")
}

fn row(cycle: Cycle, visit: &StoredVisit) -> [Cell; COLUMNS.len()] {
    let (share, probability) = labels::share(visit.share);
    let changed = match visit.outcome.change() {
        Some(Change::Changed) => Some(true),
        Some(Change::Unchanged) => Some(false),
        Some(Change::First | Change::Undecided) | None => None,
    };
    let is_absent = matches!(visit.outcome, Outcome::NotFound(_));
    let confirmed = Some(visit.confirmed).filter(|confirmed| is_absent && *confirmed > 0);
    let standing = visit.learned.map(|learned| learned.standing);
    let score = standing.map(|standing| f64::from(standing.score)).filter(|score| !score.is_nan());
    [
        cycle.0.into(),
        visit.at.into(),
        visit.url.to_string().into(),
        Site::from_url(&visit.url).to_string().into(),
        visit.outcome.name().into(),
        Cell::from_option(changed),
        share.into(),
        probability.map_or(Cell::Null, Cell::Number),
        Cell::from_option(visit.outcome.why()),
        Cell::from_option(visit.outcome.status().map(u32::from)),
        Cell::from_option(confirmed.map(u32::from)),
        Cell::from_option(standing.map(|standing| standing.age)),
        score.map_or(Cell::Null, Cell::Number),
        Cell::from_option(score.and(standing).map(|standing| standing.is_above_cutoff)),
        standing.map_or(Cell::Null, |standing| Cell::Number(standing.expected.into())),
        Cell::from_option(visit.learned.map(|learned| learned.bytes)),
        Cell::from_option(visit.learned.map(|learned| learned.took)),
    ]
}
