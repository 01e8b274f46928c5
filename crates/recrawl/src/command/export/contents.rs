//! `recrawl export contents`: the last archived version of each page: type, size, title, language, and the text and the
//! Markdown if asked for. docs/outputs.md describes a row.

use super::archived_files::ArchivedFiles;
use super::changed::ChangedSince;
use super::rows::Rows;
use super::{decided_meanwhile, decisions};
use crate::cli::{ExportArgs, Format};
use crate::report::row::{Cell, CellKind, Column};
use crate::texts::{Version, Versions, extracted, markdown_of};
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Extracted, PageContent, PageExtent};
use recrawl_types::CanonicalUrl;

/// Columns of a page; the last two only if they are asked for.
const ALL: &[Column] = &[
    Column::new("url", CellKind::Text),
    Column::new("time", CellKind::Time),
    Column::new("status", CellKind::Count),
    Column::new("content_type", CellKind::Text),
    Column::new("bytes", CellKind::Count),
    Column::new("title", CellKind::Text),
    Column::new("language", CellKind::Text),
    Column::new("text", CellKind::Text),
    Column::new("markdown", CellKind::Text),
];

/// Writes the pages with an archived body in URL order. A body that cannot be read is left out and counted.
///
/// # Errors
/// When the pages cannot be read, a takedown replaces bodies meanwhile, or the file cannot be written.
pub fn export(settings: &Settings, args: &ExportArgs, format: Format) -> Result<(), Failure> {
    let is_asked = |column: &&Column| match column.name {
        "text" => args.text,
        "markdown" => args.markdown,
        _ => true,
    };
    let columns: Vec<Column> = ALL.iter().filter(is_asked).copied().collect();
    let mut settings = settings.clone();
    // The language is read with the anchors of links.
    settings.reading.anchors = true;
    let repository = open_read::repository(&settings)?;
    let generation = repository.current();
    let archive = ArchiveReader::open(opener::open(&settings.data_dir)?)?;
    let files = ArchivedFiles::all(&archive);
    let changed = ChangedSince::parse(args.changed_since.as_deref(), &repository)?;
    let taken_down = decisions(&settings)?.taken_down;
    let mut rows = Rows::create(&args.out, format, &columns)?;
    let (mut records, mut left_out) = (generation.records(), 0u64);
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        if !changed.admits(&record) {
            continue;
        }
        let Some((at, visited)) =
            record.visited.and_then(|visited| Some((visited.content.archive?, visited)))
        else {
            continue;
        };
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        // A takedown may be decided and not be done yet.
        if taken_down.iter().any(|pattern| pattern.matches(&url)) {
            continue;
        }
        let mut versions = Versions::of(&archive, &url, Some(at), settings.max_archived_body());
        let version = versions.in_force(&visited.content, &settings);
        let Some(Ok(version)) = version else {
            left_out += 1;
            continue;
        };
        if !rows.write(&row(&url, &version, &settings, args))? {
            return Ok(());
        }
    }
    if left_out > 0 {
        tracing::warn!(pages = left_out, "left out pages whose archived body was removed or cannot be read");
    }
    rows.finish_if("contents", || {
        files.are_unchanged()?;
        // A takedown that is decided replaces files later.
        if decisions(&settings)?.taken_down == taken_down { Ok(()) } else { Err(decided_meanwhile()) }
    })
}

fn row(url: &CanonicalUrl, version: &Version, settings: &Settings, args: &ExportArgs) -> Vec<Cell> {
    let answer = &version.answer;
    let declared = answer.http_field("Content-Type").map(|kind| kind.trim().to_owned());
    let part = settings.pages.of(url).map(|rule| &rule.part);
    // The body of a redirect is not content of the page.
    let is_page = (200..300).contains(&answer.status());
    let page = match extracted(answer, url, settings, part) {
        Extracted::Page(page) if is_page => Some(page),
        _ => None,
    };
    let (title, language, text) = match page {
        Some(PageContent { title, language, text, .. }) => (title, language, Some(text)),
        None => (None, None, None),
    };
    let mut row = vec![
        url.to_string().into(),
        Cell::of(Some(answer.time()).filter(|time| *time > 0)),
        u32::from(answer.status()).into(),
        Cell::of(declared),
        (answer.body.len() as u64).into(),
        Cell::of(title),
        Cell::of(language),
    ];
    if args.text {
        row.push(Cell::of(text));
    }
    if args.markdown {
        let page = markdown_of(version, url, settings, PageExtent::Main);
        row.push(Cell::of(page.ok().map(|page| page.text)));
    }
    row
}
