//! The patterns that an operator blocked, with an index: a lookup does not take longer with more of them.

use crate::admission::pattern::Pattern;
use recrawl_types::{CanonicalUrl, shared_beginning};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The blocked patterns.
#[derive(Debug, Default, PartialEq)]
pub struct Blocks {
    /// By the beginnings of their pages' keys.
    prefixes: BTreeMap<Vec<u8>, Pattern>,
    pages: BTreeSet<CanonicalUrl>,
}

impl Blocks {
    /// The index of these patterns.
    pub fn from_patterns<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Blocks {
        let mut blocks = Blocks::default();
        for pattern in patterns {
            match (pattern, pattern.key_prefixes()) {
                (Pattern::Page(page), _) => _ = blocks.pages.insert(page.clone()),
                (_, prefixes) => {
                    let prefixes = prefixes.into_iter().flatten();
                    blocks.prefixes.extend(prefixes.map(|prefix| (prefix, pattern.clone())));
                }
            }
        }
        blocks
    }

    /// A digest that changes when the patterns do.
    pub fn digest(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{self:?}").as_bytes())
    }

    /// The pattern that covers this page, if one does.
    pub fn cover(&self, url: &CanonicalUrl) -> Option<Pattern> {
        if self.pages.contains(url) {
            return Some(Pattern::Page(url.clone()));
        }
        self.by_prefix(url.key())
    }

    /// The pattern that covers this whole host, if one does.
    pub fn cover_host(&self, host: &str) -> Option<Pattern> {
        if self.prefixes.is_empty() { None } else { self.by_prefix(&CanonicalUrl::key_of_host(host)) }
    }

    fn by_prefix(&self, key: &[u8]) -> Option<Pattern> {
        // `nearest` sorts at or before the key. If it is not a prefix of the key, both differ
        // somewhere, and any prefix of the key that sorts before `nearest` is at most as long as
        // what they share.
        let mut end = key;
        loop {
            let (nearest, pattern) =
                self.prefixes.range::<[u8], _>((Bound::Unbounded, Bound::Included(end))).next_back()?;
            let shared = shared_beginning(nearest, end);
            if shared == nearest.len() {
                return Some(pattern.clone());
            }
            end = &end[..shared];
        }
    }
}
