//! Requisites in the archive: the look of a page at some time.

use super::versions::{VersionPlace, address, content_fields, read};
use super::{VersionPlaces, is_given_out};
use recrawl_archive::ArchiveReader;
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_crawl::admission::loading::{LoadRules, is_inside};
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{
    ArchivedRequisite, BodyFields, Looked, Requisite, RequisiteKind, inert_look, requisites,
};
use recrawl_repository::{RequisiteRow, SledTables};
use recrawl_types::{ArchivePosition, CanonicalUrl};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;

/// Seconds by which a requisite may be younger than its page, where no round is noted: they are asked for after it.
const LATER: u64 = 3600;
/// Captures of a requisite that are passed at most.
const MAX_PASSED: usize = 1000;
/// Requisites, their captures, and requisites named by captures, that are known at a time: some 100 MB.
const MAX_KNOWN: usize = 1 << 19;
/// Bytes of bodies that are read for the look of a page, also of those that are of no use.
const MAX_READ: usize = 64 << 20;
/// Redirects that are followed for one.
const MAX_REDIRECTS: usize = 5;

/// Requisites that documents and style sheets of the archive name.
type RequisitesByCapture = HashMap<(ArchivePosition, RequisiteKind), Rc<[Requisite]>>;

/// The requisites in an archive. Each capture is read once, however many versions of pages have it.
pub struct ArchivedRequisites<'a> {
    tables: &'a SledTables,
    archive: &'a ArchiveReader,
    settings: &'a Settings,
    chains: RefCell<HashMap<CanonicalUrl, CaptureChain>>,
    named: RefCell<RequisitesByCapture>,
    /// In both.
    known: Cell<usize>,
}

/// The captures of a requisite, newest first, as far as they were asked for.
#[derive(Default)]
struct CaptureChain {
    places: Vec<VersionPlace>,
    rest: Option<ArchivePosition>,
}

/// The visit that fetched a version of a page.
struct PageVisit<'p> {
    /// In seconds since 1970.
    time: u64,
    round: Option<u32>,
    rules: LoadRules<'p>,
}

impl<'p> PageVisit<'p> {
    fn new(answer: &ArchivedAnswer, url: &'p CanonicalUrl, settings: &'p Settings) -> PageVisit<'p> {
        let rules = LoadRules::answered_by(url, address(answer), &settings.scope);
        PageVisit { time: answer.time(), round: answer.round(), rules }
    }

    /// Was it captured by then? A round asks for the requisites of its pages.
    fn has(&self, place: &VersionPlace) -> bool {
        match (place.round, self.round) {
            (Some(captured), Some(round)) => captured <= round,
            _ => place.time <= self.time.saturating_add(LATER),
        }
    }
}

impl<'a> ArchivedRequisites<'a> {
    /// Of this archive.
    pub fn new(tables: &'a SledTables, archive: &'a ArchiveReader, settings: &'a Settings) -> Self {
        let (chains, named, known) = Default::default();
        ArchivedRequisites { tables, archive, settings, chains, named, known }
    }

