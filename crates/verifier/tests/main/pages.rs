//! Test pages: a generation as a map, and contents that differ by a number.

use recrawl_repository::Generation;
use recrawl_types::{CanonicalUrl, Content, Fingerprint, PageRecord, Visited};
use std::collections::BTreeMap;

pub type Pages = BTreeMap<CanonicalUrl, PageRecord>;

pub fn pages_of(generation: &Generation) -> Pages {
    let mut records = generation.records();
    let mut pages = Pages::new();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    pages
}

/// The content of a page at a version; only equality matters.
pub fn content(version: u32) -> Content {
    Content {
        fingerprint: Fingerprint { simhash: 0, digest: version.into() },
        payload: version.into(),
        ..Content::default()
    }
}

/// The judge for such contents.
pub fn changed(_: &CanonicalUrl, before: &Visited, after: &mut Content) -> bool {
    before.content.fingerprint != after.fingerprint
}
