//! CDXJ, an index of web archives with JSON: one line `key time {…}` per capture.

use super::captures::{Capture, Captures};
use super::lines::{LineReader, shown};
use super::{DatasetError, DatasetFormat, FormatStart, calendar};
use crate::Dataset;
use serde::Deserialize;
use std::borrow::Cow;
use std::path::Path;

pub const FORMAT: DatasetFormat = DatasetFormat {
    name: "cdxj",
    help: "index of a web archive with JSON: key, time and object per line",
    timed: true,
    recognises: |start| matches!(start, FormatStart::Line(line) if is_cdxj(line)),
    read,
    write: None,
};

/// Start of lines with metadata.
const META: char = '!';

pub(super) fn is_cdxj(line: &str) -> bool {
    let is_capture = |(_, time, fields): (&str, &str, &str)| {
        calendar::parse_time(time).is_some() && fields.starts_with('{')
    };
    line.starts_with("!OpenWayback-CDXJ") || line.starts_with("!meta") || parts(line).is_some_and(is_capture)
}

fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = line.split_once(' ')?;
    let (time, fields) = rest.split_once(' ')?;
    Some((key, time, fields))
}

/// The fields that matter here; others are ignored.
#[derive(Deserialize)]
struct CdxjFields<'a> {
    #[serde(borrow, default)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    mime: Cow<'a, str>,
    #[serde(default)]
    status: CdxjStatus<'a>,
    #[serde(borrow, default)]
    digest: Cow<'a, str>,
}

/// Some programs write a number, some a string, and revisits have none.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum CdxjStatus<'a> {
    #[default]
    None,
    Code(u16),
    Text(#[serde(borrow)] Cow<'a, str>),
}

fn read(path: &Path, seconds: u64) -> Result<Dataset, DatasetError> {
    let mut lines = LineReader::open(path)?;
    let mut captures = Captures::default();
    while let Some(line) = lines.next_line()? {
        read_line(line, |capture| captures.push(capture)).map_err(|what| lines.wrong(what))?;
    }
    captures.finish(path, seconds)
}

/// Passes the capture of a line to `take`; a metadata line has none.
pub(super) fn read_line<T>(
    line: &str,
    take: impl FnOnce(&Capture<'_>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if line.starts_with(META) {
        return Ok(None);
    }
    let wrong = || format!("{}: expected a key, a time and an object, separated by one space", shown(line));
    let (key, time, fields) = parts(line).ok_or_else(wrong)?;
    let fields: CdxjFields = serde_json::from_str(fields).map_err(|e| format!("object: {e}"))?;
    let code;
    let status = match &fields.status {
        CdxjStatus::None => "-",
        CdxjStatus::Text(text) => text,
        CdxjStatus::Code(number) => {
            code = number.to_string();
            &code
        }
    };
    let (url, mime, digest) = (&fields.url, &fields.mime, &fields.digest);
    take(&Capture { key, time, url, mime, status, digest }).map(Some)
}

#[cfg(test)]
mod tests;
