//! The features of pages that go with their change patterns (Tan and Mitra 2010, sections 3.1 to 3.3).
//!
//! With all blocks and 20 keywords there are 68 features. A [`FeatureSpace`] is fitted to a sample of pages: it has the
//! words that count, the clusters by words, and the best pages for keywords. Then the features of any page take a time
//! that does not depend on the number of pages.

mod keywords;
mod ranks;
mod url;
mod words;

use crate::bisection::{BisectionError, BisectionOptions, MAX_CLUSTERS};
use keywords::Keywords;
use ranks::WordRanks;
use recrawl_simulation::contents::ContentKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use url::UrlParts;
use words::{Vocabulary, cosine};

/// Maximum number of keywords.
pub const MAX_KEYWORDS: usize = 20;

/// What the last visits of a page showed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeaturePage<'a> {
    /// Its URL. Without `://` it is a path: the page has no host.
    pub url: &'a str,
    /// The content that was seen last.
    pub content: FeatureContent<'a>,
    /// The content that was seen before that, if there was one. Without it, the dynamic features are 0.
    pub before: Option<FeatureContent<'a>>,
    /// Changes found, as a share of the visits or cycles that could find one.
    pub change_frequency: f64,
}

/// A content of a page, and the page's place in the graph of links at that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureContent<'a> {
    /// The words by number, rising, and how often each occurs. The caller numbers words, the same in all pages.
    pub words: &'a [(u32, u32)],
    /// Number of words, with repetitions.
    pub words_total: u64,
    /// Bytes of the text, without markup.
    pub bytes: u64,
    /// Number of images.
    pub images: u64,
    /// Number of tables.
    pub tables: u64,
    /// Type of the file.
    pub kind: ContentKind,
    /// Known pages that link to the page.
    pub links_in: u64,
    /// Links to other pages.
    pub links_out: u64,
    /// PageRank.
    pub pagerank: f64,
    /// E-mail addresses.
    pub addresses: u64,
}

/// A set of features that are used or left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureBlock {
    /// The content ranks.
    ContentWords,
    /// Counts and type of the content.
    Content,
    /// The URL ranks.
    UrlWords,
    /// Depth and top-level domain of the URL.
    Url,
    /// PageRank, links and e-mail addresses.
    Links,
    /// What changed between the last two contents, and the change frequency.
    Dynamic,
    /// Places of the page among the best ones for popular keywords.
    Ranking,
}

impl FeatureBlock {
    /// All blocks, in the order of their features.
    pub const ALL: [FeatureBlock; 7] = [
        FeatureBlock::ContentWords,
        FeatureBlock::Content,
        FeatureBlock::UrlWords,
        FeatureBlock::Url,
        FeatureBlock::Links,
        FeatureBlock::Dynamic,
        FeatureBlock::Ranking,
    ];
}

/// Which features to use, and how to fit them.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureOptions {
    /// The blocks.
    pub blocks: BTreeSet<FeatureBlock>,
    /// Number of content ranks: dimensions of a page's words.
    pub content_ranks: usize,
    /// Number of URL ranks: dimensions of the words of its URL.
    pub url_ranks: usize,
    /// Number of words that count: the most frequent ones, without stop words.
    pub vocabulary: usize,
    /// How to cluster pages by their words. The paper does not say into how many clusters.
    pub bisection: BisectionOptions,
    /// Top-level domains with a feature of their own, in lower case.
    pub top_level_domains: Vec<String>,
    /// Numbers of popular keywords, at most [`MAX_KEYWORDS`].
    pub keywords: Vec<u32>,
}

impl Default for FeatureOptions {
    /// The paper's: all blocks, 10 ranks each, 1,000 words. 50 clusters by words. No keywords.
    fn default() -> FeatureOptions {
        FeatureOptions {
            blocks: FeatureBlock::ALL.into(),
            content_ranks: 10,
            url_ranks: 10,
            vocabulary: 1000,
            bisection: BisectionOptions::new(50),
            top_level_domains: ["com", "edu", "gov", "org", "net", "mil"].map(String::from).to_vec(),
            keywords: Vec::new(),
        }
    }
}

/// Pages or options from which no features follow.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// A feature of a page is not a finite number.
    #[error("feature `{feature}` of page `{page}` is not a finite number")]
    NotFinite {
        /// Name of the feature.
        feature: String,
        /// URL of the page.
        page: String,
    },
    /// The words of a page are not in order.
    #[error("words of page `{page}`: their numbers must rise")]
    Words {
        /// URL of the page.
        page: String,
    },
    /// There is nothing to fit to.
    #[error("no pages to fit features to")]
    NoPages,
    /// Too many keywords.
    #[error("{0} keywords: at most {MAX_KEYWORDS} are allowed")]
    Keywords(usize),
    /// Too many ranks.
    #[error("{0} ranks: at most {MAX_CLUSTERS} are allowed")]
    Ranks(usize),
    /// The words cannot be clustered.
    #[error(transparent)]
    Bisection(#[from] BisectionError),
}

