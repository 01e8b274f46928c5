//! Links as a log gives them, without an allocation for each.

use super::{HAS_LASTMOD, LINK_LISTED, take_link_expectation};
use crate::file::bytes::{Malformed, Take};
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, Expectation, Link};

/// Links one behind the other, their keys in one buffer.
#[derive(Debug, Default)]
pub struct PackedLinks {
    keys: Vec<u8>,
    links: Vec<Packed>,
}

#[derive(Clone, Copy, Debug)]
struct Packed {
    start: usize,
    length: u16,
    depth: u16,
    hops: u8,
    counted: bool,
    listed: bool,
    lastmod: u32,
    expectation: Option<Expectation>,
}

/// A [`Link`] that lies in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRef<'a> {
    /// The key of where it leads.
    pub key: &'a [u8],
    /// [`Link::depth`].
    pub depth: u16,
    /// [`Link::hops`].
    pub hops: u8,
    /// [`Link::counted`].
    pub counted: bool,
    /// [`Link::listed`].
    pub listed: bool,
    /// [`Link::lastmod`].
    pub lastmod: u32,
    /// [`Link::expectation`].
    pub expectation: Option<Expectation>,
}

impl<'a> From<&'a Link> for LinkRef<'a> {
    fn from(link: &'a Link) -> LinkRef<'a> {
        let Link { depth, hops, counted, listed, lastmod, expectation, .. } = *link;
        LinkRef { key: link.url.key(), depth, hops, counted, listed, lastmod, expectation }
    }
}

impl PackedLinks {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The bytes of their keys.
    pub fn key_bytes(&self) -> usize {
        self.keys.len()
    }

    /// The links number `range`, in order.
    pub fn get(&self, range: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = LinkRef<'_>> {
        self.links[range].iter().map(|link| {
            let Packed { start, length, depth, hops, counted, listed, lastmod, expectation } = *link;
            let key = &self.keys[start..start + usize::from(length)];
            LinkRef { key, depth, hops, counted, listed, lastmod, expectation }
        })
    }

    /// Forgets all links and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.links.clear();
    }

    /// Takes the links of a page (or of none) and adds them.
    pub(crate) fn take(&mut self, take: &mut Take<'_>, page: &[u8]) -> Result<(), Malformed> {
        let count: usize = take.narrow()?;
        // A key is written against the one before it, the first against the page.
        let mut near = self.keys.len()..self.keys.len() + page.len();
        self.keys.extend_from_slice(page);
        // A page is a key, so what begins with its origin and a slash can only be wrong behind them.
        let home = if page.is_empty() { page } else { &page[..=CanonicalUrl::origin_of(page).len()] };
        // The same holds of the key before, and of so many of its bytes.
        let mut origin = if page.is_empty() { usize::MAX } else { home.len() };
        for _ in 0..count {
            let shared: usize = take.narrow()?;
            let rest = take.bytes()?;
            if shared > near.len() {
                return Err(Malformed("a key shares more bytes than the last one has"));
            }
            let start = self.keys.len();
            self.keys.extend_from_within(near.start..near.start + shared);
            self.keys.extend_from_slice(rest);
            let key = &self.keys[start..];
            if shared < origin {
                origin = if !home.is_empty() && key.starts_with(home) { home.len() } else { 0 };
            }
            let is_key = match origin {
                0 => CanonicalUrl::is_key(key),
                _ => key.len() <= MAX_URL_BYTES && CanonicalUrl::is_path(&key[origin.max(shared)..]),
            };
            if !is_key {
                return Err(Malformed("a key is not a URL"));
            }
            if origin == 0 {
                origin = CanonicalUrl::origin_of(key).len() + 1;
            }
            near = start..self.keys.len();
            let (depth, hops, flags) = (take.narrow()?, take.u8()?, take.u8()?);
            let lastmod = if flags & HAS_LASTMOD == 0 { 0 } else { take.narrow()? };
            let expectation = take_link_expectation(take, flags)?;
            let (length, counted, listed) = (near.len() as u16, flags & 1 == 1, flags & LINK_LISTED > 0);
            self.links.push(Packed { start, length, depth, hops, counted, listed, lastmod, expectation });
        }
        Ok(())
    }
}
