//! Patterns that an operator blocked: hosts with their subdomains, and URL prefixes.

use recrawl_types::{CanonicalUrl, UrlRules, WrittenHost};
use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;

/// The blocked patterns. The time of a lookup does not grow with their number.
#[derive(Debug, Default, PartialEq)]
pub struct Blocks {
    hosts: HashSet<String>,
    prefixes: BTreeSet<Vec<u8>>,
}

impl Blocks {
    /// A pattern in its canonical spelling: `example.com` or `https://example.com/a/`.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn pattern(text: &str) -> Result<String, String> {
        let text = text.trim();
        if text.contains("://") {
            let url = UrlRules::keep_all().canonicalize(text).map_err(|e| format!("{text:?}: {e}"))?;
            return Ok(url.to_string());
        }
        WrittenHost::without_port(text).map_err(|e| e.to_string())
    }

    /// From patterns in their canonical spelling.
    pub fn of<'p>(patterns: impl Iterator<Item = &'p String>) -> Blocks {
        let mut blocks = Blocks::default();
        for pattern in patterns {
            if pattern.contains("://") {
                blocks.prefixes.insert(pattern.clone().into_bytes());
            } else {
                blocks.hosts.insert(pattern.clone());
            }
        }
        blocks
    }

    /// A digest that changes when the patterns do.
    pub fn digest(&self) -> u64 {
        let hosts: BTreeSet<&String> = self.hosts.iter().collect();
        xxhash_rust::xxh3::xxh3_64(format!("{hosts:?}{:?}", self.prefixes).as_bytes())
    }

    /// The pattern that covers this page, if one does.
    pub fn cover(&self, url: &CanonicalUrl) -> Option<String> {
        if !self.hosts.is_empty()
            && let Some(host) = self.cover_host(&url.host())
        {
            return Some(host);
        }
        if self.prefixes.is_empty() {
            return None;
        }
        let text = url.to_string();
        // `nearest` sorts at or before the text. If it is not a prefix of the text, both differ
        // somewhere, and any prefix of the text that sorts before `nearest` is at most as long as
        // what they share.
        let mut end = text.as_bytes();
        loop {
            let nearest =
                self.prefixes.range::<[u8], _>((Bound::Unbounded, Bound::Included(end))).next_back()?;
            let shared = nearest.iter().zip(end).take_while(|(a, b)| a == b).count();
            if shared == nearest.len() {
                return Some(String::from_utf8_lossy(nearest).into_owned());
            }
            end = &end[..shared];
        }
    }

    /// The pattern that covers this whole host, if one does.
    pub fn cover_host(&self, host: &str) -> Option<String> {
        let mut name = host;
        loop {
            if let Some(found) = self.hosts.get(name) {
                return Some(found.clone());
            }
            name = name.split_once('.')?.1;
        }
    }
}
