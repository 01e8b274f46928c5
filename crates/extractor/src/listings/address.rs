//! The URL of an entry as its author meant it.

use recrawl_types::{CanonicalUrl, Site};
use std::borrow::Cow;

/// A URL without what is around it: blanks of all kinds, and line breaks with what indents the next line.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches(is_blank);
    match text.contains(['\n', '\r']) {
        true => text.split(['\n', '\r']).map(|line| line.trim_matches(is_blank)).collect::<String>().into(),
        false => text.into(),
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
}

/// Is it a URL of its own, not relative to another?
pub(super) fn is_whole(address: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// A URL whose author left out the scheme, with that of the document: `www.example.com/page`. None if it begins
/// with no host.
pub(super) fn with_scheme(address: &str, document: &CanonicalUrl) -> Option<String> {
    let host = address.split(['/', '?', '#', ':']).next()?.to_ascii_lowercase();
    let is_host = host.contains('.') && !host.starts_with('.') && !host.ends_with('.');
    let is_named = host.starts_with("www.") || Site::of_host(&host) == Site::from_url(document);
    (is_host && is_named).then(|| format!("{}://{address}", document.scheme()))
}