/// The clusters of a page by words. Ranks follow from them, so they are all that needs to be kept of its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordClusters {
    /// By the words of its content.
    pub content: u16,
    /// By the words of its URL.
    pub url: u16,
}

/// A feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Whether it counts things, so that its logarithm is to be used.
    pub is_count: bool,
}

/// The features of pages, fitted to a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureSpace {
    blocks: BTreeSet<FeatureBlock>,
    top_level_domains: Vec<String>,
    content: Option<WordRanks<u32>>,
    url: Option<WordRanks<String>>,
    keywords: Keywords,
}

impl FeatureSpace {
    /// Fits words, their clusters and the best pages for keywords to a sample of pages. Leaves out what the blocks do not
    /// need.
    pub fn fit(pages: &[FeaturePage<'_>], options: &FeatureOptions) -> Result<FeatureSpace, FeatureError> {
        if pages.is_empty() {
            return Err(FeatureError::NoPages);
        }
        let ranks = options.content_ranks.max(options.url_ranks);
        if ranks > MAX_CLUSTERS {
            return Err(FeatureError::Ranks(ranks));
        }
        if options.keywords.len() > MAX_KEYWORDS {
            return Err(FeatureError::Keywords(options.keywords.len()));
        }
        pages.iter().try_for_each(check_words)?;
        let has = |block| options.blocks.contains(&block);
        let content = has(FeatureBlock::ContentWords).then(|| {
            let words = || pages.iter().map(|page| page.content.words.iter().copied());
            WordRanks::fit(
                Vocabulary::fit(words(), options.vocabulary),
                words(),
                options.content_ranks,
                options,
            )
        });
        let url = has(FeatureBlock::UrlWords).then(|| {
            let words: Vec<_> = pages.iter().map(|page| UrlParts::split(page.url).words()).collect();
            let words = || words.iter().map(|words| words.iter().map(|(word, count)| (word.clone(), *count)));
            WordRanks::fit(Vocabulary::fit(words(), options.vocabulary), words(), options.url_ranks, options)
        });
        let keywords = if has(FeatureBlock::Ranking) { options.keywords.as_slice() } else { &[] };
        Ok(FeatureSpace {
            blocks: options.blocks.clone(),
            top_level_domains: options.top_level_domains.clone(),
            content: content.transpose()?,
            url: url.transpose()?,
            keywords: Keywords::fit(keywords, pages),
        })
    }

    /// The features, in order.
    pub fn features(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        let mut add = |is_count: bool, names: &mut dyn Iterator<Item = String>| {
            features.extend(names.map(|name| Feature { name, is_count }));
        };
        let numbered = |name: &'static str, count: usize| (1..=count).map(move |i| format!("{name}_{i}"));
        let named = |names: &'static [&'static str]| names.iter().map(|name| name.to_string());
        for block in &self.blocks {
            match block {
                FeatureBlock::ContentWords => {
                    add(false, &mut numbered("content_rank", ranks_of(&self.content)))
                }
                FeatureBlock::Content => {
                    add(true, &mut named(&["images", "tables", "words", "bytes"]));
                    add(false, &mut named(&["html", "txt", "other"]));
                }
                FeatureBlock::UrlWords => add(false, &mut numbered("url_rank", ranks_of(&self.url))),
                FeatureBlock::Url => {
                    add(true, &mut named(&["slashes"]));
                    add(false, &mut self.top_level_domains.iter().map(|domain| format!("tld_{domain}")));
                }
                FeatureBlock::Links => {
                    add(false, &mut named(&["pagerank"]));
                    add(true, &mut named(&["links_in", "links_out", "addresses"]));
                }
                FeatureBlock::Dynamic => {
                    add(false, &mut named(&["cosine_of_contents"]));
                    let changes = ["images_change", "tables_change", "bytes_change", "words_change"];
                    add(true, &mut changes.into_iter().map(String::from));
                    add(false, &mut named(&["pagerank_change"]));
                    add(true, &mut named(&["links_in_change", "links_out_change", "addresses_change"]));
                    add(false, &mut named(&["change_frequency"]));
                }
                FeatureBlock::Ranking => add(false, &mut numbered("keyword", self.keywords.len())),
            }
        }
        features
    }

