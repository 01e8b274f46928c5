//! One page and its archive, for `recrawl show`, `recrawl page test` and the console.

use super::versions::{VersionPlace, VersionPlaces, read, titled_text_of, written};
use super::{ArchivedText, ArchivedVersion, MissingText, Versions, is_given_out, missing, none_before};
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::{ArchiveReader, opener, timestamp};
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{Markdown, PageExtent};
use recrawl_types::{ArchivePosition, CanonicalUrl, Visited};
use std::sync::Arc;

/// Versions of a page that are read at most. Each is a read at another place of the disk.
pub const MAX_VERSIONS: usize = 1000;

/// How one version of a page is named.
#[derive(Clone, Copy, Debug)]
pub enum WhichVersion {
    /// By its number, from 1, the newest.
    Number(usize),
    /// By where it begins.
    At(ArchivePosition),
    /// The newest that is not after this second since 1970.
    Until(u64),
}

/// Where a version begins.
pub struct FoundVersion {
    /// Its number, from 1, the newest.
    pub number: usize,
    pub place: VersionPlace,
    /// The version that replaced it.
    pub newer: Option<VersionPlace>,
}

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
    pub fn open(
        settings: Arc<Settings>,
        url: CanonicalUrl,
        visited: Option<Visited>,
    ) -> Result<ArchivedPage, MissingText> {
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
        Versions::new(&self.archive, &self.url, self.visited.content.newest_version(), max_body)
    }

    /// Where its versions begin, newest first, as far as they are looked through.
    pub fn places(&self) -> impl Iterator<Item = Result<VersionPlace, MissingText>> {
        VersionPlaces::new(&self.archive, &self.url, self.visited.content.newest_version()).take(MAX_VERSIONS)
    }

    /// Where a version begins. A position that no record of the page leads to is unknown, whatever the archive holds
    /// there. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    /// That there is none, which ones there are, or why one cannot be read.
    pub fn find(&self, which: WhichVersion, now: u64) -> Result<FoundVersion, MissingText> {
        let mut newer: Option<VersionPlace> = None;
        let mut known = 0;
        for place in self.places() {
            known += 1;
            let place = place.map_err(|MissingText { none, why }| match &newer {
                None => MissingText { none, why },
                Some(last) => {
                    let oldest = timestamp(last.time * 1000);
                    missing(
                        none,
                        format!("version {known}: {why}; the oldest that can be read is of {oldest}"),
                    )
                }
            })?;
            let is_meant = match which {
                WhichVersion::Number(number) => known == number,
                WhichVersion::At(at) => place.at == at,
                WhichVersion::Until(time) => place.time <= time,
            };
            if is_meant {
                return Ok(FoundVersion { number: known, place, newer });
            }
            newer = Some(place);
        }
        let Some(oldest) = newer else { return Err(self.none(now)) };
        let oldest = timestamp(oldest.time * 1000);
        let is_cut = known == MAX_VERSIONS;
        Err(match which {
            WhichVersion::At(_) => missing("unknown", "no archived version of the page begins there"),
            WhichVersion::Number(n) if is_cut => {
                missing("unknown", format!("version {n}: only the last {MAX_VERSIONS} are shown"))
            }
            WhichVersion::Number(n) => missing("unknown", format!("version {n}: only {known} archived")),
            WhichVersion::Until(_) if is_cut => missing(
                "unknown",
                format!(
                    "only the last {MAX_VERSIONS} versions are shown, and the oldest of them is of {oldest}"
                ),
            ),
            WhichVersion::Until(_) => missing(
                "unknown",
                format!("no version is so old; the oldest that is archived is of {oldest}"),
            ),
        })
    }

    /// Reads a version, its body up to a limit.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(&self, at: ArchivePosition, max_body: usize) -> Result<ArchivedVersion, MissingText> {
        let answer = read(&self.archive, at, &self.url, max_body as u64)?;
        Ok(ArchivedVersion { at, answer })
    }

    /// The version before this one.
    ///
    /// # Errors
    /// That there is none, or why it cannot be read.
    pub fn before(&self, version: &ArchivedVersion) -> Result<ArchivedVersion, MissingText> {
        let at = version.answer.before();
        let at = at.ok_or_else(|| missing("one_text", "no version before this one is archived"))?;
        self.read(at, self.settings.max_archived_body())
    }

    /// Why there is no version at all. `now` is in milliseconds since 1970.
    pub fn none(&self, now: u64) -> MissingText {
        none_before(None, &self.visited, &self.settings, now)
    }

    /// The text of a version, as far as the page's rule lets it count.
    ///
    /// # Errors
    /// That the version is a redirect, or no text.
    pub fn text(&self, version: &ArchivedVersion) -> Result<ArchivedText, MissingText> {
        let (_, text) = titled_text(version, &self.url, &self.settings)?;
        Ok(ArchivedText { time: version.answer.time(), at: version.at, text })
    }
}

/// The title of a version, if it has one, and its text, as far as the page's rule lets it count.
///
/// # Errors
/// That the version is a redirect, or no text.
pub fn titled_text(
    ArchivedVersion { answer, .. }: &ArchivedVersion,
    url: &CanonicalUrl,
    settings: &Settings,
) -> Result<(Option<String>, String), MissingText> {
    let part = settings.pages.rule_for(url).map(|rule| &rule.part);
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
    ArchivedVersion { answer, .. }: &ArchivedVersion,
    url: &CanonicalUrl,
    settings: &Settings,
    extent: PageExtent,
) -> Result<Markdown, MissingText> {
    let is_page = (200..300).contains(&answer.status());
    let found = if is_page { written(answer, url, settings, extent) } else { None };
    found.ok_or_else(|| no_text(answer))
}

/// Why a version has no text.
fn no_text(answer: &ArchivedAnswer) -> MissingText {
    let what = match answer.http_field("Location").filter(|_| (300..400).contains(&answer.status())) {
        Some(target) => format!("a redirect to {target}"),
        None => format!("no text ({})", media_type(answer)),
    };
    missing("no_text", format!("the version of {} is {what}", timestamp(answer.time() * 1000)))
}

/// The declared media type of a response, without parameters.
pub fn media_type(answer: &ArchivedAnswer) -> String {
    let declared = answer.http_field("Content-Type");
    let declared = declared.as_deref().and_then(|value| value.split(';').next()).map(str::trim);
    declared.filter(|kind| !kind.is_empty()).unwrap_or("of no declared type").to_owned()
}
