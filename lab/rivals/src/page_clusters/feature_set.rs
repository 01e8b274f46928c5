//! The features of clusters by the names that commands have for them.

use recrawl_clusters::features::Block;

/// Blocks of features that are chosen together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureSet {
    /// Of the content.
    Content,
    /// Of the URL.
    Url,
    /// Of links.
    Links,
    /// Of changes.
    Dynamic,
    /// Of the place among other pages.
    Ranking,
}

impl FeatureSet {
    /// All, in display order.
    pub const ALL: [FeatureSet; 5] =
        [FeatureSet::Content, FeatureSet::Url, FeatureSet::Links, FeatureSet::Dynamic, FeatureSet::Ranking];

    /// Name and description.
    pub fn named(self) -> (&'static str, &'static str) {
        match self {
            FeatureSet::Content => ("content", "Words, bytes, images, tables and type of the content"),
            FeatureSet::Url => ("url", "Words, depth and top-level domain of the URL"),
            FeatureSet::Links => ("links", "PageRank, links and e-mail addresses"),
            FeatureSet::Dynamic => ("dynamic", "What the last change changed, and the frequency of changes"),
            FeatureSet::Ranking => ("ranking", "Place among the best pages for popular words of titles"),
        }
    }

    /// Its blocks of features.
    pub fn blocks(self) -> &'static [Block] {
        match self {
            FeatureSet::Content => &[Block::ContentWords, Block::Content],
            FeatureSet::Url => &[Block::UrlWords, Block::Url],
            FeatureSet::Links => &[Block::Links],
            FeatureSet::Dynamic => &[Block::Dynamic],
            FeatureSet::Ranking => &[Block::Ranking],
        }
    }

    /// Whether it needs the contents of pages.
    pub fn needs_contents(self) -> bool {
        self != FeatureSet::Url
    }
}