    /// The clusters of a page by words; 0 where the blocks leave them out.
    pub fn clusters(&self, page: &FeaturePage<'_>) -> Result<WordClusters, FeatureError> {
        check_words(page)?;
        let content = self.content.as_ref().map(|ranks| ranks.cluster(page.content.words.iter().copied()));
        let url = self.url.as_ref().map(|ranks| ranks.cluster(UrlParts::split(page.url).words().into_iter()));
        Ok(WordClusters { content: content.unwrap_or_default(), url: url.unwrap_or_default() })
    }

    /// The values of the features of a page, in order. All are finite.
    pub fn values(&self, page: &FeaturePage<'_>) -> Result<Vec<f64>, FeatureError> {
        self.with_clusters(page, self.clusters(page)?)
    }

    /// The values of the features of pages, page after page.
    pub fn of_all(&self, pages: &[FeaturePage<'_>]) -> Result<Vec<f64>, FeatureError> {
        let mut values = Vec::new();
        for page in pages {
            values.extend(self.values(page)?);
        }
        Ok(values)
    }

    /// The values for a page whose clusters by words are known.
    ///
    /// # Panics
    /// If there is no such cluster.
    pub fn with_clusters(
        &self,
        page: &FeaturePage<'_>,
        clusters: WordClusters,
    ) -> Result<Vec<f64>, FeatureError> {
        check_words(page)?;
        let mut values = Vec::new();
        for block in &self.blocks {
            match block {
                FeatureBlock::ContentWords => values.extend(places_of(&self.content, clusters.content)),
                FeatureBlock::Content => values.extend(content(&page.content)),
                FeatureBlock::UrlWords => values.extend(places_of(&self.url, clusters.url)),
                FeatureBlock::Url => values.extend(UrlParts::split(page.url).values(&self.top_level_domains)),
                FeatureBlock::Links => values.extend(links(&page.content)),
                FeatureBlock::Dynamic => values.extend(dynamic(page)),
                FeatureBlock::Ranking => values.extend(self.keywords.values(&page.content)),
            }
        }
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            let feature = self.features().swap_remove(place).name;
            return Err(FeatureError::NotFinite { feature, page: page.url.to_owned() });
        }
        Ok(values)
    }

    /// Whether tables and vocabularies fit together, as in a space that was fitted.
    pub(crate) fn is_sound(&self) -> bool {
        let has = |block| self.blocks.contains(&block);
        has(FeatureBlock::ContentWords) == self.content.is_some()
            && has(FeatureBlock::UrlWords) == self.url.is_some()
            && self.content.as_ref().is_none_or(WordRanks::is_sound)
            && self.url.as_ref().is_none_or(WordRanks::is_sound)
            && self.keywords.is_sound()
    }
}

fn check_words(page: &FeaturePage<'_>) -> Result<(), FeatureError> {
    let rise = |content: &FeatureContent<'_>| content.words.is_sorted_by(|a, b| a.0 < b.0);
    if rise(&page.content) && page.before.as_ref().is_none_or(rise) {
        Ok(())
    } else {
        Err(FeatureError::Words { page: page.url.to_owned() })
    }
}

fn ranks_of<W>(ranks: &Option<WordRanks<W>>) -> usize {
    ranks.as_ref().map_or(0, |ranks| ranks.places.len())
}

fn places_of<W>(ranks: &Option<WordRanks<W>>, cluster: u16) -> impl Iterator<Item = f64> {
    ranks.iter().flat_map(move |ranks| ranks.places.iter().map(move |places| places[cluster as usize].into()))
}

fn content(content: &FeatureContent<'_>) -> [f64; 7] {
    let is = |kind| f64::from(u8::from(content.kind == kind));
    let counts =
        [content.images, content.tables, content.words_total, content.bytes].map(|count| count as f64);
    let [images, tables, words, bytes] = counts;
    [images, tables, words, bytes, is(ContentKind::Html), is(ContentKind::Text), is(ContentKind::Other)]
}

fn links(content: &FeatureContent<'_>) -> [f64; 4] {
    [content.pagerank, content.links_in as f64, content.links_out as f64, content.addresses as f64]
}

/// The amounts by which a page changed, without their signs.
fn dynamic(page: &FeaturePage<'_>) -> [f64; 10] {
    let now = &page.content;
    let Some(before) = &page.before else { return [0.0; 10] };
    let change = |count: fn(&FeatureContent<'_>) -> u64| count(now).abs_diff(count(before)) as f64;
    [
        cosine(now.words, before.words),
        change(|content| content.images),
        change(|content| content.tables),
        change(|content| content.bytes),
        change(|content| content.words_total),
        (now.pagerank - before.pagerank).abs(),
        change(|content| content.links_in),
        change(|content| content.links_out),
        change(|content| content.addresses),
        page.change_frequency,
    ]
}

#[cfg(test)]
mod tests;
