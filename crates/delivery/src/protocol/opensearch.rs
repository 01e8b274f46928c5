//! The bulk API of OpenSearch and Elasticsearch.
//!
//! Each change has an external version. So a request that comes late, or twice, never overwrites a newer document.

use super::{AfterAnswer, CopyItem, HttpMethod, TargetRequest, TargetServer, not_taken};
use crate::document::id;
use crate::sync::ItemAnswer;
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
    bulk: Url,
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
        let bulk = server.join("_bulk").map_err(|e| e.to_string())?;
        Ok(BulkIndex { bulk, name: name.to_owned() })
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
            url: self.bulk.clone(),
            body,
            content_type: "application/x-ndjson",
        }
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
