//! Meilisearch. It takes a request as a task, and tells by the task what became of it. It has no versions: so there is one
//! request at a time, and the next one waits for the task's end.

use super::{
    AfterAnswer, CopyItem, DocumentList, HttpMethod, LISTED, TargetRequest, TargetServer, below, get,
    json_of, listed, not_taken, refused,
};
use crate::document::id;
use crate::sync::ItemAnswer;
use serde_json::Value;
use url::Url;

/// Codes of errors that are of one document. The others are of the index or the request, and no part of it would be taken.
const OF_DOCUMENTS: [&str; 8] = [
    "invalid_document_id",
    "missing_document_id",
    "invalid_document_fields",
    "invalid_document_geo_field",
    "invalid_document_geojson_field",
    "invalid_vectors_type",
    "document_fields_limit_reached",
    "max_fields_limit_exceeded",
];

/// An index of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskIndex {
    server: Url,
    name: String,
}

impl TaskIndex {
    /// # Errors
    /// That no index has this name.
    pub fn new(server: Url, name: &str) -> Result<TaskIndex, String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match name.chars().all(is_name) {
            true => Ok(TaskIndex { server, name: name.to_owned() }),
            false => Err(format!("{name:?}: an index is named by letters, digits, - and _")),
        }
    }
}

impl TargetServer for TaskIndex {
    /// Puts alone, or deletes alone.
    fn request(&self, _version: u64, items: &[CopyItem]) -> TargetRequest {
        let put = |item: &CopyItem| match item {
            CopyItem::Put(document) => {
                Some(serde_json::to_value(document).expect("a document is plain data"))
            }
            CopyItem::Delete(_) => None,
        };
        let deleted = |item: &CopyItem| match item {
            CopyItem::Put(_) => None,
            CopyItem::Delete(url) => Some(Value::from(id(url))),
        };
        let documents: Vec<Value> = items.iter().filter_map(put).collect();
        let (path, body) = match documents.is_empty() {
            false => (format!("indexes/{}/documents?primaryKey=id", self.name), documents),
            true => {
                let ids = items.iter().filter_map(deleted).collect();
                (format!("indexes/{}/documents/delete-batch", self.name), ids)
            }
        };
        let body = Value::Array(body).to_string().into_bytes();
        TargetRequest {
            method: HttpMethod::Post,
            url: below(&self.server, &path),
            body,
            content_type: "application/json",
        }
    }

    /// 202 names a task; 200 tells of one.
    fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let ask = |task: u64| TargetRequest {
            method: HttpMethod::Get,
            url: below(&self.server, &format!("tasks/{task}")),
            body: Vec::new(),
            content_type: "application/json",
        };
        match (status, document["status"].as_str()) {
            (202, _) => match document["taskUid"].as_u64() {
                Some(task) => AfterAnswer::Ask(ask(task)),
                None => AfterAnswer::Interrupted("it named no task".into()),
            },
            (200, Some("enqueued" | "processing")) => match document["uid"].as_u64() {
                Some(task) => AfterAnswer::Ask(ask(task)),
                None => AfterAnswer::Interrupted("its task has no number".into()),
            },
            (200, Some("succeeded")) => AfterAnswer::Answers(vec![(ItemAnswer::Taken, None); items.len()]),
            (200, Some("canceled")) => AfterAnswer::Interrupted("somebody cancelled the task".into()),
            (200, Some("failed")) => failed(items, &document["error"]),
            (200, _) => AfterAnswer::Interrupted("its answer is not that of a task".into()),
            (400, _) if is_of_document(&document) => refused(items.len(), why(&document)),
            _ => not_taken(status, body, items.len()),
        }
    }

    fn list(&self, after: Option<&str>) -> TargetRequest {
        let query = format!("limit={LISTED}&offset={}&fields=id,version,url", after.unwrap_or("0"));
        get(below(&self.server, &format!("indexes/{}/documents?{query}", self.name)))
    }

    fn read_list(&self, after: Option<&str>, status: u16, body: &[u8]) -> Result<DocumentList, String> {
        let error: Value = serde_json::from_slice(body).unwrap_or_default();
        if status == 404 && error["code"] == "index_not_found" {
            return Ok(DocumentList { is_absent: true, ..DocumentList::default() });
        }
        let answer = json_of(status, body)?;
        let found = answer["results"].as_array().ok_or("its answer is no list")?;
        let offset = after.and_then(|after| after.parse().ok()).unwrap_or(0) + found.len();
        let next = (!found.is_empty()).then(|| offset.to_string());
        Ok(DocumentList { documents: found.iter().map(listed).collect(), next, is_absent: false })
    }
}

/// A task fails as a whole: which document it was, smaller requests tell.
fn failed(items: &[CopyItem], error: &Value) -> AfterAnswer {
    let are_deletes = items.iter().all(|item| matches!(item, CopyItem::Delete(_)));
    if error["code"] == "index_not_found" && are_deletes {
        // What is not there need not go.
        return AfterAnswer::Answers(vec![(ItemAnswer::Taken, None); items.len()]);
    }
    match is_of_document(error) {
        true => refused(items.len(), why(error)),
        false => AfterAnswer::Interrupted(why(error)),
    }
}

fn is_of_document(error: &Value) -> bool {
    error["code"].as_str().is_some_and(|code| OF_DOCUMENTS.contains(&code))
}

fn why(error: &Value) -> String {
    error["message"].as_str().unwrap_or("no reason given").to_owned()
}
