//! Lines of JSON: `{"op":"put",…}` with the fields of the document, and `{"op":"delete","id":…}`.

use super::{CopyItem, TargetPlace, TargetProtocol};
use crate::document::{PageDocument, id};
use recrawl_types::{CanonicalUrl, UrlRules};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use url::Url;

#[derive(Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum DocumentLine<'d> {
    Put(&'d PageDocument),
    Delete { id: String, version: u64 },
}

/// The lines of these changes.
pub fn lines(version: u64, items: &[CopyItem]) -> Vec<u8> {
    let mut out = Vec::new();
    for item in items {
        let line = match item {
            CopyItem::Put(document) => DocumentLine::Put(document),
            CopyItem::Delete(url) => DocumentLine::Delete { id: id(url), version },
        };
        out.extend_from_slice(&serde_json::to_vec(&line).expect("a document is plain data"));
        out.push(b'\n');
    }
    out
}

/// Reads `deliver.to` of a file.
pub(super) fn place(path: &str) -> Result<TargetPlace, String> {
    // A file has one address, however it is written; behind a link, `..` is another folder than it seems.
    let is_upward = Path::new(path).components().any(|part| part == Component::ParentDir);
    match path.starts_with('/') && !path.ends_with('/') && !is_upward {
        true => {
            let path: PathBuf = Path::new(path).components().collect();
            Ok(TargetPlace {
                address: format!("jsonl+file://{}", path.display()),
                protocol: TargetProtocol::Lines(path),
            })
        }
        false => Err("name a file by its whole path, without `..`".into()),
    }
}

/// Reads `deliver.to` of objects in a bucket: the rest behind `jsonl+`.
pub(super) fn prefix(text: &str) -> Result<TargetPlace, String> {
    let url = Url::parse(text).map_err(|e| e.to_string())?;
    let is_bare = url.username().is_empty() && [url.password(), url.query(), url.fragment()] == [None; 3];
    let (bucket, path) = (url.host_str().unwrap_or_default(), url.path().trim_matches('/'));
    let is_store = ["s3", "gs", "az"].contains(&url.scheme()) && url.port().is_none();
    if !is_store || bucket.is_empty() || path.is_empty() || !is_bare {
        return Err("name a bucket and a folder in it; credentials come from the environment".into());
    }
    let store = format!("{}://{bucket}/{path}", url.scheme());
    Ok(TargetPlace { address: format!("jsonl+{store}"), protocol: TargetProtocol::Objects(store) })
}

/// Does a line stay where documents of some pages must not? A line that is none does not: nobody knows what it has.
pub fn kept(line: &[u8], is_removed: &dyn Fn(&CanonicalUrl) -> bool) -> bool {
    let Ok(line) = serde_json::from_slice::<WrittenLine>(line) else { return false };
    match line {
        // Readers are to know.
        WrittenLine { op, .. } if op == "delete" => true,
        WrittenLine { url: Some(url), .. } => {
            UrlRules::keep_all().canonicalize(&url).is_ok_and(|url| !is_removed(&url))
        }
        WrittenLine { .. } => false,
    }
}

#[derive(Deserialize)]
struct WrittenLine {
    op: String,
    url: Option<String>,
}
