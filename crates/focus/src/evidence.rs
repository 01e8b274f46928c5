//! The link as it shows before its target is fetched.

use crate::classifier::terms::Terms;
use crate::terms::TermSet;
use crate::words::{Language, MAX_ANCHOR_WORDS, MAX_URL, Words, joined};
use xxhash_rust::xxh3::xxh3_64;

/// What a link shows before its target is fetched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkEvidence {
    /// Words of the anchor, as hashes of stems.
    pub words: Vec<u64>,
    /// Share of the anchor's words that are in a genre term.
    pub genre: f64,
    /// Share of them that are in a content term.
    pub content: f64,
    /// Share of the terms of U that the target's URL has.
    pub url: f64,
    /// Whether the link stands in a menu.
    pub framed: bool,
    /// Hash of the parent, and of the target's folder: links beside each other.
    pub group: u64,
}

impl LinkEvidence {
    /// Reads a link.
    pub fn from_link(
        parent: u32,
        anchor: &str,
        url: Option<&str>,
        framed: bool,
        language: Language,
        terms: &Terms,
        words: &mut Words,
    ) -> LinkEvidence {
        let mut evidence = LinkEvidence { framed, ..LinkEvidence::default() };
        words.hashes(anchor, language, MAX_URL, MAX_ANCHOR_WORDS, &mut evidence.words);
        let matcher = terms.matcher(language);
        let (mut genre, mut content) = (0, 0);
        matcher.each(&evidence.words, |set, _| match set {
            TermSet::Genre => genre += 1,
            TermSet::Content => content += 1,
            TermSet::Url => {}
        });
        let count = evidence.words.len().max(1) as f64;
        evidence.genre = (f64::from(genre) / count).min(1.0);
        evidence.content = (f64::from(content) / count).min(1.0);
        // `/labs/1/` and `/labs/2/` are beside each other, as `/labs/1` and `/labs/2` are.
        let folder = url.map_or("", |url| {
            let path = url.find("://").map_or(0, |at| at + 3);
            let end = url.strip_suffix('/').map_or(url.len(), str::len);
            url[path..end].rfind('/').map_or(url, |slash| &url[..path + slash])
        });
        evidence.group = joined(joined(xxh3_64(folder.as_bytes()), u64::from(parent)), u64::from(framed));
        // Without URL terms there is nothing to look for.
        if let Some(url) = url.filter(|_| !terms.topic().terms(TermSet::Url).is_empty()) {
            let mut found = vec![];
            words.of_url(url, language, &mut found);
            evidence.url = matcher.share(TermSet::Url, &found);
        }
        evidence
    }
}

#[cfg(test)]
mod tests;
