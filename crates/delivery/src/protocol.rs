//! Protocols of targets: which requests make changes, and what an answer says of each. Nothing here sends anything.
//!
//! A new kind of server is a file here and an entry of `KINDS`.

mod lines;
mod meilisearch;
mod opensearch;
mod program;
mod solr;
mod typesense;

pub use lines::{kept, lines};

use crate::document::PageDocument;
use crate::sync::ItemAnswer;
use crate::verify::ListedDocument;
use recrawl_types::CanonicalUrl;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// A change with the document that a put sends.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyItem {
    /// The document is to be there.
    Put(Box<PageDocument>),
    /// The page's document is to go.
    Delete(CanonicalUrl),
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Asks.
    Get,
    /// Sends a body.
    Post,
    /// Removes what the URL names.
    Delete,
}

/// A request to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRequest {
    /// The method.
    pub method: HttpMethod,
    /// The address.
    pub url: Url,
    /// The body of a POST.
    pub body: Vec<u8>,
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
    /// There is no index yet: this request makes it, then the same is sent once more.
    Make(TargetRequest),
    /// The items are too many or too large together.
    Divide,
    /// The target takes nothing at present, and why.
    Interrupted(String),
}

/// A server that is spoken to by HTTP.
pub trait TargetServer: fmt::Debug + Send + Sync {
    /// The request that makes these changes.
    fn request(&self, version: u64, items: &[CopyItem]) -> TargetRequest;

    /// Reads of an answer, by its status and body, what became of these items.
    fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer;

    /// Asks for all documents, page by page: from the beginning, or after a page.
    fn list(&self, after: Option<&str>) -> TargetRequest;

    /// Reads the answer to [`TargetServer::list`].
    ///
    /// # Errors
    /// Why it is no list.
    fn read_list(&self, after: Option<&str>, status: u16, body: &[u8]) -> Result<DocumentList, String>;

    /// The header field that has `deliver.bearer`; none of `Authorization`.
    fn key_field(&self) -> Option<&'static str> {
        None
    }

    /// Do versions keep a request that comes late from undoing a later one?
    fn has_versions(&self) -> bool {
        false
    }

    /// Deletes that a request may have.
    fn max_deletes(&self) -> usize {
        usize::MAX
    }
}

/// A part of the documents that a target has.
#[derive(Debug, Default)]
pub struct DocumentList {
    /// The documents.
    pub documents: Vec<ListedDocument>,
    /// The place at which the next part begins, if there is one.
    pub next: Option<String>,
    /// Is there no index yet? The first document makes it.
    pub is_absent: bool,
}

/// Documents of a part of a list at most.
const LISTED: usize = 1000;

/// Reads a document of a list. Some servers make a list of each value.
pub fn listed(value: &Value) -> ListedDocument {
    let one = |name: &str| match &value[name] {
        Value::Array(values) => values.first().cloned().unwrap_or_default(),
        other => other.clone(),
    };
    let text = |name: &str| one(name).as_str().unwrap_or_default().to_owned();
    ListedDocument { id: text("id"), version: one("version").as_u64().unwrap_or_default(), url: text("url") }
}

/// Reads the status of a request that is answered by JSON.
fn json_of(status: u16, body: &[u8]) -> Result<Value, String> {
    if status != 200 {
        let AfterAnswer::Interrupted(why) = not_taken(status, body, 0) else {
            return Err(format!("status {status}"));
        };
        return Err(why);
    }
    serde_json::from_slice(body).map_err(|_| "its answer is not JSON".into())
}

/// Asks without a body.
fn get(url: Url) -> TargetRequest {
    TargetRequest { method: HttpMethod::Get, url, body: Vec::new(), content_type: "application/json" }
}

/// How a target is spoken to.
#[derive(Clone, Debug)]
pub enum TargetProtocol {
    /// By HTTP.
    Server(Arc<dyn TargetServer>),
    /// Lines of JSON are appended to a file.
    Lines(PathBuf),
    /// Such lines become objects, one of each request, below this address of a bucket.
    Objects(String),
    /// A program with its arguments reads such lines.
    Program(Vec<String>),
    /// The full-text index in the data directory.
    Index,
}

/// `deliver.to`, as read.
#[derive(Clone, Debug)]
pub struct TargetPlace {
    /// The same for all ways to write it. A target with another address has other documents.
    pub address: String,
    /// How it is spoken to.
    pub protocol: TargetProtocol,
}

/// A way to write `deliver.to`.
struct TargetKind {
    /// Its beginning.
    begins: &'static str,
    /// For people who write another.
    example: &'static str,
    /// Reads the rest.
    read: fn(&str) -> Result<TargetPlace, String>,
}