    /// Was any archived? A damaged row leads to none.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn are_archived(&self) -> io::Result<bool> {
        let mut skipped = |_| {};
        let mut rows = self.tables.requisites(&mut skipped);
        rows.find_map(|row| row.map(|(_, row)| row.is_archived().then_some(true)).transpose())
            .unwrap_or(Ok(false))
    }

    /// The capture for a version of a page: the last one of its round or before, or else the first. None of an inside
    /// address that the page may not ask.
    fn place(&self, url: &CanonicalUrl, visit: &PageVisit<'_>) -> Option<VersionPlace> {
        is_given_out(url, self.settings).ok()?;
        self.make_room();
        let mut chains = self.chains.borrow_mut();
        let chain = chains.entry(url.clone()).or_insert_with(|| {
            self.known.update(|known| known + 1);
            let row = self.tables.requisite(url).inspect_err(|e| tracing::warn!(%url, "{e}"));
            let row = row.ok().flatten().filter(RequisiteRow::is_archived);
            CaptureChain { places: Vec::new(), rest: row.map(|row| row.archive) }
        });
        let mut at = 0;
        let place = loop {
            if at == chain.places.len() {
                let mut places = VersionPlaces::new(self.archive, url, chain.rest);
                let next = places.next().and_then(Result::ok);
                chain.rest = places.rest().filter(|_| next.is_some());
                let Some(next) = next else { break chain.places.last()? };
                chain.places.push(next);
                self.known.update(|known| known + 1);
            }
            if visit.has(&chain.places[at]) {
                break &chain.places[at];
            }
            at += 1;
            // Nobody knows how far the right one is.
            if at > MAX_PASSED {
                return None;
            }
        };
        let may_ask = !is_inside(url, place.address) || !visit.rules.is_public_only(url);
        may_ask.then_some(*place)
    }

    /// Forgets what is known once it is too much.
    fn make_room(&self) {
        if self.known.get() > MAX_KNOWN {
            self.chains.take();
            self.named.take();
            self.known.set(0);
        }
    }

    fn answer(&self, url: &CanonicalUrl, place: &VersionPlace) -> Option<ArchivedAnswer> {
        read(self.archive, place.at, url, self.settings.max_archived_body() as u64).ok()
    }

    /// The body for a version of a page, behind redirects.
    fn get(&self, url: &CanonicalUrl, visit: &PageVisit<'_>) -> Option<ArchivedRequisite> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let place = self.place(&url, visit)?;
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
    pub fn look(&self, answer: &ArchivedAnswer, url: &CanonicalUrl) -> Option<Looked> {
        let content_type = answer.content_type();
        let fields = content_fields(answer, content_type.as_deref(), url, self.settings);
        let visit = PageVisit::new(answer, url, self.settings);
        let mut known: HashMap<CanonicalUrl, Option<ArchivedRequisite>> = HashMap::new();
        let mut room = MAX_READ;
        let mut get = |url: &CanonicalUrl, _: RequisiteKind| {
            if let Some(found) = known.get(url) {
                return found.clone();
            }
            let found = if room == 0 { None } else { self.get(url, &visit) };
            room = room.saturating_sub(found.as_ref().map_or(0, |found| found.body.len()));
            known.insert(url.clone(), found.clone());
            found
        };
        inert_look(answer.document(), &fields, url, &self.settings.reading.types, &mut get)
    }

    /// Passes on each requisite of a version of a page, with its capture, and whether the page may ask inside addresses for
    /// it.
    pub fn of_version(
        &self,
        answer: &ArchivedAnswer,
        url: &CanonicalUrl,
        each: &mut dyn FnMut(&CanonicalUrl, &VersionPlace, bool),
    ) {
        let visit = PageVisit::new(answer, url, self.settings);
        let content_type = answer.content_type();
        let fields = content_fields(answer, content_type.as_deref(), url, self.settings);
        let mut wanted = requisites(answer.document(), &fields, url, &self.settings.reading.types);
        let mut seen: HashSet<CanonicalUrl> = wanted.iter().map(|requisite| requisite.url.clone()).collect();
        while let Some(requisite) = wanted.pop() {
            let Some(place) = self.place(&requisite.url, &visit) else { continue };
            each(&requisite.url, &place, !visit.rules.is_public_only(&requisite.url));
            let named = self.named_by(&requisite, &place);
            wanted.extend(named.iter().filter(|named| seen.insert(named.url.clone())).cloned());
        }
    }

    /// The requisites that a capture names.
    fn named_by(&self, requisite: &Requisite, place: &VersionPlace) -> Rc<[Requisite]> {
        let Requisite { url, kind } = requisite;
        if let Some(named) = self.named.borrow().get(&(place.at, *kind)) {
            return named.clone();
        }
        let named = self.answer(url, place).map(|answer| {
            let content_type = answer.content_type();
            let fields = BodyFields { content_type: content_type.as_deref(), ..BodyFields::default() };
            match answer.target(url) {
                Some(url) => vec![Requisite { url, kind: *kind }],
                None => requisite.named_in(&answer.body, &fields, &self.settings.reading.types),
            }
        });
        let named: Rc<[Requisite]> = named.unwrap_or_default().into();
        self.known.update(|known| known + 1 + named.len());
        self.named.borrow_mut().insert((place.at, *kind), named.clone());
        named
    }
}

#[cfg(test)]
mod tests;
