//! The last two texts of a page, from the archive, and their difference.
//!
//! A page's record has the position of its last body, and each body that of the one before
//! ([`BODY_BEFORE`]), so nothing is searched. Revisits (without body) and redirects (without text)
//! are skipped.
//!
//! [`BODY_BEFORE`]: recrawl_archive::BODY_BEFORE

mod difference;

use difference::Difference;
use recrawl_archive::answer::Answer;
use recrawl_archive::{file_name, timestamp};
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Extracted, Fields, extract};
use recrawl_types::{ArchivePosition, CanonicalUrl, Visited};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum archived responses that are read to find two texts.
const MAX_ANSWERS: usize = 8;
/// Time limit of a comparison, after which the difference becomes coarser.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// A text and its position.
struct Text {
    /// Time of the fetch, in seconds since 1970.
    time: u64,
    at: ArchivePosition,
    text: String,
}

/// Why there are not two texts to compare.
#[derive(Debug, PartialEq)]
struct Missing {
    /// The reason for programs.
    none: &'static str,
    /// The reason for people.
    why: String,
}

fn missing(none: &'static str, why: impl Into<String>) -> Missing {
    Missing { none, why: why.into() }
}

/// The difference of the last two texts, or why there is none. `now`, in milliseconds since 1970,
/// decides whether the page may be archived.
pub fn document(
    folder: &Path,
    url: &CanonicalUrl,
    visited: Option<&Visited>,
    settings: &Settings,
    now: u64,
) -> Value {
    let found = match visited {
        None => Err(missing("never_fetched", "never fetched")),
        Some(visited) => last_two(folder, url, visited, settings, now),
    };
    match found {
        Ok([newer, older]) => {
            let found = Difference::of(&older.text, &newer.text, Instant::now() + DIFF_TIME);
            let place = |text: &Text| json!({"time": text.time, "warc_file": text.at.file, "warc_offset": text.at.offset});
            json!({
                "older": place(&older), "newer": place(&newer), "parts": found.parts,
                "words_added": found.added, "words_removed": found.removed, "is_cut": found.is_cut,
            })
        }
        Err(Missing { none, why }) => json!({"none": none, "why": why}),
    }
}

/// The last text, then the one before.
fn last_two(
    folder: &Path,
    url: &CanonicalUrl,
    visited: &Visited,
    settings: &Settings,
    now: u64,
) -> Result<[Text; 2], Missing> {
    let (mut next, mut newest, mut answers) = (visited.content.archive, None, 0);
    while let Some(at) = next {
        if answers == MAX_ANSWERS {
            let why = format!("fewer than two texts among the last {MAX_ANSWERS} archived responses");
            return Err(missing("no_text", why));
        }
        answers += 1;
        let answer = read(folder, at, url)?;
        next = answer.before();
        // A redirect's body is not content of the page.
        if !(200..300).contains(&answer.status()) {
            continue;
        }
        let why = "one of the last two bodies is not text (for example, an image)";
        let text = text_of(&answer, url, settings).ok_or_else(|| missing("no_text", why))?;
        let text = Text { time: answer.time(), at, text };
        match newest.take() {
            None => newest = Some(text),
            Some(newer) => return Ok([newer, text]),
        }
    }
    Err(none_before(newest.as_ref(), visited, settings, now))
}

fn read(folder: &Path, at: ArchivePosition, url: &CanonicalUrl) -> Result<Answer, Missing> {
    let name = file_name(at.file);
    let answer = Answer::read(folder, at).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let why =
                format!("one of the last two bodies was in {name}, which was removed (storage.archive_max)");
            missing("removed", why)
        }
        _ => missing("unreadable", error.to_string()),
    })?;
    match (answer.field("WARC-Type"), answer.field("WARC-Target-URI")) {
        (Some("response"), Some(of)) if of == url.as_text() => Ok(answer),
        (Some("metadata"), None) => Err(missing("taken_down", "one of the last two bodies was taken down")),
        _ => Err(missing("unreadable", format!("{name}, byte {}: not a response of this page", at.offset))),
    }
}

/// The text of a body for display: the visible text, or the entries of a sitemap or feed.
fn text_of(answer: &Answer, url: &CanonicalUrl, settings: &Settings) -> Option<String> {
    let nosniff = answer.http_field("X-Content-Type-Options");
    let fields = Fields {
        content_type: answer.http_field("Content-Type"),
        nosniff: nosniff.is_some_and(|value| value.eq_ignore_ascii_case("nosniff")),
        ..Fields::default()
    };
    match extract(&answer.body, &fields, url, &settings.rules, &settings.reading) {
        Extracted::Page(page) => Some(page.text),
        Extracted::Listing(hints, _) => {
            let line = |entry: &recrawl_extractor::ListingEntry| match entry.lastmod {
                0 => format!("{}\n", entry.url),
                lastmod => format!("{} {}\n", entry.url, timestamp(u64::from(lastmod) * 1000)),
            };
            Some(hints.entries.iter().map(line).collect())
        }
        Extracted::Opaque(_) => None,
    }
}

/// Why there is no text before the newest, or none at all.
fn none_before(newest: Option<&Text>, visited: &Visited, settings: &Settings, now: u64) -> Missing {
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