const KINDS: &[TargetKind] = &[
    TargetKind {
        begins: "opensearch+",
        example: "opensearch+https://search.example:9200/docs",
        read: |rest| of_server("opensearch", rest, opensearch::BulkIndex::new),
    },
    TargetKind {
        begins: "elasticsearch+",
        example: "elasticsearch+https://search.example:9200/docs",
        read: |rest| of_server("opensearch", rest, opensearch::BulkIndex::new),
    },
    TargetKind {
        begins: "meilisearch+",
        example: "meilisearch+http://localhost:7700/docs",
        read: |rest| of_server("meilisearch", rest, meilisearch::TaskIndex::new),
    },
    TargetKind {
        begins: "typesense+",
        example: "typesense+http://localhost:8108/docs",
        read: |rest| of_server("typesense", rest, |server, name| typesense::Collection::new(&server, name)),
    },
    TargetKind {
        begins: "solr+",
        example: "solr+http://localhost:8983/solr/docs",
        read: |rest| of_server("solr", rest, |server, name| solr::SolrCore::new(&server, name)),
    },
    TargetKind { begins: "command:", example: "command:/usr/local/bin/load-docs", read: program::place },
    TargetKind { begins: "jsonl+file://", example: "jsonl+file:///var/lib/docs.jsonl", read: lines::place },
    TargetKind { begins: "jsonl+", example: "jsonl+s3://bucket/docs", read: lines::prefix },
    TargetKind { begins: "index", example: "index", read: of_data_directory },
];

/// Text that names no target.
#[derive(Debug, PartialEq, Eq)]
pub struct NoTarget(String);

impl fmt::Display for NoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let examples: Vec<&str> = TargetPlace::examples().collect();
        write!(f, "{}; write it as one of: {}", self.0, examples.join(", "))
    }
}

impl TargetPlace {
    /// A target of each kind.
    pub fn examples() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.example)
    }

    /// Reads `deliver.to`.
    ///
    /// # Errors
    /// That it names no target, and how to write one.
    pub fn parse(text: &str) -> Result<TargetPlace, NoTarget> {
        let wrong = |what: String| NoTarget(format!("{:?}: {what}", without_secrets(text)));
        let kind = KINDS.iter().find(|kind| text.starts_with(kind.begins));
        let kind = kind.ok_or_else(|| wrong("unknown kind of target".into()))?;
        (kind.read)(&text[kind.begins.len()..]).map_err(wrong)
    }
}

/// The text without user, password and query: messages end up in logs.
fn without_secrets(text: &str) -> String {
    let (text, query) = text.split_once('?').map_or((text, ""), |(text, _)| (text, "?(hidden)"));
    let is_url = |(kind, rest): &(&str, &str)| !kind.is_empty() && rest.contains('@');
    match text.split_once("://").filter(is_url) {
        Some((kind, rest)) => format!("{kind}://(hidden){}{query}", &rest[rest.rfind('@').unwrap_or(0)..]),
        None => format!("{text}{query}"),
    }
}

/// The full-text index in the data directory.
fn of_data_directory(rest: &str) -> Result<TargetPlace, String> {
    match rest {
        "" => Ok(TargetPlace { address: "index".into(), protocol: TargetProtocol::Index }),
        _ => Err("unknown kind of target".into()),
    }
}

/// An index of a server, by its URL.
fn of_server<S: TargetServer + 'static>(
    kind: &str,
    rest: &str,
    new: fn(Url, &str) -> Result<S, String>,
) -> Result<TargetPlace, String> {
    let url = Url::parse(rest).map_err(|e| e.to_string())?;
    let is_http = matches!(url.scheme(), "http" | "https");
    let is_bare = url.username().is_empty() && [url.password(), url.query(), url.fragment()] == [None; 3];
    if !is_http || !is_bare {
        let why = "it is not http or https, or has more than host and path; user and password are keys";
        return Err(why.into());
    }
    let (base, index) = url.path().trim_end_matches('/').rsplit_once('/').unwrap_or_default();
    if index.is_empty() {
        return Err("the name of the index is missing".into());
    }
    let mut server = url.clone();
    server.set_path(&format!("{base}/"));
    let address = format!("{kind}+{server}{index}");
    Ok(TargetPlace { address, protocol: TargetProtocol::Server(Arc::new(new(server, index)?)) })
}

/// A URL below a server's.
fn below(server: &Url, path: &str) -> Url {
    server.join(path).expect("a path of plain characters")
}

/// A document without fields that have no value: some servers know no null.
fn without_nulls(document: &PageDocument) -> Value {
    let mut value = serde_json::to_value(document).expect("a document is plain data");
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

/// Items that are refused together are sent in halves, until it is known which one is meant.
fn refused(items: usize, why: String) -> AfterAnswer {
    match items {
        1 => AfterAnswer::Answers(vec![(ItemAnswer::Refused, Some(why))]),
        _ => AfterAnswer::Divide,
    }
}

/// Reads the status of a request that was not taken. Only its size can be a fault of the documents: what else is wrong with
/// it is wrong with each part of it.
fn not_taken(status: u16, body: &[u8], items: usize) -> AfterAnswer {
    match status {
        413 => refused(items, told(status, body)),
        300..=399 => AfterAnswer::Interrupted(format!(
            "status {status}: redirects are not followed; configure their target"
        )),
        401 | 403 => AfterAnswer::Interrupted(format!(
            "status {status}: it asks for other credentials (deliver.user, deliver.bearer)"
        )),
        404 => AfterAnswer::Interrupted(format!("is the address right? {}", told(status, body))),
        status => AfterAnswer::Interrupted(told(status, body)),
    }
}

/// An answer for people: its status, and how its body begins.
pub fn told(status: u16, body: &[u8]) -> String {
    let said: String = String::from_utf8_lossy(body).trim().chars().take(300).collect();
    if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") }
}

#[cfg(test)]
mod tests;
