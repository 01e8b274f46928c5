//! The features of clusters by the names that commands have for them.

use recrawl_clusters::features::FeatureBlock;

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
    pub fn blocks(self) -> &'static [FeatureBlock] {
        match self {
            FeatureSet::Content => &[FeatureBlock::ContentWords, FeatureBlock::Content],
            FeatureSet::Url => &[FeatureBlock::UrlWords, FeatureBlock::Url],
            FeatureSet::Links => &[FeatureBlock::Links],
            FeatureSet::Dynamic => &[FeatureBlock::Dynamic],
            FeatureSet::Ranking => &[FeatureBlock::Ranking],
        }
    }

    /// Whether it needs the contents of pages.
    pub fn needs_contents(self) -> bool {
        self != FeatureSet::Url
    }
}
