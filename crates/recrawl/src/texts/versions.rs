//! The archived versions of a page, from the last body back to the first.

use super::{MissingText, missing};
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::{ArchiveReader, timestamp};
use recrawl_crawl::page_rules::PageRule;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{
    BodyFields, CountedPart, DocumentParts, ExtractOptions, Extracted, ExtractedDocument, Markdown,
    PageExtent, extract_document, extract_part, inert, inert_text, markdown,
};
use recrawl_types::{ArchivePosition, CanonicalUrl, Content};
use std::io::{self, ErrorKind};
use std::net::IpAddr;

/// One archived response.
pub struct ArchivedVersion {
    /// Where its record begins.
    pub at: ArchivePosition,
    /// The response.
    pub answer: ArchivedAnswer,
}

impl ArchivedVersion {
    /// Status line and headers, as archived.
    pub fn headers(&self) -> String {
        String::from_utf8_lossy(self.answer.http_head()).replace("\r\n", "\n")
    }
}

/// The versions of a page, newest first. Ends after the first one that cannot be read.
pub struct Versions<'f> {
    archive: &'f ArchiveReader,
    url: &'f CanonicalUrl,
    next: Option<ArchivePosition>,
    max_body: u64,
}

impl<'f> Versions<'f> {
    /// From the position in the page's record; bodies are read up to a limit.
    pub fn new(
        archive: &'f ArchiveReader,
        url: &'f CanonicalUrl,
        last: Option<ArchivePosition>,
        max_body: usize,
    ) -> Versions<'f> {
        Versions { archive, url, next: last, max_body: max_body as u64 }
    }

    /// The version that a page has, by its record: a first answer without text is no change, so the one before it counts.
    pub fn in_force(
        &mut self,
        content: &Content,
        settings: &Settings,
    ) -> Option<Result<ArchivedVersion, MissingText>> {
        let newest = self.next()?;
        let has_text = content.fingerprint.digest != settings.change.fingerprint("").digest;
        let may_be_blank = has_text && content.within_noise & 1 == 1 && self.next.is_some();
        let is_blank = |version: &ArchivedVersion| {
            let part = settings.pages.rule_for(self.url).and_then(PageRule::part);
            match extracted(&version.answer, self.url, settings, part) {
                Extracted::Page(page) => page.text.trim().is_empty(),
                _ => version.answer.body.is_empty(),
            }
        };
        match &newest {
            Ok(version) if may_be_blank && is_blank(version) => self.next(),
            _ => Some(newest),
        }
    }
}

impl Iterator for Versions<'_> {
    type Item = Result<ArchivedVersion, MissingText>;

    fn next(&mut self) -> Option<Result<ArchivedVersion, MissingText>> {
        let at = self.next.take()?;
        Some(read(self.archive, at, self.url, self.max_body).map(|answer| {
            self.next = answer.before();
            ArchivedVersion { at, answer }
        }))
    }
}

/// Where a version begins.
#[derive(Clone, Copy)]
pub struct VersionPlace {
    pub at: ArchivePosition,
    /// Time of the fetch, in seconds since 1970.
    pub time: u64,
    /// The round that fetched it, if it is noted.
    pub round: Option<u32>,
    /// The address that answered, if it is noted.
    pub address: Option<IpAddr>,
}

/// The address that answered.
pub(super) fn address(answer: &ArchivedAnswer) -> Option<IpAddr> {
    answer.field("WARC-IP-Address")?.parse().ok()
}

/// Where the versions of a page begin, newest first. No body is read. Ends after the first one that cannot be read.
pub struct VersionPlaces<'f> {
    archive: &'f ArchiveReader,
    url: &'f CanonicalUrl,
    next: Option<ArchivePosition>,
}

impl<'f> VersionPlaces<'f> {
    /// From the position in the page's record.
    pub fn new(
        archive: &'f ArchiveReader,
        url: &'f CanonicalUrl,
        last: Option<ArchivePosition>,
    ) -> VersionPlaces<'f> {
        VersionPlaces { archive, url, next: last }
    }

    /// Where the next one begins.
    pub fn rest(&self) -> Option<ArchivePosition> {
        self.next
    }
}

impl Iterator for VersionPlaces<'_> {
    type Item = Result<VersionPlace, MissingText>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        let head = checked(ArchivedAnswer::read_head(self.archive, at), self.archive, at, self.url);
        Some(head.map(|head| {
            self.next = head.before();
            VersionPlace { at, time: head.time(), round: head.round(), address: address(&head) }
        }))
    }
}

/// The response at this position, if it is one of this page.
pub fn read(
    archive: &ArchiveReader,
    at: ArchivePosition,
    url: &CanonicalUrl,
    max_body: u64,
) -> Result<ArchivedAnswer, MissingText> {
    checked(ArchivedAnswer::read(archive, at, max_body), archive, at, url)
}

