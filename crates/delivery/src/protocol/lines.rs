//! Lines of JSON: `{"op":"put",…}` with the fields of the document, and `{"op":"delete","id":…}`.

use super::CopyItem;
use crate::document::{Document, id};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Line<'d> {
    Put(&'d Document),
    Delete { id: String, version: u64 },
}

/// The lines of these changes.
pub fn lines(version: u64, items: &[CopyItem]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        let line = match item {
            CopyItem::Put(document) => Line::Put(document),
            CopyItem::Delete(url) => Line::Delete { id: id(url), version },
        };
        out.extend_from_slice(&serde_json::to_vec(&line).expect("a document is plain data"));
        out.push(b'\n');
    }
    out
}

/// A line without documents of these ids; none if nothing is left of it.
pub fn rewritten<'l>(line: &'l [u8], removed: &BTreeSet<String>) -> Option<&'l [u8]> {
    let document: Value = serde_json::from_slice(line).ok()?;
    let is_removed =
        document["op"] == "put" && document["id"].as_str().is_some_and(|id| removed.contains(id));
    (!is_removed).then_some(line)
}
