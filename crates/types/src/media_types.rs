//! Lists of media types (`extract.types`, `scope.types`).

use crate::content_type::is_token;
use serde::{Deserialize, Serialize};

/// A list of media types; the default is that of `extract.types`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaTypes(Vec<String>);

impl Default for MediaTypes {
    /// HTML, XHTML, all of `text/`, and data as text: JSON, XML and YAML.
    fn default() -> Self {
        MediaTypes(MediaTypes::DEFAULT.map(str::to_owned).into())
    }
}

impl MediaTypes {
    /// The default of `extract.types`.
    pub const DEFAULT: [&str; 6] =
        ["text/html", XHTML, "text/*", "application/json", "application/xml", "application/yaml"];

    /// From patterns `type/subtype` and `type/*`.
    ///
    /// # Errors
    /// The first pattern that is neither.
    pub fn new<'t>(types: impl IntoIterator<Item = &'t str>) -> Result<MediaTypes, String> {
        let is_token = |t: &str| is_token(t) && !t.contains('*');
        let is_sound = |text: &str| match text.split_once('/') {
            Some((kind, "*")) => is_token(kind),
            Some((kind, subtype)) => is_token(kind) && is_token(subtype),
            None => false,
        };
        let checked = types.into_iter().map(|text| match is_sound(text) {
            true => Ok(text.to_ascii_lowercase()),
            false => Err(format!("{text:?} is not a media type; write text/html or text/*")),
        });
        checked.collect::<Result<_, _>>().map(MediaTypes)
    }

    /// Is this media type, `type/subtype` in lower case, or the format of its data in the list?
    pub fn admits(&self, essence: &str) -> bool {
        [essence, format_of(essence)].iter().any(|essence| {
            let kind = essence.split('/').next().unwrap_or("");
            self.0.iter().any(|t| t == essence || t.strip_suffix("/*") == Some(kind))
        })
    }
}

const XHTML: &str = "application/xhtml+xml";

/// The type of the format that a type of data is written in (RFC 6839, RFC 9512).
pub fn format_of(essence: &str) -> &str {
    match essence {
        XHTML => XHTML,
        _ if !essence.starts_with("application/") => essence,
        _ if is_json(essence) => "application/json",
        _ if essence.ends_with("+xml") => "application/xml",
        "application/x-yaml" => "application/yaml",
        _ if essence.ends_with("+yaml") => "application/yaml",
        _ => essence,
    }
}

/// Is this the media type of JSON, or of values of JSON one after another?
pub fn is_json(essence: &str) -> bool {
    const NAMES: [&str; 7] = ["json", "x-json", "json-seq", "ndjson", "x-ndjson", "jsonl", "x-jsonlines"];
    essence.split_once('/').is_some_and(|(_, name)| name.ends_with("+json") || NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_types_kinds_and_formats() {
        let types = MediaTypes::new(["text/HTML", "application/json", "image/*"]).unwrap();
        for (essence, admitted) in [
            ("text/html", true),
            ("application/json", true),
            ("application/ld+json", true),
            ("image/svg+xml", true),
            ("application/xhtml+xml", false),
            ("application/rss+xml", false),
            ("application/pdf", false),
            ("text/plain", false),
            ("imagery/png", false),
            ("", false),
        ] {
            assert_eq!(types.admits(essence), admitted, "{essence}");
        }
        for wrong in ["html", "*", "*/*", "text/", "text/html; charset=x", ""] {
            assert!(MediaTypes::new([wrong]).unwrap_err().contains("media type"), "{wrong}");
        }
    }

    #[test]
    fn json_is_known_by_its_type() {
        for essence in ["application/json", "text/json", "application/ld+json", "application/x-ndjson"] {
            assert!(is_json(essence), "{essence}");
        }
        for essence in ["text/plain", "application/jsonp", "json", "text/javascript"] {
            assert!(!is_json(essence), "{essence}");
        }
    }
}
