//! Protocols of targets: which requests make changes, and what an answer says of each. Nothing here sends anything.
//!
//! A new kind of target is a file here, an entry of `KINDS` and a variant of [`Protocol`].

mod lines;
mod meilisearch;
mod opensearch;

pub use lines::{lines, rewritten};

use crate::document::Document;
use crate::sync::ItemAnswer;
use recrawl_types::CanonicalUrl;
use std::fmt;
use url::Url;

/// A change with the document that a put sends; none where it cannot be made.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyItem {
    /// The document is to be there.
    Put(Box<Document>),
    /// The page's document is to go.
    Delete(CanonicalUrl),
}

/// A request to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRequest {
    /// The address.
    pub url: Url,
    /// The body of a POST; none for a GET.
    pub body: Option<Vec<u8>>,
    /// Its type.
    pub content_type: &'static str,
}

/// The step that follows an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterAnswer {
    /// The answers to the items, in their order.
    Answers(Vec<(ItemAnswer, Option<String>)>),
    /// Another request tells; after a pause.
    Ask(TargetRequest),
    /// The items are too many or too large together.
    Divide,
    /// The target takes nothing at present, and why.
    Interrupted(String),
}

/// Kind and place of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The bulk API of OpenSearch or Elasticsearch, with external versions.
    OpenSearch(opensearch::BulkIndex),
    /// Meilisearch, whose tasks are awaited.
    Meilisearch(meilisearch::TaskIndex),
    /// Lines of JSON in a file.
    Lines(std::path::PathBuf),
}

/// The beginnings of `deliver.to`, with an example each.
const KINDS: &[(&str, &str)] = &[
    ("opensearch+", "opensearch+https://search.example:9200/docs"),
    ("elasticsearch+", "elasticsearch+https://search.example:9200/docs"),
    ("meilisearch+", "meilisearch+http://localhost:7700/docs"),
    ("jsonl+file://", "jsonl+file:///var/lib/docs.jsonl"),
];

/// Text that names no target.
#[derive(Debug, PartialEq, Eq)]
pub struct NoTarget(String);

impl fmt::Display for NoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let examples: Vec<&str> = KINDS.iter().map(|(_, example)| *example).collect();
        write!(f, "{}; write it as one of: {}", self.0, examples.join(", "))
    }
}

impl Protocol {
    /// Reads `deliver.to`.
    ///
    /// # Errors
    /// That it names no target, and how to write one.
    pub fn parse(text: &str) -> Result<Protocol, NoTarget> {
        let wrong = |what: &str| NoTarget(format!("{text:?}: {what}"));
        let kind = KINDS.iter().find(|(kind, _)| text.starts_with(kind));
        let (kind, _) = kind.ok_or_else(|| wrong("unknown kind of target"))?;
        let rest = &text[kind.len()..];
        if *kind == "jsonl+file://" {
            return match rest.starts_with('/') && !rest.ends_with('/') {
                true => Ok(Protocol::Lines(rest.into())),
                false => Err(wrong("name a file by its whole path")),
            };
        }
        let url = Url::parse(rest).map_err(|e| wrong(&e.to_string()))?;
        let is_http = matches!(url.scheme(), "http" | "https");
        let is_bare = url.username().is_empty() && [url.password(), url.query(), url.fragment()] == [None; 3];
        if !is_http || !is_bare {
            return Err(wrong(
                "it is not http or https, or has more than host and path; user and password are keys",
            ));
        }
        let (base, index) = url.path().trim_end_matches('/').rsplit_once('/').unwrap_or_default();
        if index.is_empty() {
            return Err(wrong("the name of the index is missing"));
        }
        let mut server = url.clone();
        server.set_path(&format!("{base}/"));
        match *kind {
            "meilisearch+" => meilisearch::TaskIndex::new(server, index).map(Protocol::Meilisearch),
            _ => opensearch::BulkIndex::new(server, index).map(Protocol::OpenSearch),
        }
        .map_err(|what| wrong(&what))
    }

    /// The request that makes these changes; none of a file, or where nothing is to be sent.
    pub fn request(&self, version: u64, items: &[CopyItem]) -> Option<TargetRequest> {
        match self {
            Protocol::OpenSearch(index) => Some(index.request(version, items)),
            Protocol::Meilisearch(index) => Some(index.request(items)),
            Protocol::Lines(_) => None,
        }
    }

    /// Reads of an answer, by its status and body, what became of these items.
    pub fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer {
        match self {
            Protocol::OpenSearch(index) => index.read(items, status, body),
            Protocol::Meilisearch(index) => index.read(items, status, body),
            Protocol::Lines(_) => AfterAnswer::Interrupted("a file gives no answer".into()),
        }
    }
}

/// Reads the status of a request that was not taken.
fn not_taken(status: u16, body: &[u8], items: usize) -> AfterAnswer {
    let said: String = String::from_utf8_lossy(body).chars().take(300).collect();
    match status {
        400 | 413 | 422 if items > 1 => AfterAnswer::Divide,
        400 | 413 | 422 if items == 1 => {
            AfterAnswer::Answers(vec![(ItemAnswer::Refused, Some(format!("status {status}: {said}")))])
        }
        300..=399 => AfterAnswer::Interrupted(format!(
            "status {status}: redirects are not followed; configure their target"
        )),
        401 | 403 => AfterAnswer::Interrupted(format!(
            "status {status}: it asks for other credentials (deliver.user, deliver.bearer)"
        )),
        404 => AfterAnswer::Interrupted(format!("status 404: is the address right? {said}")),
        status => AfterAnswer::Interrupted(format!("status {status}: {said}")),
    }
}

#[cfg(test)]
mod tests;
