//! The bases that `xml:base` gives to open elements (RFC 4287 §2, XML Base).

use super::address;
use recrawl_types::url::MAX_URL_BYTES;
use url::Url;

/// Maximum elements of a document whose `xml:base` is read.
const MAX_BASES: usize = 10_000;
/// Maximum bytes of a base.
const MAX_BASE: usize = 2 * MAX_URL_BYTES;

/// See the module documentation.
pub(super) struct Bases {
    document: Url,
    /// Depth of the element, and its base; none if that is no URL.
    open: Vec<(usize, Option<Url>)>,
    /// How many were read.
    read: usize,
}

impl Bases {
    pub fn new(document: Url) -> Bases {
        Bases { document, open: Vec::new(), read: 0 }
    }

    pub fn open(&mut self, depth: usize, base: Option<String>) {
        self.read += 1;
        let outer = self.open.last().map_or(Some(&self.document), |(_, base)| base.as_ref());
        let base = base.filter(|_| self.read <= MAX_BASES).and_then(|base| {
            let base = address::clean(&base).into_owned();
            match outer {
                Some(outer) => outer.join(&base).ok(),
                None => Url::parse(&base).ok(),
            }
        });
        self.open.push((depth, base.filter(|base| base.as_str().len() <= MAX_BASE)));
    }

    pub fn close(&mut self, depth: usize) {
        while self.open.last().is_some_and(|(open, _)| *open >= depth) {
            self.open.pop();
        }
    }

    /// A reference in the innermost element with a base. A whole URL stays as it is written.
    pub fn resolve(&self, href: &str) -> Option<String> {
        match self.open.last() {
            Some((_, base)) if Url::parse(href).is_err() => base.as_ref()?.join(href).ok().map(String::from),
            _ => Some(href.to_owned()),
        }
    }
}
