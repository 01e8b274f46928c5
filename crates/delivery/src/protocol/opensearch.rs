//! The bulk API of OpenSearch and Elasticsearch.
//!
//! Each change has an external version. So a request that comes late, or twice, never overwrites a newer document.

use super::{
    AfterAnswer, CopyItem, DocumentList, HttpMethod, LISTED, TargetRequest, TargetServer, below, json_of,
    not_taken,
};
use crate::document::id;
use crate::sync::ItemAnswer;
use crate::verify::ListedDocument;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// Types of errors that are of one document.
const OF_DOCUMENTS: [&str; 4] = [
    "mapper_parsing_exception",
    "document_parsing_exception",
    "strict_dynamic_mapping_exception",
    "illegal_argument_exception",
];

/// An index of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkIndex {
    server: Url,
    name: String,
}

#[derive(Deserialize)]
struct Bulk {
    items: Vec<serde_json::Map<String, Value>>,
}

impl BulkIndex {
    /// # Errors
    /// That no index has this name.
    pub fn new(server: Url, name: &str) -> Result<BulkIndex, String> {
        let is_name =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | '+');
        if !name.chars().all(is_name) || name.starts_with(['-', '_', '+', '.']) {
            return Err(format!("{name:?}: an index is named by lower-case letters, digits, - and _"));
        }
        Ok(BulkIndex { server, name: name.to_owned() })
    }
}

impl TargetServer for BulkIndex {
    /// Two lines for a put, one for a delete.
    fn request(&self, version: u64, items: &[CopyItem]) -> TargetRequest {
        let mut body = Vec::new();
        for item in items {
            let (action, page, document) = match item {
                CopyItem::Put(document) => ("index", document.id.clone(), Some(document)),
                CopyItem::Delete(url) => ("delete", id(url), None),
            };
            let of =
                json!({"_index": self.name, "_id": page, "version": version, "version_type": "external_gte"});
            body.extend_from_slice(format!("{}\n", json!({action: of})).as_bytes());
            if let Some(document) = document {
                body.extend_from_slice(&serde_json::to_vec(document).expect("a document is plain data"));
                body.push(b'\n');
            }
        }
        TargetRequest {
            method: HttpMethod::Post,
            url: below(&self.server, "_bulk"),
            body,
            content_type: "application/x-ndjson",
        }
    }

    fn has_versions(&self) -> bool {
        true
    }

    /// An answer of 200 has the status of each item.
    fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer {
        if status != 200 {
            return not_taken(status, body, items.len());
        }
        let Ok(Bulk { items: answered }) = serde_json::from_slice(body) else {
            return AfterAnswer::Interrupted("its answer is not that of a bulk request".into());
        };
        if answered.len() != items.len() {
            return AfterAnswer::Interrupted(format!(
                "it answered {} of {} changes",
                answered.len(),
                items.len()
            ));
        }
        let answers = items.iter().zip(&answered).map(|(item, answered)| answer(item, answered));
        AfterAnswer::Answers(answers.collect())
    }

    /// First, all that was sent is made to be found. Then the server is asked for a list, which stays as it is then.
    fn list(&self, after: Option<&str>) -> TargetRequest {
        let (path, body) = match after {
            None => (format!("{}/_refresh", self.name), json!({})),
            Some("") => {
                let body = json!({"size": LISTED, "_source": ["url"], "version": true, "sort": ["_doc"]});
                (format!("{}/_search?scroll=5m", self.name), body)
            }
            Some(scroll) => ("_search/scroll".into(), json!({"scroll": "5m", "scroll_id": scroll})),
        };
        TargetRequest {
            method: HttpMethod::Post,
            url: below(&self.server, &path),
            body: body.to_string().into_bytes(),
            content_type: "application/json",
        }
    }

    fn read_list(&self, after: Option<&str>, status: u16, body: &[u8]) -> Result<DocumentList, String> {
        let error: Value = serde_json::from_slice(body).unwrap_or_default();
        if status == 404 && error["error"]["type"] == "index_not_found_exception" {
            return Ok(DocumentList { is_absent: true, ..DocumentList::default() });
        }
        let answer = json_of(status, body)?;
        if after.is_none() {
            return Ok(DocumentList { next: Some(String::new()), ..DocumentList::default() });
        }
        let hits = answer["hits"]["hits"].as_array().ok_or("its answer is no list")?;
        let document = |hit: &Value| ListedDocument {
            id: hit["_id"].as_str().unwrap_or_default().to_owned(),
            version: hit["_version"].as_u64().unwrap_or_default(),
            url: hit["_source"]["url"].as_str().unwrap_or_default().to_owned(),
        };
        let next = answer["_scroll_id"].as_str().filter(|_| !hits.is_empty()).map(str::to_owned);
        Ok(DocumentList { documents: hits.iter().map(document).collect(), next, is_absent: false })
    }
}

fn answer(item: &CopyItem, answered: &serde_json::Map<String, Value>) -> (ItemAnswer, Option<String>) {
    let of = answered.values().next().unwrap_or(&Value::Null);
    let is_delete = matches!(item, CopyItem::Delete(_));
    let why = || Some(of["error"]["reason"].as_str().unwrap_or("no reason given").to_owned());
    match of["status"].as_u64() {
        Some(200 | 201) => (ItemAnswer::Taken, None),
        // What is not there need not go.
        Some(404) if is_delete && of["error"].is_null() => (ItemAnswer::Taken, None),
        Some(400) if of["error"]["type"].as_str().is_some_and(|kind| OF_DOCUMENTS.contains(&kind)) => {
            (ItemAnswer::Refused, why())
        }
        // It is busy, or the index takes nothing: no fault of the document. Or 409, it has a newer version: our clock and
        // what we knew of it are behind (a restored backup on another machine). It is sent again until the clock has passed
        // that version. It must not count as taken: the newer document may be of a state that is no more.
        _ => (ItemAnswer::Unknown, why()),
    }
}
