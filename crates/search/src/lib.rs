//! A full-text index in a folder: pages in, answers to queries and snippets out.
//!
//! For the program, which keeps the index in step with a crawl. Nothing here knows of crawling, of records or of an archive:
//! a page is an id, a URL, a title and a text. Texts are not kept, so a snippet is cut from a text that the caller has.

mod error;
mod folder;
mod merging;
mod query;
mod reader;
mod schema;
mod snippet;
mod words;
mod writer;

pub use error::SearchError;
pub use query::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, QueryError, TextQuery};
pub use reader::{BestPages, Hit, MAX_HITS, search};
pub use snippet::{SnippetPiece, Snippets};
pub use writer::{IndexWriter, IndexedPage, check};

#[cfg(test)]
mod tests;
