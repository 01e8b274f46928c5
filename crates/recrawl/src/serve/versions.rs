//! The archived versions of a page, for the console. As `recrawl show`, it reads what the last commit leads to.

use super::shared_state::SharedState;
use crate::report::explain::unknown;
use crate::texts::{ArchivedPage, MAX_VERSIONS, Missing, Text, Version, Versions, document_of, inert_body};
use recrawl_archive::timestamp;
use recrawl_console::view::{
    self, NoVersion, OneVersion, Refusal, VersionContent, VersionList, VersionQuery,
};
use recrawl_types::{ArchivePosition, CanonicalUrl};

/// Maximum bytes of a text in an answer. A long article has 50 KiB.
const MAX_SHOWN_TEXT: usize = 512 << 10;
/// Maximum bytes of a body that becomes a document. The rest is left out.
const MAX_SHOWN_BODY: usize = 1 << 20;

/// Looks of an archived document. It follows the system's theme, and inherits nothing of the page.
const STYLE: &str = ":root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }\n\
    body { margin: 0; padding: .75rem 1rem; overflow-wrap: anywhere }\n\
    pre { white-space: pre-wrap }\n\
    table { border-collapse: collapse } td, th { padding: .2rem .5rem; vertical-align: top; text-align: start }\n\
    a { text-decoration: underline dotted }";

/// A page of the last commit, or why nothing of it is kept.
fn page(shared: &SharedState, url: &str) -> Result<(CanonicalUrl, Result<ArchivedPage, Missing>), Refusal> {
    let settings = shared.settings();
    let url = settings
        .rules
        .canonicalize(url)
        .map_err(|e| Refusal::invalid("url", format!("{url:?}: {e}"), "write it with https:// or http://"))?;
    let Some((_, record)) = shared.generation().get(&url).map_err(Refusal::failed)? else {
        let tables = Ok(shared.tables.clone());
        let why = unknown(&mut (*settings).clone(), &shared.control.decided(), &tables, &url)
            .map_err(Refusal::failed)?;
        return Err(Refusal::NotFound(why.to_string()));
    };
    Ok((url.clone(), ArchivedPage::of(settings, url, record.visited)))
}

/// The versions from the cursor on.
pub fn list(shared: &SharedState, ask: &VersionQuery) -> Result<VersionList, Refusal> {
    let (url, found) = page(shared, &ask.url)?;
    let mut list = VersionList { url: url.to_string(), versions: Vec::new(), next: None, missing: None };
    match found {
        Ok(page) => fill(&mut list, &page, ask, shared.now())?,
        Err(missing) => list.missing = Some(why_not(missing)),
    }
    Ok(list)
}

fn fill(list: &mut VersionList, page: &ArchivedPage, ask: &VersionQuery, now: u64) -> Result<(), Refusal> {
    let (before, from) = match &ask.cursor {
        None => (0, page.visited.content.archive),
        Some(cursor) => {
            let bad = || Refusal::invalid("cursor", "unknown cursor", "omit it to start over");
            let (number, version) =
                page.version_at(position(cursor).ok_or_else(bad)?, 0).map_err(|_| bad())?;
            (number - 1, Some(version.at))
        }
    };
    let max_body = page.settings.max_archived_body();
    let mut versions = Versions::of(&page.archive, &page.url, from, max_body);
    // The words of the version that comes next in the list are those before the last one.
    let mut newer: Option<Text> = None;
    for number in before + 1.. {
        let version = match versions.next() {
            None => break,
            Some(Ok(_)) if number > MAX_VERSIONS => {
                let why = format!("only the last {MAX_VERSIONS} versions are shown");
                list.missing = Some(NoVersion { none: "too_many", why });
                break;
            }
            Some(Ok(version)) => version,
            Some(Err(missing)) => {
                list.missing = Some(why_not(missing));
                break;
            }
        };
        let text = page.text(&version).ok();
        if let (Some(newer), Some(text), Some(row)) = (&newer, &text, list.versions.last_mut()) {
            row.words_changed = Some(newer.text != text.text);
        }
        if list.versions.len() == ask.limit {
            list.next = Some(format!("{}-{}", version.at.file, version.at.offset));
            break;
        }
        list.versions.push(row(number, &version));
        newer = text;
    }
    if list.versions.is_empty() && list.missing.is_none() {
        list.missing = Some(why_not(page.none(now)));
    }
    Ok(())
}

