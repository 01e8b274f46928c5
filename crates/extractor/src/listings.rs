//! Sitemaps and feeds: the pages that a host lists, and their modification dates.
//!
//! The content decides, not the Content-Type: XML by its root element, plain text if it consists of
//! URLs, and both also inside gzip. A document is read in one pass, without a tree. Only XML's own
//! entities are expanded. Entries before damage, or before a limit, count.

mod address;
mod entities;
mod formats;
mod gzip;
mod hub;
mod items;
mod list;
mod xml;

pub use hub::Hub;

use crate::base::ReferenceResolver;
use crate::charset::{self, Syntax};
use crate::date;
use crate::media::{BodyKind, MediaType};
use crate::{BodyFields, ExtractLimits};
use hub::HubLinks;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// Bytes used to detect the format: prologues, comments and document types are short.
const SNIFFED: usize = 4_096;

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
}

impl ListingKind {
    /// Whether it is a feed, whose author may link to any host.
    pub fn is_feed(self) -> bool {
        matches!(self, ListingKind::Rss | ListingKind::Rdf | ListingKind::Atom)
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
    let is_page = matches!(media.kind, BodyKind::Html | BodyKind::Xhtml);
    let is_list = !is_page && list::is_list(&bytes);
    let syntax = if is_list { Syntax::Plain } else { Syntax::Xml };
    let decode = |part| charset::decode(part, media.charset.as_deref(), syntax, &url.host()).text;
    let format = match is_list {
        true => None,
        false => Some(xml::format(&decode(&bytes[..bytes.len().min(SNIFFED)]))?),
    };
    let mut found = EntryCollector {
        listing: Listing {
            kind: format.map_or(ListingKind::Text, |f| f.kind),
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
    if found.listing.kind.is_feed() {
        fields.links.iter().for_each(|value| found.hub.header(value));
    }
    match format {
        Some(format) => xml::read(&decode(&bytes), format, &mut found),
        None => list::read(&decode(&bytes), &mut found),
    }
    found.add_alternates();
    Some(Listing { hub: found.hub.decide(), ..found.listing })
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
    /// Adds an entry as written in the document.
    fn entry(&mut self, address: &str, date: Option<&str>) {
        if self.is_full() {
            self.listing.over_limit = self.listing.over_limit.saturating_add(1);
            return;
        }
        match self.resolve(address) {
            Some(url) => self.add(url, date.and_then(date::seconds).unwrap_or(0)),
            None => self.refuse(),
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

    fn refuse(&mut self) {
        self.listing.refused = self.listing.refused.saturating_add(1);
    }

    /// Reading cannot continue. If a limit has already cut the document, that message is kept.
    fn damaged(&mut self, at: u64, what: &str) {
        self.listing.damage.get_or_insert_with(|| format!("at byte {at}: {what}"));
    }
}

#[cfg(test)]
mod tests;
