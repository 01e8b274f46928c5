//! Requisites in the archive: the look of a page at some time.

use super::versions::{Place, content_fields, read};
use super::{Places, is_given_out};
use recrawl_archive::ArchiveReader;
use recrawl_archive::answer::Answer;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{
    ArchivedRequisite, Fields, Looked, Requisite, RequisiteKind, inert_look, requisites, style_requisites,
};
use recrawl_repository::SledTables;
use recrawl_types::CanonicalUrl;
use std::collections::{HashMap, HashSet};
use std::io;

/// Seconds by which a requisite may be younger than its page: they are asked for after it, each when its host may be.
const LATER: u64 = 3600;
/// Captures of a requisite that are passed at most.
const MAX_PASSED: usize = 1000;
/// Bytes of bodies that are read for the look of a page, also of those that are of no use.
const MAX_READ: usize = 64 << 20;
/// Redirects that are followed for one.
const MAX_REDIRECTS: usize = 5;

/// The requisites in an archive.
pub struct ArchivedRequisites<'a> {
    pub tables: &'a SledTables,
    pub archive: &'a ArchiveReader,
    pub settings: &'a Settings,
}

impl ArchivedRequisites<'_> {
    /// Was any archived?
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn are_archived(&self) -> io::Result<bool> {
        self.tables.requisites().next().transpose().map(|row| row.is_some())
    }

    /// The capture for a page of this time, in seconds since 1970: the last one before it or soon after it, or else the
    /// first.
    pub fn place(&self, url: &CanonicalUrl, time: u64) -> Option<Place> {
        is_given_out(url, self.settings).ok()?;
        let row = self.tables.requisite(url).inspect_err(|e| tracing::warn!(%url, "{e}")).ok()??;
        let places = Places::of(self.archive, url, Some(row.archive));
        let mut first = None;
        for (passed, place) in places.map_while(Result::ok).enumerate() {
            let is_it = place.time <= time.saturating_add(LATER);
            first = Some(place);
            if is_it {
                break;
            }
            // Nobody knows how far the right one is.
            if passed == MAX_PASSED {
                return None;
            }
        }
        first
    }

    fn answer(&self, url: &CanonicalUrl, place: &Place) -> Option<Answer> {
        read(self.archive, place.at, url, self.settings.max_archived_body() as u64).ok()
    }

    /// The body for a page of this time, behind redirects.
    fn get(&self, url: &CanonicalUrl, time: u64) -> Option<ArchivedRequisite> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let place = self.place(&url, time)?;
            let answer = self.answer(&url, &place)?;
            match answer.target(&url) {
                Some(target) => url = target,
                None => {
                    let content_type = answer.content_type();
                    return Some(ArchivedRequisite { url, content_type, body: answer.body.into() });
                }
            }
        }
        None
    }

    /// A version of a page as an inert document with its look; none if it is not HTML.
    pub fn look(&self, answer: &Answer, url: &CanonicalUrl) -> Option<Looked> {
        let content_type = answer.content_type();
        let fields = content_fields(answer, content_type.as_deref(), url, self.settings);
        let mut known: HashMap<CanonicalUrl, Option<ArchivedRequisite>> = HashMap::new();
        let mut room = MAX_READ;
        let mut get = |url: &CanonicalUrl, _: RequisiteKind| {
            if let Some(found) = known.get(url) {
                return found.clone();
            }
            let found = if room == 0 { None } else { self.get(url, answer.time()) };
            room = room.saturating_sub(found.as_ref().map_or(0, |found| found.body.len()));
            known.insert(url.clone(), found.clone());
            found
        };
        inert_look(answer.document(), &fields, url, &self.settings.reading.types, &mut get)
    }

    /// Passes on each requisite of a version of a page, with its capture.
    pub fn of_version(
        &self,
        answer: &Answer,
        url: &CanonicalUrl,
        each: &mut dyn FnMut(&CanonicalUrl, &Place),
    ) {
        let time = answer.time();
        let content_type = answer.content_type();
        let fields = content_fields(answer, content_type.as_deref(), url, self.settings);
        let types = &self.settings.reading.types;
        let mut wanted = requisites(answer.document(), &fields, url, types);
        let mut seen: HashSet<CanonicalUrl> = wanted.iter().map(|requisite| requisite.url.clone()).collect();
        while let Some(Requisite { url, kind }) = wanted.pop() {
            let Some(place) = self.place(&url, time) else { continue };
            each(&url, &place);
            let Some(answer) = self.answer(&url, &place) else { continue };
            let content_type = answer.content_type();
            let named = match answer.target(&url) {
                Some(url) => vec![Requisite { url, kind }],
                None if kind == RequisiteKind::Style => {
                    style_requisites(&answer.body, content_type.as_deref(), &url)
                }
                None if kind == RequisiteKind::Frame => {
                    let fields = Fields { content_type: content_type.as_deref(), ..Fields::default() };
                    requisites(&answer.body, &fields, &url, types)
                }
                None => Vec::new(),
            };
            wanted.extend(named.into_iter().filter(|requisite| seen.insert(requisite.url.clone())));
        }
    }
}
