//! Answers to queries of the full-text index.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum pages of an answer. For each, the archive is read.
pub const MAX_RESULTS: usize = 100;

/// A query of the full-text index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, "phrases" and -words that must not be there. Untrusted.
    pub words: String,
    /// Only pages of this host, or with `*.` before it of this domain. Untrusted.
    pub host: Option<String>,
    /// Only pages with a text of this time or later, in seconds since 1970.
    pub since: u64,
    /// The order of the pages.
    pub sort: SearchSort,
    /// Maximum pages, at least 1 and at most [`MAX_RESULTS`].
    pub limit: usize,
}

/// The order of the pages that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchSort {
    /// The best first; of similar ones the newer.
    #[default]
    Best,
    /// The newest texts first.
    Newest,
}

/// Pages that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SearchList {
    /// The best pages first.
    pub results: Vec<SearchResult>,
    /// Pages that have the words.
    pub total: u64,
    /// Do these have only some of the words, since no page has all?
    pub is_partial: bool,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SearchResult {
    /// Canonical URL.
    pub url: String,
    /// Title, if there is one.
    pub title: Option<String>,
    /// Time of the fetch that brought the text, in seconds since 1970.
    pub fetched_at: u64,
    /// The place of the text with most of the words, in parts that follow each other; empty where the archive has no text
    /// any more.
    pub snippet: Vec<SnippetPart>,
}

/// A part of a snippet: plain text, whatever it looks like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnippetPart {
    /// The text.
    pub text: String,
    /// Is it a word of the query?
    pub is_match: bool,
}
