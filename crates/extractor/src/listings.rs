//! Sitemaps and feeds: the pages that a host lists, and their modification dates.
//!
//! The content decides, not the Content-Type (module `detect`), also inside gzip. A document is read in one pass,
//! without a tree. Entries before damage, or before a limit, count.

mod address;
mod bases;
mod detect;
mod formats;
mod gzip;
mod hub;
mod items;
mod json;
mod list;
mod values;
mod xml;

pub use hub::Hub;

use crate::base::ReferenceResolver;
use crate::canonical::links_of_page;
use crate::media::MediaType;
use crate::{BodyFields, ExtractLimits, MAX_FEEDS, date, scope};
use detect::{DocumentFormat, ListingDecoder};
use hub::HubLinks;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use values::EntryValues;

/// Maximum bytes of all URLs of one document: a visit is one record of the log. With the 50,000
/// entries of a full sitemap, this is 670 bytes each.
const MAX_ADDRESSES: usize = 32 << 20;

/// A parsed sitemap or feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Which kind of document it is.
    pub kind: ListingKind,
    /// The entries, in order. Duplicates are kept; the document's own URL is not.
    pub entries: Vec<ListingEntry>,
    /// Entries without a usable URL.
    pub refused: u32,
    /// Entries not read because a limit was reached.
    pub over_limit: u32,
    /// What the items of a feed say: of each the URL, date, title and text, on lines of their own. Empty for sitemaps.
    pub text: String,
    /// Pages that the document links to beside its entries, each once, at most [`MAX_FEEDS`]: those that `Link` fields
    /// name, then the next and the archived pages of a feed.
    pub further: Vec<CanonicalUrl>,
    /// The hub of a feed.
    pub hub: Option<Hub>,
    /// If reading stopped early: where and why.
    pub damage: Option<String>,
    /// Cost of reading, in the unit of [`PageContent::work`](crate::PageContent::work): its
    /// unpacked bytes.
    pub work: u64,
}

/// A kind of sitemap or feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingKind {
    /// An index of sitemaps (sitemaps.org, "Using Sitemap index files").
    Index,
    /// A sitemap in XML (sitemaps.org, "XML tag definitions").
    #[default]
    Urlset,
    /// A sitemap in plain text (sitemaps.org, "Text file").
    Text,
    /// RSS 2.0 and its forebears.
    Rss,
    /// RSS 1.0.
    Rdf,
    /// Atom (RFC 4287).
    Atom,
    /// JSON Feed.
    Json,
}

impl ListingKind {
    /// Whether it is a feed, whose author may link to any host.
    pub fn is_feed(self) -> bool {
        matches!(self, ListingKind::Rss | ListingKind::Rdf | ListingKind::Atom | ListingKind::Json)
    }
}

/// An entry of a sitemap or feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingEntry {
    /// The URL of the page.
    pub url: CanonicalUrl,
    /// Modification date in seconds since 1970; 0 if it is missing or not understood.
    pub lastmod: u32,
}

impl Listing {
    /// The bytes to compare between visits: entries and dates, and what the items of a feed say, without what servers
    /// add to each copy.
    pub fn comparable_bytes(&self) -> Vec<u8> {
        let mut bytes = self.entry_bytes();
        bytes.extend_from_slice(self.text.as_bytes());
        bytes
    }

    /// The same of entries and dates alone, which earlier releases compared.
    pub fn entry_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.entries.iter().map(|e| e.url.key().len() + 8).sum());
        for entry in &self.entries {
            bytes.extend_from_slice(&(entry.url.key().len() as u32).to_le_bytes());
            bytes.extend_from_slice(entry.url.key());
            bytes.extend_from_slice(&entry.lastmod.to_le_bytes());
        }
        bytes
    }
}

/// Parses a body as a sitemap or feed; `None` if it is neither.
pub(crate) fn read(
    body: &[u8],
    fields: &BodyFields<'_>,
    media: &MediaType,
    url: &CanonicalUrl,
    rules: &UrlRules,
    limits: &ExtractLimits,
) -> Option<Listing> {
    let (bytes, cut) = match gzip::is_gzip(body) {
        true => gzip::unpack(body, limits.max_unpacked),
        false => (Cow::Borrowed(body), None),
    };
    let decoder = ListingDecoder { label: media.charset.as_deref(), host: &url.host() };
    let document = detect::detect(&bytes, &decoder, media)?;
    let mut found = EntryCollector {
        listing: Listing {
            kind: document.format.kind(),
            damage: cut,
            work: bytes.len() as u64,
            ..Listing::default()
        },
        own: url,
        resolver: ReferenceResolver::new(url, None, rules),
        hub: HubLinks::new(url),
        limit: limits.max_entries,
        max_text: limits.max_text,
        room: MAX_ADDRESSES,
        alternates: BTreeSet::new(),
    };
    fields.links.iter().for_each(|value| found.header(value));
    let text = decoder.text(document.bytes, document.format.syntax());
    let is_listing = match document.format {
        DocumentFormat::Xml(format) => {
            xml::read(&text, format, &mut found);
            // Words that only speak of a sitemap have an empty one.
            !document.is_behind_others || !found.listing.entries.is_empty()
        }
        DocumentFormat::Json => json::read(&text, &mut found),
        DocumentFormat::List => {
            list::read(&text, &mut found);
            true
        }
    };
    found.add_alternates();
    is_listing.then(|| Listing { hub: found.hub.decide(), ..found.listing })
}

