//! The expected relevance of a page that was found and not visited, from the links to it.
//!
//! A logistic mixture over fixed features. Two of them are what visits showed of the links beside this one and of its
//! site, so a visit raises its siblings as FS-2 does, without touching them. This is ours; the thesis has fixed rules.

use libm::log;
use recrawl_focus::Assessment;
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::live::shown_features;
use recrawl_focus::logistic::{Weights, logistic};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Number of features of a page's verdict.
pub const VERDICT_FEATURES: usize = 6;

/// Features by which a verdict becomes a probability of relevance.
pub fn verdict_features(verdict: &Assessment) -> [f64; VERDICT_FEATURES] {
    let Assessment { genre, content, url, .. } = *verdict;
    [1.0, genre, content, genre * content, genre.min(content), url.unwrap_or(0.0)]
}

/// Names of the features of a link, for reports; their order is that of the weights.
pub const FEATURES: [&str; 20] = [
    "constant",
    "parent relevance",
    "parent genre",
    "parent content",
    "anchor genre",
    "anchor genre share",
    "anchor content",
    "anchor empty",
    "anchor yield",
    "url terms",
    "framed",
    "depth",
    "tunnel",
    "group yield",
    "group genre",
    "group visits",
    "site yield",
    "site genre",
    "site content",
    "crawl yield",
];

/// Number of features of a link.
pub const LINK_FEATURES: usize = FEATURES.len();
/// Words of anchors whose yield is kept.
pub const MAX_ANCHORS: usize = 1 << 16;
/// Groups whose yield is kept.
pub const MAX_GROUPS: usize = 1_000_000;

/// A page that has the link, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkParent {
    /// Its verdict.
    pub verdict: Assessment,
    /// Its probability of relevance.
    pub relevance: f64,
    /// Links from a seed.
    pub depth: u32,
    /// Irrelevant pages in a row on the way to it, itself included.
    pub tunnel: u32,
}

/// Σ relevance of visited pages, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    relevance: f64,
    genre: f64,
    content: f64,
    visits: f64,
}

impl Sum {
    fn add(&mut self, relevance: f64, verdict: &Assessment) {
        self.relevance += relevance;
        self.genre += verdict.genre;
        self.content += verdict.content;
        self.visits += 1.0;
    }

    /// (Σ + prior) / (visits + 1).
    fn shrunk(&self, sum: f64, prior: f64) -> f64 {
        (sum + prior) / (self.visits + 1.0)
    }
}

/// Hashes keys that are hashes or small numbers: one multiplication.
#[derive(Default)]
struct LinkHasher(u64);

impl Hasher for LinkHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, key: u32) {
        self.write_u64(u64::from(key));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Sums<K> = HashMap<K, Sum, BuildHasherDefault<LinkHasher>>;

/// Yields that visits showed: of the links of a group, of a site, with a word in the anchor, and of all.
#[derive(Clone, Debug, Default)]
pub struct Yields {
    groups: Sums<u64>,
    sites: Sums<u32>,
    anchors: Sums<u64>,
    all: Sum,
}

impl Yields {
    /// Notes a visited page: its site, the links through which it was found, and how relevant it is.
    pub fn visited<'a>(
        &mut self,
        site: u32,
        links: impl IntoIterator<Item = &'a LinkEvidence>,
        relevance: f64,
        verdict: &Assessment,
    ) {
        self.all.add(relevance, verdict);
        self.sites.entry(site).or_default().add(relevance, verdict);
        let (mut groups, mut words) = (vec![], vec![]);
        for link in links {
            groups.push(link.group);
            words.extend_from_slice(&link.words);
        }
        for (keys, sums, limit) in
            [(&mut groups, &mut self.groups, MAX_GROUPS), (&mut words, &mut self.anchors, MAX_ANCHORS)]
        {
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                if sums.len() < limit || sums.contains_key(key) {
                    sums.entry(*key).or_default().add(relevance, verdict);
                }
            }
        }
    }

    /// The features of a link.
    pub fn features(&self, parent: &LinkParent, link: &LinkEvidence, site: u32) -> [f64; LINK_FEATURES] {
        let [parent_yield, genre, content, has_genre, genre_share, has_content, is_empty, url, framed] =
            shown_features(parent.relevance, &parent.verdict, link);
        let all = &self.all;
        let mean = all.shrunk(all.relevance, 0.01);
        let mean_genre = all.shrunk(all.genre, 0.1);
        let mean_content = all.shrunk(all.content, 0.1);
        let of_site = self.sites.get(&site).copied().unwrap_or_default();
        let site_yield = of_site.shrunk(of_site.relevance, mean);
        let site_genre = of_site.shrunk(of_site.genre, mean_genre);
        let site_content = of_site.shrunk(of_site.content, mean_content);
        let group = self.groups.get(&link.group).copied().unwrap_or_default();
        let group_yield = group.shrunk(group.relevance, site_yield);
        let group_genre = group.shrunk(group.genre, site_genre);
        let yielded = |sum: &Sum| log(sum.shrunk(sum.relevance, mean) / mean);
        let word = |word: &u64| self.anchors.get(word).map_or(0.0, yielded);
        let most = link.words.iter().map(word).fold(f64::NEG_INFINITY, f64::max);
        [
            1.0,
            parent_yield,
            genre,
            content,
            has_genre,
            genre_share,
            has_content,
            is_empty,
            if link.words.is_empty() { 0.0 } else { most },
            url,
            framed,
            log(1.0 + f64::from(parent.depth)),
            f64::from(parent.tunnel.min(8)) / 8.0,
            log(group_yield / site_yield),
            log(group_genre / site_genre),
            log(1.0 + group.visits),
            log(site_yield / mean),
            log(site_genre / mean_genre),
            log(site_content / mean_content),
            log(mean) - log(0.02),
        ]
    }
}

/// Weights that were learned elsewhere, by which verdicts and links become probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkModel {
    /// Weights of [`verdict_features`].
    pub verdict: Weights<VERDICT_FEATURES>,
    /// Weights of the [features of a link](FEATURES).
    pub link: Weights<LINK_FEATURES>,
}

impl LinkModel {
    /// The probability that a visited page is relevant.
    pub fn relevance(&self, verdict: &Assessment) -> f64 {
        logistic(self.verdict.logit(&verdict_features(verdict)))
    }
}

#[cfg(test)]
mod tests;