fn position(cursor: &str) -> Option<ArchivePosition> {
    let (file, offset) = cursor.split_once('-')?;
    Some(ArchivePosition { file: file.parse().ok()?, offset: offset.parse().ok()? })
}

/// Text, headers and difference of one version.
pub fn one(shared: &SharedState, asked: &OneVersion) -> Result<VersionContent, Refusal> {
    let (page, number, version) = version(shared, asked, None)?;
    let text = page.text(&version);
    let older = || page.before(&version).and_then(|before| page.text(&before));
    let difference = text.clone().and_then(|newer| older().map(|older| [newer, older]));
    let (mut text, no_text) = match text {
        Ok(Text { text, .. }) => (Some(text), None),
        Err(missing) => (None, Some(why_not(missing))),
    };
    let text_is_cut = text.as_mut().is_some_and(|text| cut(text, MAX_SHOWN_TEXT));
    Ok(VersionContent {
        url: page.url.to_string(),
        version: row(number, &version),
        headers: version.headers(),
        text,
        text_is_cut,
        no_text,
        difference: document_of(difference),
    })
}

/// One version as an inert HTML document.
pub fn document(shared: &SharedState, asked: &OneVersion) -> Result<String, Refusal> {
    let (page, _, version) = version(shared, asked, Some(MAX_SHOWN_BODY))?;
    let Version { answer, .. } = &version;
    let Some(body) = inert_body(answer, &page.url, &page.settings) else {
        let why = page.text(&version).err().map_or_else(|| "no text".to_owned(), |missing| missing.why);
        return Err(Refusal::NotFound(format!("{}: {why}, so it is not shown as a page", page.url)));
    };
    let url = page.url.to_string().replace('&', "&amp;").replace('<', "&lt;");
    let cut = if answer.is_cut { "<p>The page goes on; the rest is left out.</p>\n" } else { "" };
    // With a place in the tab order, a keyboard can scroll the frame.
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Archived: {url}</title>\n<style>{STYLE}</style>\n</head>\n<body tabindex=\"0\">\n\
         <p><small>Archived copy of {url}, {}. Scripts, styles, images, forms and links are left out.</small></p>\n<hr>\n\
         {body}\n{cut}</body>\n</html>\n",
        timestamp(answer.time() * 1000)
    ))
}

/// A version that the page's record leads to, its body read up to a limit, or as far as a text is read.
fn version(
    shared: &SharedState,
    asked: &OneVersion,
    max_body: Option<usize>,
) -> Result<(ArchivedPage, usize, Version), Refusal> {
    let (url, found) = page(shared, &asked.url)?;
    let not_found = |missing: Missing| Refusal::NotFound(format!("{url}: {}", missing.why));
    let page = found.map_err(not_found)?;
    let at = ArchivePosition { file: asked.warc_file, offset: asked.warc_offset };
    let max_body = max_body.unwrap_or_else(|| page.settings.max_archived_body());
    let (number, version) = page.version_at(at, max_body).map_err(not_found)?;
    Ok((page, number, version))
}

fn row(number: usize, Version { at, answer }: &Version) -> view::Version {
    view::Version {
        number,
        time: answer.time(),
        status: answer.status(),
        content_type: answer.http_field("Content-Type").map(|value| value.trim().to_owned()),
        bytes: answer.body_bytes,
        digest: answer.field("WARC-Payload-Digest").map(str::to_owned),
        words_changed: None,
        warc_file: at.file,
        warc_offset: at.offset,
    }
}

fn why_not(Missing { none, why }: Missing) -> NoVersion {
    NoVersion { none, why }
}

/// Cuts a text at a character, and tells whether it was longer.
fn cut(text: &mut String, max: usize) -> bool {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let is_cut = end < text.len();
    text.truncate(end);
    is_cut
}
