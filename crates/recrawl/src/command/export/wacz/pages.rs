//! The list of pages of a WACZ: what a reader of the archive can open.

use super::package::WaczPackage;
use super::selection::CaptureSelection;
use crate::texts::{ArchivedVersion, Versions, extracted};
use recrawl_archive::{ArchiveReader, timestamp};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Extracted, PageContent};
use recrawl_repository::Generation;
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};

/// Writes a line for the last archived version of each page, in URL order.
///
/// # Errors
/// When the pages cannot be read, or the package cannot be written.
pub fn write(
    settings: &Settings,
    archive: &ArchiveReader,
    generation: &Generation,
    selection: &CaptureSelection,
    with_text: bool,
    package: &mut WaczPackage,
) -> Result<(), Failure> {
    package.begin("pages/pages.jsonl".into())?;
    let head = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": with_text});
    package.write(format!("{head}\n").as_bytes())?;
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        let Some(at) = record.visited.and_then(|visited| visited.content.newest_version()) else { continue };
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        if !selection.admits_page(&url) {
            continue;
        }
        let Some(place) = selection.last_place(archive, &url, at) else { continue };
        let version = Versions::new(archive, &url, Some(place.at), settings.max_archived_body()).next();
        // A body that cannot be read is in no WARC record of the package either.
        let Some(Ok(version)) = version else { continue };
        if let Some(line) = line(&url, &version, settings, with_text) {
            package.write(format!("{line}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// A line of the list; none for what is no page.
fn line(
    url: &CanonicalUrl,
    ArchivedVersion { answer, .. }: &ArchivedVersion,
    settings: &Settings,
    with_text: bool,
) -> Option<Value> {
    if !(200..300).contains(&answer.status()) {
        return None;
    }
    let part = settings.pages.rule_for(url).map(|rule| &rule.part);
    let Extracted::Page(PageContent { title, text, .. }) = extracted(answer, url, settings, part) else {
        return None;
    };
    // A row needs a title or an id: validators refuse one with none of the columns that the first line has.
    let (url, title) = (url.to_string(), title.filter(|title| !title.trim().is_empty()));
    let title = title.unwrap_or_else(|| url.clone());
    let mut line = json!({"url": url, "ts": timestamp(answer.time() * 1000), "title": title});
    if with_text {
        line["text"] = text.into();
    }
    Some(line)
}
