//! The versions of a page in the archive: their texts, and the difference of two.
//!
//! A page's record has the position of its last body, and each body that of the one before
//! ([`BODY_BEFORE`]), so nothing is searched. Revisits (without body) and redirects (without text)
//! are skipped. Of a page with a rule (`[[pages]]`), the part that counts is shown.
//!
//! [`BODY_BEFORE`]: recrawl_archive::BODY_BEFORE

mod contents;
mod difference;
mod page;
mod requisites;
mod unified;
mod versions;

pub use contents::Archived;
pub use page::{
    ArchivedPage, FoundVersion, MAX_VERSIONS, WhichVersion, markdown_of, media_type, titled_text,
};
pub use requisites::ArchivedRequisites;
pub use unified::unified;
pub use versions::{
    ArchivedVersion, VersionPlace, VersionPlaces, Versions, document_parts, extracted, inert_body, read,
    text_of,
};

use difference::TextDifference;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::settings::Settings;
use recrawl_extractor::CountedPart;
use recrawl_types::{ArchivePosition, CanonicalUrl, Visited};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Maximum archived responses that are read to find two texts.
const MAX_ANSWERS: usize = 8;
/// Time limit of a comparison, after which the difference becomes coarser.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// A text and its position.
#[derive(Clone)]
pub struct ArchivedText {
    /// Time of the fetch, in seconds since 1970.
    pub time: u64,
    pub at: ArchivePosition,
    pub text: String,
}

/// Why there are not two texts to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingText {
    /// The reason for programs.
    pub none: &'static str,
    /// The reason for people.
    pub why: String,
}

fn missing(none: &'static str, why: impl Into<String>) -> MissingText {
    MissingText { none, why: why.into() }
}

/// Is the page not taken down? Its data may still wait to be removed.
fn is_given_out(url: &CanonicalUrl, settings: &Settings) -> Result<(), MissingText> {
    match settings.scope.taken_down().iter().find(|pattern| pattern.matches_requisite(url, &settings.rules)) {
        None => Ok(()),
        Some(pattern) => Err(missing(
            "taken_down",
            format!("taken down (recrawl takedown, {pattern}), so nothing of it is kept"),
        )),
    }
}

/// The difference of the last two texts, or why there is none. `now`, in milliseconds since 1970,
/// decides whether the page may be archived.
pub fn document(url: &CanonicalUrl, visited: Option<&Visited>, settings: &Settings, now: u64) -> Value {
    let found = match visited {
        None => Err(missing("never_fetched", "never fetched")),
        Some(visited) => is_given_out(url, settings).and_then(|()| {
            let part = settings.pages.rule_for(url).map(|rule| &rule.part);
            let archive = opener::open(&settings.data_dir).and_then(ArchiveReader::open);
            let archive = archive.map_err(|e| missing("unreadable", e.to_string()));
            archive.and_then(|archive| {
                let max_body = settings.max_archived_body();
                let versions = Versions::new(&archive, url, visited.content.newest_version(), max_body);
                last_two(versions, url, visited, settings, part, now)
            })
        }),
    };
    document_of(found)
}

/// The difference of two texts, the newer first, or why there are not two.
pub fn document_of(found: Result<[ArchivedText; 2], MissingText>) -> Value {
    match found {
        Ok([newer, older]) => {
            let found = TextDifference::between(&older.text, &newer.text, Instant::now() + DIFF_TIME);
            let place = |text: &ArchivedText| json!({"time": text.time, "warc_file": text.at.file, "warc_offset": text.at.offset});
            json!({
                "older": place(&older), "newer": place(&newer), "parts": found.parts,
                "words_added": found.added, "words_removed": found.removed, "is_cut": found.is_cut,
            })
        }
        Err(MissingText { none, why }) => json!({"none": none, "why": why}),
    }
}

/// The last text, then the one before, as far as this part of the page counts.
pub fn last_two(
    versions: Versions<'_>,
    url: &CanonicalUrl,
    visited: &Visited,
    settings: &Settings,
    part: Option<&CountedPart>,
    now: u64,
) -> Result<[ArchivedText; 2], MissingText> {
    let mut newest = None;
    for (answers, version) in versions.enumerate() {
        if answers == MAX_ANSWERS {
            let why = format!("fewer than two texts among the last {MAX_ANSWERS} archived responses");
            return Err(missing("no_text", why));
        }
        let ArchivedVersion { at, answer } = version.map_err(|MissingText { none, why }| match none {
            "unreadable" => missing(none, why),
            _ => missing(none, format!("one of the last two versions is gone: {why}")),
        })?;
        // A redirect's body is not content of the page.
        if !(200..300).contains(&answer.status()) {
            continue;
        }
        let why = "one of the last two bodies is not text (for example, an image)";
        let text = text_of(&answer, url, settings, part).ok_or_else(|| missing("no_text", why))?;
        let text = ArchivedText { time: answer.time(), at, text };
        match newest.take() {
            None => newest = Some(text),
            Some(newer) => return Ok([newer, text]),
        }
    }
    Err(none_before(newest.as_ref(), visited, settings, now))
}

/// Why there is no text before the newest, or none at all.
fn none_before(
    newest: Option<&ArchivedText>,
    visited: &Visited,
    settings: &Settings,
    now: u64,
) -> MissingText {
    let (content, history) = (&visited.content, &visited.history);
    match newest {
        None if !settings.config.storage.archive => {
            missing("not_archived", "bodies are not archived (storage.archive)")
        }
        None if !settings.config.consent.admits_archive(&content.consent, now) => {
            missing("not_archived", "the page asks not to be archived")
        }
        None => missing("not_archived", "the last visit archived no body"),
        Some(_) if history.visits == 0 => missing("one_text", "fetched only once"),
        Some(_) if history.changes == 0 => {
            missing("one_text", "the text has not changed since the first visit")
        }
        Some(_) => missing(
            "one_text",
            "the previous body is unknown: it was not archived, or an older version noted no position",
        ),
    }
}

#[cfg(test)]
mod tests;