/// Collects entries within the limits.
struct EntryCollector<'r> {
    listing: Listing,
    own: &'r CanonicalUrl,
    resolver: ReferenceResolver<'r>,
    hub: HubLinks<'r>,
    limit: usize,
    max_text: usize,
    /// Remaining bytes for URLs.
    room: usize,
    /// Pages that a sitemap names beside its entries: their other languages.
    alternates: BTreeSet<Box<str>>,
}

impl EntryCollector<'_> {
    /// Adds an entry, and what it says.
    fn take(&mut self, values: &EntryValues) {
        let before = self.listing.entries.len();
        self.entry(values.addresses.iter(), values.dates.iter());
        self.item(before, values);
    }

    /// Adds an entry: the first of these URLs that can be requested, and the first of these dates that can be read.
    fn entry<'t>(
        &mut self,
        mut addresses: impl Iterator<Item = &'t str>,
        mut dates: impl Iterator<Item = &'t str>,
    ) {
        if self.is_full() {
            self.listing.over_limit = self.listing.over_limit.saturating_add(1);
            return;
        }
        match addresses.find_map(|address| self.resolve(address)) {
            Some(url) => self.add(url, dates.find_map(date::seconds).unwrap_or(0)),
            None => self.listing.refused = self.listing.refused.saturating_add(1),
        }
    }

    fn add(&mut self, url: CanonicalUrl, lastmod: u32) {
        if url != *self.own {
            self.room = self.room.saturating_sub(url.key().len());
            self.listing.entries.push(ListingEntry { url, lastmod });
        }
    }

    fn is_full(&self) -> bool {
        self.listing.entries.len() == self.limit || self.room == 0 || self.resolver.is_spent()
    }

    /// The URL that an entry means. Those of sitemaps must be whole (sitemaps.org): what looks like a name in the
    /// sitemap's folder is none.
    fn resolve(&self, address: &str) -> Option<CanonicalUrl> {
        let address = address::clean(address);
        let is_open = !address.starts_with(['/', '\\']) && !address::is_whole(&address);
        let named = if is_open { address::with_scheme(&address, self.own) } else { None };
        if is_open && named.is_none() && !self.listing.kind.is_feed() {
            return None;
        }
        self.resolver.resolve(named.as_deref().unwrap_or(&address)).ok()
    }

    /// Notes a page beside an entry. A sitemap repeats it at each of its languages.
    fn alternate(&mut self, address: &str) {
        if self.alternates.len() < self.limit && !self.is_full() && !self.alternates.contains(address) {
            self.room = self.room.saturating_sub(address.len());
            self.alternates.insert(address.into());
        }
    }

    /// Adds the pages beside the entries that are no entries themselves.
    fn add_alternates(&mut self) {
        let alternates = std::mem::take(&mut self.alternates);
        let mut urls: Vec<CanonicalUrl> =
            alternates.iter().filter_map(|address| self.resolve(address)).collect();
        urls.sort_unstable();
        urls.dedup();
        let known: HashSet<&CanonicalUrl> = self.listing.entries.iter().map(|entry| &entry.url).collect();
        urls.retain(|url| !known.contains(url));
        for url in urls {
            match self.listing.entries.len() < self.limit {
                true => self.add(url, 0),
                false => self.listing.over_limit = self.listing.over_limit.saturating_add(1),
            }
        }
    }

    /// Reads a `Link` field.
    fn header(&mut self, value: &str) {
        let (own, is_feed) = (self.own, self.listing.kind.is_feed());
        links_of_page(value, own, &UrlRules::keep_all(), |link| {
            if is_feed {
                self.hub.link(link.rel, link.target);
            }
            self.link(link.rel, link.target, link.has_language, link.media_type);
        });
    }

    /// Notes a link of the document itself, if it counts in a page.
    fn link(&mut self, rel: &str, href: &str, has_language: bool, media_type: &str) {
        let further = &mut self.listing.further;
        if further.len() < MAX_FEEDS
            && scope::related(rel, has_language, media_type) == Some(false)
            && let Ok(url) = self.resolver.resolve(href)
            && url != *self.own
            && !further.contains(&url)
        {
            further.push(url);
        }
    }

    /// Reading cannot continue. If a limit has already cut the document, that message is kept.
    fn damaged(&mut self, at: u64, what: &str) {
        self.listing.damage.get_or_insert_with(|| format!("at byte {at}: {what}"));
    }
}

#[cfg(test)]
mod tests;
