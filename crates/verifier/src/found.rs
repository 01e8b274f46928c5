//! Links to one URL that another crawl found, of those that divide all URLs.

use crate::touch::{self, Links};
use recrawl_repository::Malformed;

/// Links to one URL that another crawl may tell of at once: more come from no round.
const MAX_SEEN: u64 = u32::MAX as u64;

/// Links to one URL, as another crawl found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundLinks(Links);

impl FoundLinks {
    /// Reads a record of [`SortedLinks`](crate::SortedLinks), which may come from anybody.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(value: &[u8]) -> Result<FoundLinks, Malformed> {
        let links = touch::take_links_alone(value)?;
        let is_counted = (1..=MAX_SEEN).contains(&links.seen) && u64::from(links.counted) <= links.seen;
        match is_counted && !links.seed {
            true => Ok(FoundLinks(links)),
            false => Err(Malformed("links that no crawl sends")),
        }
    }

    /// In parts that an entry has room for.
    pub(crate) fn parts(self) -> impl Iterator<Item = Links> {
        const ROOM: u64 = u16::MAX as u64;
        let FoundLinks(links) = self;
        (0..links.seen.div_ceil(ROOM)).map(move |part| {
            let of = |number: u64| number.saturating_sub(part * ROOM).min(ROOM);
            Links { seen: of(links.seen), counted: of(links.counted.into()) as u32, ..links }
        })
    }

    /// Does no page link to it, but only a sitemap or feed list it?
    pub fn is_only_listed(&self) -> bool {
        self.0.listed
    }

    /// Minimum number of consecutive redirects.
    pub fn hops(&self) -> u8 {
        self.0.hops
    }
}
