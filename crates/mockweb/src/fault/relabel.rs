//! Correct responses with wrong labels.

use super::{Action, FaultKind, page};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// A wrong content coding.
pub const CODING: FaultKind = FaultKind {
    name: "coding",
    help: "the uncompressed page with a Content-Encoding; value: the coding, or cut for half a gzip, default gzip",
    parse: |value| {
        let coding = value.unwrap_or("gzip").to_string();
        Ok(Box::new(move |_| match coding.as_str() {
            "cut" => Action::Page {
                fields: vec![("content-type", "text/html".into()), ("content-encoding", "gzip".into())],
                body: half_a_gzip(),
            },
            _ => Action::Relabel(vec![("content-encoding", coding.clone())]),
        }))
    },
};

/// A wrong type.
pub const MEDIA: FaultKind = FaultKind {
    name: "media",
    help: "the page with a wrong Content-Type; value: the type, default image/png",
    parse: |value| {
        let media = value.unwrap_or("image/png").to_string();
        Ok(Box::new(move |_| Action::Relabel(vec![("content-type", media.clone())])))
    },
};

fn half_a_gzip() -> Vec<u8> {
    let text = page("Half", &"<p>Half of this is missing.</p>\n".repeat(50));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).expect("memory takes every byte");
    let mut packed = packed.finish().expect("memory takes every byte");
    packed.truncate(packed.len() / 2);
    packed
}
