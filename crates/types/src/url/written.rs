//! URLs as authors of sitemaps and feeds write them.

use super::CanonicalUrl;
use crate::Site;
use std::borrow::Cow;

/// Is it a URL of its own, not relative to another?
pub fn is_whole(address: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// A URL whose author left out the scheme, with that of the document: `www.example.com/page`. None if it begins
/// with no host.
pub fn with_scheme(address: &str, document: &CanonicalUrl) -> Option<String> {
    let host = address.split(['/', '?', '#', ':']).next()?.to_ascii_lowercase();
    let is_host = host.contains('.') && !host.starts_with('.') && !host.ends_with('.');
    let is_named = host.starts_with("www.") || Site::of_host(&host) == Site::from_url(document);
    (is_host && is_named).then(|| format!("{}://{address}", document.scheme()))
}

/// The URL of a feed that is meant for feed readers: `feed://host/x`, `feed:https://host/x`.
pub(super) fn of_feed(address: &str) -> Cow<'_, str> {
    let trimmed = address.trim_start_matches(|c: char| c <= ' ');
    match trimmed.split_at_checked("feed:".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("feed:") && rest.starts_with("//") => {
            format!("http:{rest}").into()
        }
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("feed:") && is_whole(rest) => rest.into(),
        _ => address.into(),
    }
}
