//! Pages as tests look at them: all of a generation in a map, contents that differ by a number.

use recrawl_repository::Generation;
use recrawl_types::{CanonicalUrl, Content, Fingerprint, PageRecord};
use std::collections::BTreeMap;

/// All that is known.
pub type Pages = BTreeMap<CanonicalUrl, PageRecord>;

/// All pages of a generation.
pub fn pages_of(generation: &Generation) -> Pages {
    let mut records = generation.records();
    let mut pages = Pages::new();
    while let Some((_, key, record)) = records.next_record().unwrap() {
        pages.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    pages
}

/// What a visit sees of a page, where all that counts is whether it is another than before.
pub fn content(version: u32) -> Content {
    Content {
        fingerprint: Fingerprint { simhash: 0, digest: version.into() },
        payload: version.into(),
        ..Content::default()
    }
}

/// The judge that goes with such contents.
pub fn changed(_: &CanonicalUrl, before: &Content, after: &Content) -> bool {
    before.fingerprint != after.fingerprint
}
