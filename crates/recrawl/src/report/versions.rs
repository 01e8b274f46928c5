//! The archived versions of a page, for commands and for the console.

use crate::texts::{
    ArchivedPage, ArchivedText, ArchivedVersion, MAX_VERSIONS, MissingText, Versions, WhichVersion,
    document_of,
};
use recrawl_console::view::{self, NoVersion, Refusal, VersionContent, VersionList, VersionQuery};
use recrawl_notifications::message::cut;
use recrawl_types::ArchivePosition;

/// Maximum bytes of a text in an answer. A long article has 50 KiB.
const MAX_SHOWN_TEXT: usize = 512 << 10;
/// All versions of a page, as far as they are shown.
pub fn all(page: &ArchivedPage, now: u64) -> Result<VersionList, Refusal> {
    let url = page.url.to_string();
    let ask = VersionQuery { url: url.clone(), cursor: None, limit: MAX_VERSIONS };
    let mut list = VersionList { url, versions: Vec::new(), next: None, missing: None };
    fill(&mut list, page, &ask, now)?;
    Ok(list)
}

/// Adds the versions from the cursor on.
pub fn fill(
    list: &mut VersionList,
    page: &ArchivedPage,
    ask: &VersionQuery,
    now: u64,
) -> Result<(), Refusal> {
    let (before, from) = match &ask.cursor {
        None => (0, page.visited.content.newest_version()),
        Some(cursor) => {
            let bad = || Refusal::invalid("cursor", "unknown cursor", "omit it to start over");
            let at = WhichVersion::At(position(cursor).ok_or_else(bad)?);
            let found = page.find(at, now).map_err(|_| bad())?;
            (found.number - 1, Some(found.place.at))
        }
    };
    let max_body = page.settings.max_archived_body();
    let mut versions = Versions::new(&page.archive, &page.url, from, max_body);
    // The words of the version that comes next in the list are those before the last one.
    let mut newer: Option<ArchivedText> = None;
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
        // Only here: the last row is compared with this version, which is on the next page of the list.
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
pub fn content(page: &ArchivedPage, number: usize, version: &ArchivedVersion) -> VersionContent {
    let text = page.text(version);
    let older = || page.before(version).and_then(|before| page.text(&before));
    let difference = text.clone().and_then(|newer| older().map(|older| [newer, older]));
    let (mut text, no_text) = match text {
        Ok(ArchivedText { text, .. }) => (Some(text), None),
        Err(missing) => (None, Some(why_not(missing))),
    };
    let text_is_cut = text.as_mut().is_some_and(|text| cut(text, MAX_SHOWN_TEXT));
    VersionContent {
        url: page.url.to_string(),
        version: row(number, version),
        headers: version.headers(),
        text,
        text_is_cut,
        no_text,
        difference: document_of(difference),
    }
}

fn row(number: usize, ArchivedVersion { at, answer }: &ArchivedVersion) -> view::Version {
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

/// Why there is no version.
pub fn why_not(MissingText { none, why }: MissingText) -> NoVersion {
    NoVersion { none, why }
}
