//! `recrawl export contents`: the last archived version of each page: type, size, title, language, and the text and the
//! Markdown if asked for. docs/outputs.md describes a row.

use super::archived_files::ArchivedFiles;
use super::changed::ChangedSince;
use super::rows::RowFile;
use super::{decided_meanwhile, decisions};
use crate::cli::{ExportArgs, ExportFormat};
use crate::report::row::{Cell, CellKind, RowColumn};
use crate::texts::{ArchivedVersion, Versions, extracted, markdown_of};
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Extracted, PageContent, PageExtent};
use recrawl_types::CanonicalUrl;

/// Columns of a page; the last two only if they are asked for.
const ALL: &[RowColumn] = &[
    RowColumn::new("url", CellKind::Text),
    RowColumn::new("time", CellKind::Time),
    RowColumn::new("status", CellKind::Count),
    RowColumn::new("content_type", CellKind::Text),
    RowColumn::new("bytes", CellKind::Count),
    RowColumn::new("title", CellKind::Text),
    RowColumn::new("language", CellKind::Text),
    RowColumn::new("text", CellKind::Text),
    RowColumn::new("markdown", CellKind::Text),
];

/// Writes the pages with an archived body in URL order. A body that cannot be read is left out and counted.
///
/// # Errors
/// When the pages cannot be read, a takedown replaces bodies meanwhile, or the file cannot be written.
pub fn export(settings: &Settings, args: &ExportArgs, format: ExportFormat) -> Result<(), Failure> {
    let is_asked = |column: &&RowColumn| match column.name {
        "text" => args.text,
        "markdown" => args.markdown,
        _ => true,
    };
    let columns: Vec<RowColumn> = ALL.iter().filter(is_asked).copied().collect();
    let mut settings = settings.clone();
    // The language is read with the anchors of links.
    settings.reading.anchors = true;
    let repository = open_read::repository(&settings)?;
    let generation = repository.current();
    let archive = ArchiveReader::open(opener::open(&settings.data_dir)?)?;
    let files = ArchivedFiles::all(&archive);
    let changed = ChangedSince::read(args.changed_since, &repository)?;
    let taken_down = decisions(&settings)?.taken_down;
    let mut rows = RowFile::create(&args.out, format, &columns)?;
    let (mut records, mut left_out) = (generation.records(), 0u64);
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        if !changed.admits(&record) {
            continue;
        }
        let Some((at, visited)) = record.visited.and_then(|visited| Some((visited.content.body()?, visited)))
        else {
            continue;
        };
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        // A takedown may be decided and not be done yet.
        if taken_down.iter().any(|pattern| pattern.matches(&url)) {
            continue;
        }
        let mut versions = Versions::new(&archive, &url, Some(at), settings.max_archived_body());
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

fn row(url: &CanonicalUrl, version: &ArchivedVersion, settings: &Settings, args: &ExportArgs) -> Vec<Cell> {
    let answer = &version.answer;
    let declared = answer.http_field("Content-Type").map(|kind| kind.trim().to_owned());
    let part = settings.pages.rule_for(url).map(|rule| &rule.part);
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
        Cell::from_option(Some(answer.time()).filter(|time| *time > 0)),
        u32::from(answer.status()).into(),
        Cell::from_option(declared),
        (answer.body.len() as u64).into(),
        Cell::from_option(title),
        Cell::from_option(language),
    ];
    if args.text {
        row.push(Cell::from_option(text));
    }
    if args.markdown {
        let page = markdown_of(version, url, settings, PageExtent::Main);
        row.push(Cell::from_option(page.ok().map(|page| page.text)));
    }
    row
}
