//! A known page as a row. docs/outputs.md describes it.

use super::row::{Cell, CellKind, RowColumn};
use recrawl_archive::cap::Bodies;
use recrawl_crawl::admission::consent::claim;
use recrawl_focus::logistic::logistic;
use recrawl_types::{CanonicalUrl, Content, ContentKind, PageRecord, PageStatus};
use serde_json::Value;

/// Columns of a page. Those from `n` on are null before the first visit. The last ones are those of a focused crawl.
const ALL_COLUMNS: [RowColumn; 34] = [
    RowColumn::new("url", CellKind::Text),
    RowColumn::new("status", CellKind::Text),
    RowColumn::new("depth", CellKind::Count),
    RowColumn::new("in_links", CellKind::Count),
    RowColumn::new("discovered", CellKind::Count),
    RowColumn::new("last_attempt", CellKind::Count),
    RowColumn::new("failures", CellKind::Count),
    RowColumn::new("not_found", CellKind::Count),
    RowColumn::new("lastmod", CellKind::Time),
    RowColumn::new("announced", CellKind::Flag),
    RowColumn::new("n", CellKind::Count),
    RowColumn::new("X", CellKind::Count),
    RowColumn::new("first", CellKind::Count),
    RowColumn::new("last", CellKind::Count),
    RowColumn::new("last_change", CellKind::Count),
    RowColumn::new("kind", CellKind::Text),
    RowColumn::new("simhash", CellKind::Text),
    RowColumn::new("digest", CellKind::Text),
    RowColumn::new("etag", CellKind::Text),
    RowColumn::new("last_modified", CellKind::Text),
    RowColumn::new("noindex", CellKind::Flag),
    RowColumn::new("nofollow", CellKind::Flag),
    RowColumn::new("noarchive", CellKind::Flag),
    RowColumn::new("unavailable_after", CellKind::Time),
    RowColumn::new("canonical", CellKind::Text),
    RowColumn::new("canonical_claim", CellKind::Text),
    RowColumn::new("warc_file", CellKind::Count),
    RowColumn::new("warc_offset", CellKind::Count),
    RowColumn::new("body", CellKind::Text),
    RowColumn::new("relevance", CellKind::Number),
    RowColumn::new("genre", CellKind::Number),
    RowColumn::new("content", CellKind::Number),
    RowColumn::new("expected", CellKind::Number),
    RowColumn::new("tunnel", CellKind::Count),
];

/// Number of columns of any crawl.
const UNFOCUSED: usize = ALL_COLUMNS.len() - 5;

/// The columns of a crawl that was never focused, and of one that is or was.
pub const fn columns(is_focused: bool) -> &'static [RowColumn] {
    const ALL: &[RowColumn] = &ALL_COLUMNS;
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
    let archive = content.and_then(Content::body);
    [
        url.to_string().into(),
        status(known.status).into(),
        u32::from(known.depth).into(),
        known.in_links.into(),
        known.discovered.0.into(),
        Cell::from_option(Some(known.last_attempt.0).filter(|cycle| *cycle > 0)),
        u32::from(known.failures).into(),
        u32::from(known.not_found).into(),
        Cell::from_option(Some(known.lastmod).filter(|at| *at > 0)),
        known.is_announced.into(),
        Cell::from_option(history.map(|h| h.visits)),
        Cell::from_option(history.map(|h| h.changes)),
        Cell::from_option(history.map(|h| h.first.0)),
        Cell::from_option(history.map(|h| h.last.0)),
        Cell::from_option(history.map(|h| h.last_change.0).filter(|cycle| *cycle > 0)),
        Cell::from_option(content.map(|c| kind(c.kind))),
        Cell::from_option(content.map(|c| format!("{:016x}", c.fingerprint.simhash))),
        Cell::from_option(content.map(|c| format!("{:032x}", c.fingerprint.digest))),
        Cell::from_option(content.and_then(|c| c.validators.etag.clone()).map(String::from)),
        Cell::from_option(content.and_then(|c| c.validators.last_modified.clone()).map(String::from)),
        Cell::from_option(consent.map(|c| c.noindex)),
        Cell::from_option(consent.map(|c| c.nofollow)),
        Cell::from_option(consent.map(|c| c.noarchive)),
        Cell::from_option(consent.and_then(|c| c.unavailable_after)),
        Cell::from_option(consent.and_then(|c| c.canonical.other()).map(ToString::to_string)),
        Cell::from_option(consent.and_then(|c| claim(&c.canonical, url))),
        Cell::from_option(archive.map(|position| position.file)),
        Cell::from_option(archive.map(|position| position.offset)),
        Cell::from_option(bodies.state(content)),
        Cell::from_option(known.verdict.map(|verdict| Cell::Number(rounded(verdict.relevance(), 1e4)))),
        Cell::from_option(
            known.verdict.map(|verdict| Cell::Number(rounded(f64::from(verdict.genre) / 255.0, 1e3))),
        ),
        Cell::from_option(
            known.verdict.map(|verdict| Cell::Number(rounded(f64::from(verdict.content) / 255.0, 1e3))),
        ),
        Cell::from_option(
            known.expectation.map(|expectation| Cell::Number(rounded(logistic(expectation.logit()), 1e6))),
        ),
        Cell::from_option(known.expectation.map(|expectation| u32::from(expectation.tunnel))),
    ]
}

/// In the steps in which it is kept, or less.
fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

fn status(status: PageStatus) -> &'static str {
    match status {
        PageStatus::Live | PageStatus::AddressRefused => "live",
        PageStatus::Gone => "gone",
        PageStatus::Refused => "refused",
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
