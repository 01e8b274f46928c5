//! Typesense. It answers to each line of an import. It has no versions: so there is one request at a time. The first
//! import makes its collection.

use super::{
    AfterAnswer, CopyItem, DocumentList, HttpMethod, TargetRequest, TargetServer, below, get, json_of,
    listed, not_taken, without_nulls,
};
use crate::document::id;
use crate::sync::ItemAnswer;
use serde_json::{Value, json};
use url::Url;

/// Ids that a delete may have: they are in its URL.
const MAX_DELETES: usize = 60;

/// A collection of a server.
#[derive(Debug)]
pub struct Collection {
    collections: Url,
    name: String,
    documents: Url,
}

impl Collection {
    /// # Errors
    /// That no collection has this name.
    pub fn new(server: &Url, name: &str) -> Result<Collection, String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match name.chars().all(is_name) {
            true => Ok(Collection {
                collections: below(server, "collections"),
                name: name.to_owned(),
                documents: below(server, &format!("collections/{name}/documents")),
            }),
            false => Err(format!("{name:?}: name a collection by letters, digits, -, _ and .")),
        }
    }
}

impl Collection {
    /// Makes the collection. Each field gets the type of its first value.
    fn creation(&self) -> TargetRequest {
        let fields = json!({"name": self.name, "fields": [{"name": ".*", "type": "auto"}]});
        TargetRequest {
            method: HttpMethod::Post,
            url: self.collections.clone(),
            body: fields.to_string().into_bytes(),
            content_type: "application/json",
        }
    }
}

/// Is there no collection of this name? A server that knows no such path, or is none of Typesense, answers by more.
fn is_absent(status: u16, body: &[u8]) -> bool {
    status == 404
        && serde_json::from_slice::<Value>(body).is_ok_and(|answer| answer == json!({"message": "Not Found"}))
}

impl TargetServer for Collection {
    fn key_field(&self) -> Option<&'static str> {
        Some("x-typesense-api-key")
    }

    fn max_deletes(&self) -> usize {
        MAX_DELETES
    }

    /// Puts alone, or deletes alone.
    fn request(&self, _version: u64, items: &[CopyItem]) -> TargetRequest {
        let (mut lines, mut deleted) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                CopyItem::Put(document) => {
                    lines.extend_from_slice(without_nulls(document).to_string().as_bytes());
                    lines.push(b'\n');
                }
                CopyItem::Delete(url) => deleted.push(id(url)),
            }
        }
        let mut url = self.documents.clone();
        if deleted.is_empty() {
            url.set_path(&format!("{}/import", url.path()));
            url.set_query(Some("action=upsert"));
            return TargetRequest { method: HttpMethod::Post, url, body: lines, content_type: "text/plain" };
        }
        url.set_query(Some(&format!("filter_by=id:[{}]", deleted.join(","))));
        TargetRequest { method: HttpMethod::Delete, url, body: Vec::new(), content_type: "text/plain" }
    }

    /// All at once, a line for each.
    fn list(&self, _after: Option<&str>) -> TargetRequest {
        let mut url = self.documents.clone();
        url.set_path(&format!("{}/export", url.path()));
        url.set_query(Some("include_fields=id,version,url"));
        get(url)
    }

    fn read_list(&self, _after: Option<&str>, status: u16, body: &[u8]) -> Result<DocumentList, String> {
        if is_absent(status, body) {
            return Ok(DocumentList { is_absent: true, ..DocumentList::default() });
        }
        if status != 200 {
            json_of(status, body)?;
        }
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let values: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
        let values = values.map_err(|_| "its answer is no list")?;
        Ok(DocumentList { documents: values.iter().map(listed).collect(), ..DocumentList::default() })
    }

    /// An import is answered by a line for each document, a delete by their number.
    fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer {
        let are_deletes = items.iter().all(|item| matches!(item, CopyItem::Delete(_)));
        match (status, are_deletes) {
            (200, _) => {}
            // What is not there need not go.
            (404, true) if is_absent(status, body) => {
                return AfterAnswer::Answers(vec![(ItemAnswer::Taken, None); items.len()]);
            }
            (404, false) if is_absent(status, body) => return AfterAnswer::Make(self.creation()),
            _ => return not_taken(status, body, items.len()),
        }
        if are_deletes {
            return match serde_json::from_slice::<Value>(body) {
                Ok(answer) if answer["num_deleted"].is_u64() => {
                    AfterAnswer::Answers(vec![(ItemAnswer::Taken, None); items.len()])
                }
                _ => AfterAnswer::Interrupted("its answer is not that of a delete".into()),
            };
        }
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let answered: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
        match answered {
            Ok(answered) if answered.len() == items.len() => {
                AfterAnswer::Answers(answered.iter().map(answer).collect())
            }
            _ => AfterAnswer::Interrupted("its answer is not that of an import".into()),
        }
    }
}

fn answer(line: &Value) -> (ItemAnswer, Option<String>) {
    let why = || Some(line["error"].as_str().unwrap_or("no reason given").to_owned());
    match (line["success"].as_bool(), line["code"].as_u64()) {
        (Some(true), _) => (ItemAnswer::Taken, None),
        (_, Some(400 | 409 | 413 | 422)) => (ItemAnswer::Refused, why()),
        // It is busy, or its disk is full.
        _ => (ItemAnswer::Unknown, why()),
    }
}
