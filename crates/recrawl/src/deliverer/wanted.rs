//! Pages that a target should hold.

use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, Records};
use recrawl_types::{CanonicalUrl, ContentKind, History, PageRecord, Status};
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
}

/// The pages of a target, in the order of URLs, each with its state.
pub fn pages<'c>(
    committed: &'c Committed<'c>,
    target: &'c DeliverTarget,
    is_ended: &'c dyn Fn() -> bool,
) -> Pages<'c> {
    Pages { records: committed.generation.records(), committed, target, is_ended }
}

/// Reads all pages once.
pub struct Pages<'c> {
    records: Records<'c>,
    committed: &'c Committed<'c>,
    target: &'c DeliverTarget,
    is_ended: &'c dyn Fn() -> bool,
}

impl Iterator for Pages<'_> {
    type Item = Result<(CanonicalUrl, u64), Failure>;

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
            if let Some(state) = state(&record, self.target).filter(|_| self.is_wanted(&url, &record)) {
                return Some(Ok((url, state)));
            }
        }
    }
}

impl Pages<'_> {
    fn is_wanted(&self, url: &CanonicalUrl, record: &PageRecord) -> bool {
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
fn state(record: &PageRecord, target: &DeliverTarget) -> Option<u64> {
    let visited = record.visited.as_ref().filter(|_| record.known.status != Status::Gone)?;
    let (History { changes, first, last_change, .. }, content) = (&visited.history, &visited.content);
    if content.kind != ContentKind::Text {
        return None;
    }
    content.archive?;
    let parts =
        [*changes, first.0, last_change.0, content.rule, target.shape as u32, (target.shape >> 32) as u32];
    Some(xxh3_64(&parts.map(u32::to_le_bytes).concat()))
}
