//! URLs as authors of sitemaps and feeds write them.

use std::borrow::Cow;

/// Is it a URL of its own, not relative to another?
pub fn is_whole(address: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
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
