//! Sitemaps and feeds: which pages a host says it has, and since when they are as they are.
//!
//! Whatever the Content-Type says, the bytes decide: an XML document by its root element, a text by
//! being nothing but addresses, and either of them inside gzip. A document is read in one pass, without a
//! tree; no entity is expanded but those of XML itself, and what stands before damage, or before a limit,
//! counts.

mod formats;
mod gzip;
mod list;
mod xml;

use crate::Limits;
use crate::base::Resolver;
use crate::charset;
use crate::date;
use crate::media::{Kind, MediaType};
use recrawl_types::{CanonicalUrl, UrlRules};
use std::borrow::Cow;

/// How much of a body is looked at to tell what it is: prologues, comments and document types are short.
const SNIFFED: usize = 4_096;

/// Bytes of all addresses of one document together: a visit is one record of the log. At the 50,000 entries
/// of a full sitemap this is 670 bytes for each.
const MAX_ADDRESSES: usize = 32 << 20;

/// What a sitemap or feed lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Which kind of document it is.
    pub kind: HintsKind,
    /// What it lists, in its order. An address that it lists twice is here twice; the document's own is not.
    pub entries: Vec<HintEntry>,
    /// Entries without a usable address.
    pub refused: u32,
    /// Entries left unread because a limit was reached.
    pub over_limit: u32,
    /// Where and why reading stopped before the end, in words.
    pub damage: Option<String>,
    /// What reading it cost, in the unit of [`Page::work`](crate::Page::work): its bytes, unpacked.
    pub work: u64,
}

/// A kind of sitemap or feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HintsKind {
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

impl HintsKind {
    /// Is it a feed, and so the work of an author who links where they like?
    pub fn is_feed(self) -> bool {
        matches!(self, HintsKind::Rss | HintsKind::Rdf | HintsKind::Atom)
    }
}

/// A page that a sitemap or feed lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintEntry {
    /// Where it is.
    pub url: CanonicalUrl,
    /// When it was last modified, in seconds since 1970; 0 where nothing understandable is said.
    pub lastmod: u32,
}

impl Hints {
    /// What there is to compare: the entries with their dates, and nothing that a server stamps on each copy.
    pub fn listing(&self) -> Vec<u8> {
        let mut listing = Vec::with_capacity(self.entries.iter().map(|e| e.url.key().len() + 8).sum());
        for entry in &self.entries {
            listing.extend_from_slice(&(entry.url.key().len() as u32).to_le_bytes());
            listing.extend_from_slice(entry.url.key());
            listing.extend_from_slice(&entry.lastmod.to_le_bytes());
        }
        listing
    }
}

/// Reads a body as a sitemap or feed; none where it is neither.
pub(crate) fn read(
    body: &[u8],
    media: &MediaType,
    url: &CanonicalUrl,
    rules: &UrlRules,
    limits: &Limits,
) -> Option<Hints> {
    let (bytes, cut) = match gzip::is_gzip(body) {
        true => gzip::unpack(body, limits.max_unpacked),
        false => (Cow::Borrowed(body), None),
    };
    let is_list = media.kind != Kind::Html && list::is_list(&bytes);
    let label = media.charset.clone().or_else(|| xml::declared_encoding(&bytes));
    let decode = |part| charset::decode(part, label.as_deref(), &url.host());
    let format = match is_list {
        true => None,
        false => Some(xml::format(&decode(&bytes[..bytes.len().min(SNIFFED)]))?),
    };
    let mut found = Found {
        hints: Hints {
            kind: format.map_or(HintsKind::Text, |f| f.kind),
            damage: cut,
            work: bytes.len() as u64,
            ..Hints::default()
        },
        own: url,
        resolver: Resolver::new(url, None, rules),
        limit: limits.max_entries,
        room: MAX_ADDRESSES,
    };
    match format {
        Some(format) => xml::read(&decode(&bytes), format, &mut found),
        None => list::read(&decode(&bytes), &mut found),
    }
    Some(found.hints)
}

/// What was found so far, under its limits.
struct Found<'r> {
    hints: Hints,
    own: &'r CanonicalUrl,
    resolver: Resolver<'r>,
    limit: usize,
    /// Bytes that further addresses may take.
    room: usize,
}

impl Found<'_> {
    /// Takes an entry as it stands in the document.
    fn entry(&mut self, address: &str, date: Option<&str>) {
        if self.hints.entries.len() == self.limit || self.room == 0 || self.resolver.is_spent() {
            self.hints.over_limit = self.hints.over_limit.saturating_add(1);
            return;
        }
        match self.resolver.resolve(address.trim()) {
            Ok(url) if url == *self.own => {}
            Ok(url) => {
                self.room = self.room.saturating_sub(url.key().len());
                let lastmod = date.and_then(date::seconds).unwrap_or(0);
                self.hints.entries.push(HintEntry { url, lastmod });
            }
            Err(_) => self.refuse(),
        }
    }

    fn refuse(&mut self) {
        self.hints.refused = self.hints.refused.saturating_add(1);
    }

    /// Reading cannot go on. What a limit cut was said before, and says more.
    fn damaged(&mut self, at: u64, what: &str) {
        self.hints.damage.get_or_insert_with(|| format!("at byte {at}: {what}"));
    }
}

#[cfg(test)]
mod tests;
