//! Pages that a target should hold.

use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::scope::ScopeRefusal;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_repository::storage::Storage;
use recrawl_repository::{DocumentState, Generation, PageRecords, ReadError};
use recrawl_types::{
    ArchivePosition, CanonicalUrl, ContentKind, History, Known, PageRecord, PageStatus, Site,
};
use std::cell::Cell;
use xxhash_rust::xxh3::xxh3_64;

/// A commit whose pages are delivered.
pub struct Committed<'c> {
    /// The configuration, whose scope admits the sites of the seeds, with the takedowns.
    pub settings: &'c Settings,
    /// Operators' blocks.
    pub blocks: Blocks,
    /// The pages.
    pub generation: &'c Generation,
    /// The data directory.
    pub storage: &'c dyn Storage,
    /// The time in milliseconds since 1970. It is the version of what is sent, unless a later one was sent.
    pub now: u64,
    /// Pages whose documents the scope keeps from the target that was read last.
    pub outside: Cell<u64>,
}

/// The pages of a target, in the order of URLs, each with its state.
pub fn pages<'c>(
    committed: &'c Committed<'c>,
    target: &'c DeliverTarget,
    is_ended: &'c dyn Fn() -> bool,
) -> WantedReader<'c> {
    committed.outside.set(0);
    WantedReader { records: committed.generation.records(), committed, target, is_ended }
}

/// Reads all pages once.
pub struct WantedReader<'c> {
    records: PageRecords<'c>,
    committed: &'c Committed<'c>,
    target: &'c DeliverTarget,
    is_ended: &'c dyn Fn() -> bool,
}

impl Iterator for WantedReader<'_> {
    type Item = Result<(CanonicalUrl, DocumentState), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if (self.is_ended)() {
                return Some(Err(Failure::Work("the program ends, or has another configuration".into())));
            }
            let (_, key, record) = match self.records.next_record() {
                Ok(next) => next?,
                Err(e) => return Some(Err(Failure::work(e))),
            };
            let url = match CanonicalUrl::from_key(key) {
                Ok(url) => url,
                Err(e) => return Some(Err(Failure::work(e))),
            };
            let Some(state) = state(&record, self.target) else { continue };
            let outside = &self.committed.outside;
            outside.set(outside.get() + u64::from(self.is_outside(&url)));
            if !self.is_admitted(&url, &record) {
                continue;
            }
            match self.is_folded(&url, &record) {
                Ok(true) => {}
                Ok(false) => return Some(Ok((url, state))),
                Err(e) => return Some(Err(Failure::work(e))),
            }
        }
    }
}

impl WantedReader<'_> {
    fn is_outside(&self, url: &CanonicalUrl) -> bool {
        let own = |refusal: &ScopeRefusal| {
            !matches!(refusal, ScopeRefusal::OptedOut(_) | ScopeRefusal::TakenDown(_))
        };
        self.target.wants(url)
            && self.committed.settings.scope.refuse(url).is_some_and(|refusal| own(&refusal))
    }

    /// Is the page a duplicate of one of its site that has a document? One that names another page itself counts for none,
    /// so of two that name each other both stay.
    fn is_folded(&self, url: &CanonicalUrl, record: &PageRecord) -> Result<bool, ReadError> {
        let canonical = |record: &PageRecord| {
            record.visited.as_ref().and_then(|visited| visited.content.consent.canonical.other().cloned())
        };
        let named = canonical(record)
            .filter(|named| self.target.folds && Site::from_url(named) == Site::from_url(url));
        let Some(named) = named else { return Ok(false) };
        let Some((_, other)) = self.committed.generation.get(&named)? else { return Ok(false) };
        let has_document = state(&other, self.target).is_some() && self.is_admitted(&named, &other);
        Ok(has_document && canonical(&other).is_none())
    }

    fn is_admitted(&self, url: &CanonicalUrl, record: &PageRecord) -> bool {
        let Committed { settings, blocks, now, .. } = self.committed;
        let Settings { scope, config, .. } = settings;
        let forbids = |record: &PageRecord| {
            let consent = record.visited.as_ref().map(|visited| &visited.content.consent);
            config.consent.noindex && consent.is_some_and(|consent| consent.forbids_index(now / 1000))
        };
        self.target.wants(url)
            && !forbids(record)
            // Opted out, taken down, or out of scope by a rule of today.
            && scope.refuse(url).is_none()
            && blocks.cover(url).is_none()
    }
}

/// The state of a page's document; none if there is none. A page that robots.txt closes keeps its document: it was not
/// looked at, which does not mean that it is gone.
fn state(record: &PageRecord, target: &DeliverTarget) -> Option<DocumentState> {
    let Known { status, not_found, .. } = record.known;
    let is_there = status != PageStatus::Gone && !(target.deletes_missing && not_found > 0);
    let visited = record.visited.as_ref().filter(|_| is_there)?;
    let (History { changes, first, last_change, .. }, content) = (&visited.history, &visited.content);
    if content.kind != ContentKind::Text {
        return None;
    }
    let ArchivePosition { file, offset } = content.body()?;
    let parts =
        [*changes, first.0, last_change.0, content.rule, target.shape as u32, (target.shape >> 32) as u32];
    let page = xxh3_64(&parts.map(u32::to_le_bytes).concat());
    let capture = xxh3_64(&[u64::from(file), offset].map(u64::to_le_bytes).concat());
    Some(DocumentState { page, capture })
}
