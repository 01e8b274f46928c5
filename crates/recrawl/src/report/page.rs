//! A known page as a row. docs/outputs.md describes it.

use super::row::{Cell, CellKind, Column};
use recrawl_archive::cap::Bodies;
use recrawl_crawl::admission::consent::claim;
use recrawl_focus::logistic::logistic;
use recrawl_types::{CanonicalUrl, ContentKind, PageRecord, Status};
use serde_json::Value;

/// Columns of a page. Those from `n` on are null before the first visit. The last ones are those of a focused crawl.
const ALL_COLUMNS: [Column; 34] = [
    Column::new("url", CellKind::Text),
    Column::new("status", CellKind::Text),
    Column::new("depth", CellKind::Count),
    Column::new("in_links", CellKind::Count),
    Column::new("discovered", CellKind::Count),
    Column::new("last_attempt", CellKind::Count),
    Column::new("failures", CellKind::Count),
    Column::new("not_found", CellKind::Count),
    Column::new("lastmod", CellKind::Time),
    Column::new("announced", CellKind::Flag),
    Column::new("n", CellKind::Count),
    Column::new("X", CellKind::Count),
    Column::new("first", CellKind::Count),
    Column::new("last", CellKind::Count),
    Column::new("last_change", CellKind::Count),
    Column::new("kind", CellKind::Text),
    Column::new("simhash", CellKind::Text),
    Column::new("digest", CellKind::Text),
    Column::new("etag", CellKind::Text),
    Column::new("last_modified", CellKind::Text),
    Column::new("noindex", CellKind::Flag),
    Column::new("nofollow", CellKind::Flag),
    Column::new("noarchive", CellKind::Flag),
    Column::new("unavailable_after", CellKind::Time),
    Column::new("canonical", CellKind::Text),
    Column::new("canonical_claim", CellKind::Text),
    Column::new("warc_file", CellKind::Count),
    Column::new("warc_offset", CellKind::Count),
    Column::new("body", CellKind::Text),
    Column::new("relevance", CellKind::Number),
    Column::new("genre", CellKind::Number),
    Column::new("content", CellKind::Number),
    Column::new("expected", CellKind::Number),
    Column::new("tunnel", CellKind::Count),
];

/// Number of columns of any crawl.
const UNFOCUSED: usize = ALL_COLUMNS.len() - 5;

/// The columns of a crawl that was never focused, and of one that is or was.
pub const fn columns(is_focused: bool) -> &'static [Column] {
    const ALL: &[Column] = &ALL_COLUMNS;
    if is_focused { ALL } else { ALL.split_at(UNFOCUSED).0 }
}

/// A page as one JSON object.
pub fn page_json(url: &CanonicalUrl, record: &PageRecord, bodies: &Bodies) -> Value {
    let row = row(url, record, bodies);
    let is_focused = record.known.expectation.is_some() || record.known.verdict.is_some();
    let named = columns(is_focused).iter().zip(row).map(|(column, cell)| (column.name.into(), cell.json()));
    Value::Object(named.collect())
}

/// The cells of all columns.
pub fn row(url: &CanonicalUrl, record: &PageRecord, bodies: &Bodies) -> [Cell; ALL_COLUMNS.len()] {
    let known = &record.known;
    let history = record.visited.as_ref().map(|v| &v.history);
    let content = record.visited.as_ref().map(|v| &v.content);
    let consent = content.map(|c| &c.consent);
    let archive = content.and_then(|c| c.archive);
    [
        url.to_string().into(),
        status(known.status).into(),
        u32::from(known.depth).into(),
        known.in_links.into(),
        known.discovered.0.into(),
        Cell::of(Some(known.last_attempt.0).filter(|cycle| *cycle > 0)),
        u32::from(known.failures).into(),
        u32::from(known.not_found).into(),
        Cell::of(Some(known.lastmod).filter(|at| *at > 0)),
        known.is_announced.into(),
        Cell::of(history.map(|h| h.visits)),
        Cell::of(history.map(|h| h.changes)),
        Cell::of(history.map(|h| h.first.0)),
        Cell::of(history.map(|h| h.last.0)),
        Cell::of(history.map(|h| h.last_change.0).filter(|cycle| *cycle > 0)),
        Cell::of(content.map(|c| kind(c.kind))),
        Cell::of(content.map(|c| format!("{:016x}", c.fingerprint.simhash))),
        Cell::of(content.map(|c| format!("{:032x}", c.fingerprint.digest))),
        Cell::of(content.and_then(|c| c.validators.etag.clone()).map(String::from)),
        Cell::of(content.and_then(|c| c.validators.last_modified.clone()).map(String::from)),
        Cell::of(consent.map(|c| c.noindex)),
        Cell::of(consent.map(|c| c.nofollow)),
        Cell::of(consent.map(|c| c.noarchive)),
        Cell::of(consent.and_then(|c| c.unavailable_after)),
        Cell::of(consent.and_then(|c| c.canonical.other()).map(ToString::to_string)),
        Cell::of(consent.and_then(|c| claim(&c.canonical, url))),
        Cell::of(archive.map(|position| position.file)),
        Cell::of(archive.map(|position| position.offset)),
        Cell::of(bodies.state(content)),
        Cell::of(known.verdict.map(|verdict| Cell::Number(rounded(verdict.relevance(), 1e4)))),
        Cell::of(known.verdict.map(|verdict| Cell::Number(rounded(f64::from(verdict.genre) / 255.0, 1e3)))),
        Cell::of(known.verdict.map(|verdict| Cell::Number(rounded(f64::from(verdict.content) / 255.0, 1e3)))),
        Cell::of(
            known.expectation.map(|expectation| Cell::Number(rounded(logistic(expectation.logit()), 1e6))),
        ),
        Cell::of(known.expectation.map(|expectation| u32::from(expectation.tunnel))),
    ]
}

/// In the steps in which it is kept, or less.
fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Live => "live",
        Status::Gone => "gone",
        Status::Refused => "refused",
    }
}

fn kind(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Text => "text",
        ContentKind::Opaque => "opaque",
        ContentKind::Redirect => "redirect",
        ContentKind::Hints => "hints",
    }
}
