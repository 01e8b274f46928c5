//! Solr. A request fails as a whole, and may have been made in part; a tolerant update chain tells so with a success. It
//! has no versions for us: so there is one request at a time, and a part that was made is made again.

use super::{
    AfterAnswer, CopyItem, DocumentList, HttpMethod, LISTED, TargetRequest, TargetServer, below, get,
    json_of, listed, not_taken, refused, without_nulls,
};
use crate::document::id;
use crate::sync::ItemAnswer;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

/// Time after which changes can be searched. They are durable before: Solr has a log.
const COMMIT: &str = "commitWithin=5000";

/// A core, or collection.
#[derive(Debug)]
pub struct SolrCore {
    core: Url,
}

impl SolrCore {
    /// # Errors
    /// That no core has this name.
    pub fn new(server: &Url, name: &str) -> Result<SolrCore, String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match name.chars().all(is_name) {
            true => Ok(SolrCore { core: below(server, &format!("{name}/")) }),
            false => Err(format!("{name:?}: name a core by letters, digits, -, _ and .")),
        }
    }
}

impl TargetServer for SolrCore {
    /// Puts alone, or deletes alone.
    fn request(&self, _version: u64, items: &[CopyItem]) -> TargetRequest {
        let (mut documents, mut deleted) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                CopyItem::Put(document) => documents.push(without_nulls(document)),
                CopyItem::Delete(url) => deleted.push(id(url)),
            }
        }
        let body = if deleted.is_empty() { Value::from(documents) } else { json!({"delete": deleted}) };
        TargetRequest {
            method: HttpMethod::Post,
            url: below(&self.core, &format!("update?{COMMIT}")),
            body: body.to_string().into_bytes(),
            content_type: "application/json",
        }
    }

    /// Changes of the last seconds may be missing.
    fn list(&self, after: Option<&str>) -> TargetRequest {
        let mark: String = form_urlencoded::byte_serialize(after.unwrap_or("*").as_bytes()).collect();
        let query = format!("q=*:*&fl=id,version,url&sort=id%20asc&rows={LISTED}&wt=json&cursorMark={mark}");
        get(below(&self.core, &format!("select?{query}")))
    }

    fn read_list(&self, after: Option<&str>, status: u16, body: &[u8]) -> Result<DocumentList, String> {
        let answer = json_of(status, body)?;
        let found = answer["response"]["docs"].as_array().ok_or("its answer is no list")?;
        let next = answer["nextCursorMark"].as_str().filter(|next| *next != after.unwrap_or("*"));
        let next = next.map(str::to_owned);
        Ok(DocumentList { documents: found.iter().map(listed).collect(), next, is_absent: false })
    }

    fn read(&self, items: &[CopyItem], status: u16, body: &[u8]) -> AfterAnswer {
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let are_puts = items.iter().all(|item| matches!(item, CopyItem::Put(_)));
        let of_some = answer["responseHeader"]["errors"].get(0);
        let why = of_some.map_or(&answer["error"]["msg"], |error| &error["message"]).as_str();
        match (status, answer["responseHeader"]["status"].as_u64()) {
            (200, Some(0)) if of_some.is_none() => {
                AfterAnswer::Answers(vec![(ItemAnswer::Taken, None); items.len()])
            }
            // A field that the schema does not know, or a value that is none of its type.
            (200, Some(0)) | (400, _) if are_puts && why.is_some() => {
                refused(items.len(), why.unwrap_or_default().to_owned())
            }
            (200, _) => AfterAnswer::Interrupted("its answer is not that of an update".into()),
            _ => not_taken(status, body, items.len()),
        }
    }
}