/// What was read at this position, if it is a response of this page.
fn checked(
    read: io::Result<ArchivedAnswer>,
    archive: &ArchiveReader,
    at: ArchivePosition,
    url: &CanonicalUrl,
) -> Result<ArchivedAnswer, MissingText> {
    let file = at.file;
    let answer = read.map_err(|error| match error.kind() {
        ErrorKind::NotFound if archive.files.name(file).is_ok() => missing(
            "removed",
            format!("its body was dropped from WARC file {file}, to make room (storage.keep_versions)"),
        ),
        ErrorKind::NotFound if archive.files.is_before_all(file) => missing(
            "removed",
            format!("its body was in WARC file {file}, which was removed (storage.archive_max)"),
        ),
        ErrorKind::NotFound => {
            missing("unreadable", format!("its body was in WARC file {file}, which is not here"))
        }
        _ => missing("unreadable", error.to_string()),
    })?;
    match (answer.field("WARC-Type"), answer.field("WARC-Target-URI")) {
        (Some("response"), Some(of)) if of == url.as_text() => Ok(answer),
        (Some("metadata"), None) => Err(missing("taken_down", "its body was taken down")),
        _ => Err(missing(
            "unreadable",
            format!("WARC file {file}, byte {}: not a response of this page", at.offset),
        )),
    }
}

/// The text of a body for display: the visible text, as far as this part of the page counts, or the entries of a
/// sitemap or feed.
pub fn text_of(
    answer: &ArchivedAnswer,
    url: &CanonicalUrl,
    settings: &Settings,
    part: Option<&CountedPart>,
) -> Option<String> {
    titled_text_of(answer, url, settings, part).map(|(_, text)| text)
}

/// The same, behind the title of a page that has one.
pub(super) fn titled_text_of(
    answer: &ArchivedAnswer,
    url: &CanonicalUrl,
    settings: &Settings,
    part: Option<&CountedPart>,
) -> Option<(Option<String>, String)> {
    match extracted(answer, url, settings, part) {
        Extracted::Page(page) => Some((page.title, page.text)),
        Extracted::Listing(hints, _) if !hints.text.is_empty() => Some((None, hints.text)),
        Extracted::Listing(hints, _) => {
            let line = |entry: &recrawl_extractor::ListingEntry| match entry.lastmod {
                0 => format!("{}\n", entry.url),
                lastmod => format!("{} {}\n", entry.url, timestamp(u64::from(lastmod) * 1000)),
            };
            Some((None, hints.entries.iter().map(line).collect()))
        }
        Extracted::Opaque(..) => None,
    }
}

/// What the extractor reads in a body, or in what a browser made of it.
pub fn extracted(
    answer: &ArchivedAnswer,
    url: &CanonicalUrl,
    settings: &Settings,
    part: Option<&CountedPart>,
) -> Extracted {
    let content_type = answer.content_type();
    let fields = content_fields(answer, content_type.as_deref(), url, settings);
    extract_part(answer.document(), &fields, url, &settings.rules, &with_language(settings), part)
}

/// A body as Markdown; none if it is neither HTML nor text.
pub fn written(
    answer: &ArchivedAnswer,
    url: &CanonicalUrl,
    settings: &Settings,
    extent: PageExtent,
) -> Option<Markdown> {
    let content_type = answer.content_type();
    let fields = content_fields(answer, content_type.as_deref(), url, settings);
    let part = settings.pages.rule_for(url).map(|rule| &rule.part);
    markdown(answer.document(), &fields, url, &settings.rules, &settings.reading, part, extent)
}

/// Reads the parts of a document in a body.
pub fn document_parts(
    answer: &ArchivedAnswer,
    url: &CanonicalUrl,
    settings: &Settings,
    wanted: DocumentParts<'_>,
) -> ExtractedDocument {
    let content_type = answer.content_type();
    let fields = content_fields(answer, content_type.as_deref(), url, settings);
    let part = settings.pages.rule_for(url).map(|rule| &rule.part);
    let reading = with_language(settings);
    extract_document(answer.document(), &fields, url, &settings.rules, &reading, part, wanted)
}

/// The language is read with the anchors.
fn with_language(settings: &Settings) -> ExtractOptions {
    ExtractOptions { anchors: true, ..settings.reading.clone() }
}

/// The header fields that say how a body is read.
pub(super) fn content_fields<'a>(
    answer: &'a ArchivedAnswer,
    content_type: Option<&'a str>,
    url: &CanonicalUrl,
    settings: &Settings,
) -> BodyFields<'a> {
    let nosniff = answer.http_field("X-Content-Type-Options");
    let sent = BodyFields {
        content_type,
        nosniff: nosniff.is_some_and(|value| value.eq_ignore_ascii_case("nosniff")),
        ..BodyFields::default()
    };
    match answer.rendered {
        Some(_) => sent.rendered(&answer.body, url, &settings.reading.types),
        None => sent,
    }
}

/// What was read as the body of an inert HTML document; none if it is no text.
pub fn inert_body(answer: &ArchivedAnswer, url: &CanonicalUrl, settings: &Settings) -> Option<String> {
    let content_type = answer.content_type();
    let fields = content_fields(answer, content_type.as_deref(), url, settings);
    inert(answer.document(), &fields, url, &settings.reading.types)
        .or_else(|| text_of(answer, url, settings, None).map(|text| inert_text(&text)))
}
