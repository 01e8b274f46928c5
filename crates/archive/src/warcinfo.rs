//! The first record of each file: which software wrote it, how, and for whom.

use super::record::Compressor;
use super::spelling::{record_id, timestamp};
use std::fmt::Write as _;

/// What the WARC files of a crawl say of it.
#[derive(Clone, Debug)]
pub struct WarcProvenance {
    /// Letters and digits in the names of its files, which tell them from those of other crawls.
    pub tag: String,
    /// Fields of the `warcinfo` records, besides software and format: name and value.
    pub fields: Vec<(&'static str, String)>,
}

impl Default for WarcProvenance {
    fn default() -> WarcProvenance {
        WarcProvenance { tag: "0".into(), fields: Vec::new() }
    }
}

/// Field of the `warcinfo` record of a file that was begun after a recovery: the last records of the file before it may
/// belong to visits that are lost.
pub(super) const RECOVERED: &str = "X-Recrawl-Recovered";

impl WarcProvenance {
    /// The `warcinfo` record of a file, as one gzip member.
    pub(super) fn member(&self, name: &str, at: u64, is_recovered: bool) -> Vec<u8> {
        let mut fields = String::from(concat!(
            "software: recrawl/",
            env!("CARGO_PKG_VERSION"),
            "\r\nformat: WARC File Format 1.1\r\n",
            "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
        ));
        for (name, value) in &self.fields {
            let _ = write!(fields, "{name}: {}\r\n", value.replace(['\r', '\n'], " "));
        }
        let recovered = if is_recovered { format!("{RECOVERED}: yes\r\n") } else { String::new() };
        let head = format!(
            "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {}\r\nWARC-Filename: {name}\r\n\
             WARC-Record-ID: <{}>\r\n{recovered}Content-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
            timestamp(at),
            record_id(name, at),
            fields.len()
        );
        Compressor::new().member(&[head.as_bytes(), fields.as_bytes(), b"\r\n\r\n"])
    }
}
