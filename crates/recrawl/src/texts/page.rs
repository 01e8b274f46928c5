//! One page and its archive, for `recrawl show`, `recrawl page test` and the console.

use super::versions::{Places, read, titled_text_of, written};
use super::{Missing, Text, Version, Versions, is_given_out, missing, none_before};
use recrawl_archive::answer::Answer;
use recrawl_archive::{ArchiveReader, opener, timestamp};
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Markdown, PageExtent};
use recrawl_types::{ArchivePosition, CanonicalUrl, Visited};
use std::sync::Arc;

/// Versions of a page that are read at most. Each is a read at another place of the disk.
pub const MAX_VERSIONS: usize = 1000;

/// A page that was visited, with its archive.
pub struct ArchivedPage {
    pub settings: Arc<Settings>,
    pub url: CanonicalUrl,
    pub visited: Visited,
    pub archive: ArchiveReader,
}

impl ArchivedPage {
    /// The page of a record.
    ///
    /// # Errors
    /// Why nothing of it is kept or given out, or that the archive cannot be opened.
    pub fn of(
        settings: Arc<Settings>,
        url: CanonicalUrl,
        visited: Option<Visited>,
    ) -> Result<ArchivedPage, Missing> {
        is_given_out(&url, &settings)?;
        let never = || missing("never_fetched", format!("never fetched; recrawl explain {url} says why"));
        let visited = visited.ok_or_else(never)?;
        let archive = opener::open(&settings.data_dir).and_then(ArchiveReader::open);
        let archive = archive.map_err(|error| missing("unreadable", error.to_string()))?;
        Ok(ArchivedPage { settings, url, visited, archive })
    }

    /// Its versions, newest first.
    pub fn versions(&self) -> Versions<'_> {
        let max_body = self.settings.max_archived_body();
        Versions::of(&self.archive, &self.url, self.visited.content.archive, max_body)
    }

    /// The version at this position, with its number, from 1. A position that no record of the page leads to is
    /// unknown, whatever the archive holds there.
    ///
    /// # Errors
    /// That it is unknown, or why it cannot be read.
    pub fn version_at(&self, at: ArchivePosition, max_body: usize) -> Result<(usize, Version), Missing> {
        let places = Places::of(&self.archive, &self.url, self.visited.content.archive).take(MAX_VERSIONS);
        for (before, place) in places.enumerate() {
            if place?.at == at {
                let answer = read(&self.archive, at, &self.url, max_body as u64)?;
                return Ok((before + 1, Version { at, answer }));
            }
        }
        Err(missing("unknown", "no archived version of the page begins there"))
    }

    /// The version before this one.
    ///
    /// # Errors
    /// That there is none, or why it cannot be read.
    pub fn before(&self, version: &Version) -> Result<Version, Missing> {
        let at = version.answer.before();
        let at = at.ok_or_else(|| missing("one_text", "no version before this one is archived"))?;
        let answer = read(&self.archive, at, &self.url, self.settings.max_archived_body() as u64)?;
        Ok(Version { at, answer })
    }

    /// Why there is no version at all. `now` is in milliseconds since 1970.
    pub fn none(&self, now: u64) -> Missing {
        none_before(None, &self.visited, &self.settings, now)
    }

    /// The text of a version, as far as the page's rule lets it count.
    ///
    /// # Errors
    /// That the version is a redirect, or no text.
    pub fn text(&self, version: &Version) -> Result<Text, Missing> {
        let (_, text) = titled_text(version, &self.url, &self.settings)?;
        Ok(Text { time: version.answer.time(), at: version.at, text })
    }
}

/// The title of a version, if it has one, and its text, as far as the page's rule lets it count.
///
/// # Errors
/// That the version is a redirect, or no text.
pub fn titled_text(
    Version { answer, .. }: &Version,
    url: &CanonicalUrl,
    settings: &Settings,
) -> Result<(Option<String>, String), Missing> {
    let part = settings.pages.of(url).map(|rule| &rule.part);
    // A redirect has no text of its own.
    let is_page = (200..300).contains(&answer.status());
    let found = if is_page { titled_text_of(answer, url, settings, part) } else { None };
    found.ok_or_else(|| no_text(answer))
}

/// A version as Markdown, as far as the page's rule lets it count.
///
/// # Errors
/// That the version is a redirect, or neither HTML nor text.
pub fn markdown_of(
    Version { answer, .. }: &Version,
    url: &CanonicalUrl,
    settings: &Settings,
    extent: PageExtent,
) -> Result<Markdown, Missing> {
    let is_page = (200..300).contains(&answer.status());
    let found = if is_page { written(answer, url, settings, extent) } else { None };
    found.ok_or_else(|| no_text(answer))
}

/// Why a version has no text.
fn no_text(answer: &Answer) -> Missing {
    let what = match answer.http_field("Location").filter(|_| (300..400).contains(&answer.status())) {
        Some(target) => format!("a redirect to {target}"),
        None => format!("no text ({})", media_type(answer)),
    };
    missing("no_text", format!("the version of {} is {what}", timestamp(answer.time() * 1000)))
}

/// The declared media type of a response, without parameters.
pub fn media_type(answer: &Answer) -> String {
    let declared = answer.http_field("Content-Type");
    let declared = declared.as_deref().and_then(|value| value.split(';').next()).map(str::trim);
    declared.filter(|kind| !kind.is_empty()).unwrap_or("of no declared type").to_owned()
}
