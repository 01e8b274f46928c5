//! The answers of each server.

use super::{AskedRequest, SearchServer};
use serde_json::{Value, json};

/// A task of Meilisearch.
#[derive(Debug)]
pub(super) struct QueuedTask {
    documents: Vec<Value>,
    deleted: Vec<String>,
    asked: usize,
    error: Option<Value>,
    is_done: bool,
}

fn lines(body: &[u8]) -> impl Iterator<Item = Value> {
    body.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("each line is JSON"))
}

fn fields((id, version, url): &(String, u64, Value)) -> Value {
    json!({"id": id, "version": version, "url": url})
}

fn text(value: &Value) -> String {
    value.as_str().expect("it is text").to_owned()
}

impl SearchServer {
    /// The bulk API.
    pub(super) fn opensearch(&mut self, asked: &AskedRequest<'_>, most: usize) -> (u16, String) {
        let scroll = match asked.path {
            "/docs/_refresh" => return (200, "{}".into()),
            "/docs/_search?scroll=5m" => Some(0),
            "/_search/scroll" => {
                let body: Value = serde_json::from_slice(asked.body).expect("it is JSON");
                Some(text(&body["scroll_id"]).parse().expect("a number"))
            }
            _ => None,
        };
        if let Some(from) = scroll {
            let (part, next) = self.part(from);
            let hit = |(id, version, url): &(String, u64, Value)| json!({"_id": id, "_version": version, "_source": {"url": url}});
            let hits: Vec<Value> = part.iter().map(hit).collect();
            return (200, json!({"_scroll_id": next.to_string(), "hits": {"hits": hits}}).to_string());
        }
        if (asked.method, asked.path) != ("POST", "/_bulk") {
            return (404, r#"{"error":"no handler"}"#.into());
        }
        let (mut items, mut lines) = (Vec::new(), lines(asked.body));
        while let Some(action) = lines.next().filter(|_| items.len() < most) {
            let (name, of) = action.as_object().and_then(|action| action.iter().next()).expect("an action");
            assert_eq!((&of["_index"], &of["version_type"]), (&json!("docs"), &json!("external_gte")));
            let (id, version) = (text(&of["_id"]), of["version"].as_u64().expect("a version"));
            let held = self.documents.get(&id).map(|(held, _)| held).or(self.deleted.get(&id));
            let is_late = held.is_some_and(|held| *held > version);
            let document = if name == "delete" { None } else { lines.next() };
            let (status, error) = match document {
                _ if is_late => (409, json!({"type": "version_conflict_engine_exception", "reason": "late"})),
                None => {
                    self.deleted.insert(id.clone(), version);
                    (if self.documents.remove(&id).is_some() { 200 } else { 404 }, Value::Null)
                }
                Some(document) if self.is_refused(&document) => {
                    (400, json!({"type": "mapper_parsing_exception", "reason": "a word that is refused"}))
                }
                Some(document) => {
                    assert_eq!((&document["id"], &document["version"]), (&json!(id), &json!(version)));
                    self.documents.insert(id, (version, document));
                    (201, Value::Null)
                }
            };
            items.push(json!({name.as_str(): {"status": status, "error": error}}));
        }
        (200, json!({"errors": false, "items": items}).to_string())
    }

    /// Tasks, in the order of requests.
    pub(super) fn meilisearch(&mut self, asked: &AskedRequest<'_>, most: usize) -> (u16, String) {
        if let Some(number) = asked.path.strip_prefix("/tasks/") {
            let number: usize = number.parse().expect("a number");
            self.tasks[number].asked += 1;
            if self.tasks[number].asked >= self.patience {
                self.work(number);
            }
            let QueuedTask { is_done, error, .. } = &self.tasks[number];
            let status = match (is_done, error) {
                (false, _) => "processing",
                (true, None) => "succeeded",
                (true, Some(_)) => "failed",
            };
            return (200, json!({"uid": number, "status": status, "error": error}).to_string());
        }
        let list = "/indexes/docs/documents?limit=1000&offset=";
        if let Some(from) =
            asked.path.strip_prefix(list).and_then(|rest| rest.strip_suffix("&fields=id,version,url"))
        {
            let (part, _) = self.part(from.parse().expect("a number"));
            let results: Vec<Value> = part.iter().map(fields).collect();
            return (200, json!({"results": results, "total": self.documents.len()}).to_string());
        }
        let Ok(Value::Array(items)) = serde_json::from_slice(asked.body) else {
            return (404, r#"{"code":"not_found"}"#.into());
        };
        let (mut documents, mut deleted) = (Vec::new(), Vec::new());
        match asked.path {
            "/indexes/docs/documents?primaryKey=id" => documents = items,
            "/indexes/docs/documents/delete-batch" => deleted = items.iter().map(text).collect(),
            _ => return (404, r#"{"code":"not_found"}"#.into()),
        }
        if most == usize::MAX {
            self.tasks.push(QueuedTask { documents, deleted, asked: 0, error: None, is_done: false });
        }
        let number = self.tasks.len().saturating_sub(1);
        (202, json!({"taskUid": number, "indexUid": "docs", "status": "enqueued"}).to_string())
    }

    /// All tasks up to this one end.
    pub fn work(&mut self, last: usize) {
        for number in 0..=last.min(self.tasks.len().saturating_sub(1)) {
            let Some(task) = self.tasks.get_mut(number).filter(|task| !task.is_done) else { continue };
            task.is_done = true;
            let (documents, deleted) =
                (std::mem::take(&mut task.documents), std::mem::take(&mut task.deleted));
            if documents.iter().any(|document| self.is_refused(document)) {
                let error = json!({"message": "a word that is refused", "code": "invalid_document_fields",
                    "type": "invalid_request"});
                self.tasks[number].error = Some(error);
                continue;
            }
            documents.iter().for_each(|document| self.put(document));
            deleted.iter().for_each(|id| drop(self.documents.remove(id)));
        }
    }

    /// Lines with an answer to each, and deletes by ids.
    pub(super) fn typesense(&mut self, asked: &AskedRequest<'_>, most: usize) -> (u16, String) {
        const DELETE: &str = "/collections/docs/documents?filter_by=id:[";
        match (asked.path, self.has_index) {
            ("/collections", true) => {
                return (409, r#"{"message": "A collection with name `docs` already exists."}"#.into());
            }
            ("/collections", false) => {
                self.has_index = true;
                return (201, r#"{"name": "docs"}"#.into());
            }
            (_, false) => return (404, r#"{"message": "Not Found"}"#.into()),
            (_, true) => {}
        }
        if asked.method == "DELETE"
            && let Some(ids) = asked.path.strip_prefix(DELETE).and_then(|ids| ids.strip_suffix(']'))
        {
            let deleted = ids.split(',').take(most).filter(|id| self.documents.remove(*id).is_some()).count();
            return (200, json!({"num_deleted": deleted}).to_string());
        }
        if asked.path == "/collections/docs/documents/export?include_fields=id,version,url" {
            let all = self
                .documents
                .iter()
                .map(|(id, (version, found))| (id.clone(), *version, found["url"].clone()));
            return (200, all.map(|document| format!("{}\n", fields(&document))).collect());
        }
        if (asked.method, asked.path) != ("POST", "/collections/docs/documents/import?action=upsert") {
            return (404, r#"{"message":"Not Found"}"#.into());
        }
        let mut answers = Vec::new();
        for document in lines(asked.body).take(most) {
            answers.push(match self.is_refused(&document) {
                true => json!({"success": false, "code": 400, "error": "a word that is refused"}).to_string(),
                false => {
                    self.put(&document);
                    json!({"success": true}).to_string()
                }
            });
        }
        (200, answers.join("\n"))
    }

    /// Documents or ids in an array.
    pub(super) fn solr(&mut self, asked: &AskedRequest<'_>, most: usize) -> (u16, String) {
        let list = "/solr/docs/select?q=*:*&fl=id,version,url&sort=id%20asc&rows=1000&wt=json&cursorMark=";
        if let Some(mark) = asked.path.strip_prefix(list) {
            let (part, next) = self.part(mark.parse().unwrap_or(0));
            // A field without a schema has a list of values.
            let document = |(id, version, url): &(String, u64, Value)| json!({"id": id, "version": [version], "url": [url]});
            let docs: Vec<Value> = part.iter().map(document).collect();
            let next = if docs.is_empty() { mark.to_owned() } else { next.to_string() };
            return (200, json!({"response": {"docs": docs}, "nextCursorMark": next}).to_string());
        }
        if asked.method != "POST" || !asked.path.starts_with("/solr/docs/update?") {
            return (404, "<html>Not Found</html>".into());
        }
        let ok = || (200, json!({"responseHeader": {"status": 0, "QTime": 1}}).to_string());
        match serde_json::from_slice(asked.body) {
            Ok(Value::Array(documents)) => {
                for document in documents.iter().take(most) {
                    if self.is_refused(document) {
                        let error = json!({"msg": "a word that is refused", "code": 400});
                        return (400, json!({"responseHeader": {"status": 400}, "error": error}).to_string());
                    }
                    self.put(document);
                }
                ok()
            }
            Ok(Value::Object(command)) => {
                let ids: Vec<String> =
                    command["delete"].as_array().expect("ids to delete").iter().map(text).collect();
                ids.iter().take(most).for_each(|id| drop(self.documents.remove(id)));
                ok()
            }
            _ => (400, json!({"error": {"msg": "no JSON", "code": 400}}).to_string()),
        }
    }
}
