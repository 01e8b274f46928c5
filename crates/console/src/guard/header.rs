//! Security headers of all responses: one table.

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers of all responses. Scripts and styles come only from files of the console, never inline,
/// and nothing is loaded from elsewhere. The only frame is that of an archived page.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Headers of one path, or of all below it, that differ; without a value, the header is left out.
type Differing = (&'static str, &'static [(&'static str, Option<&'static str>)]);

/// Paths that need other headers.
const OF_PATHS: &[Differing] = &[
    (
        // What sites wrote. It has no origin of its own, runs and loads nothing, and only the dashboard may frame it.
        "/archived",
        &[
            (
                "content-security-policy",
                Some(
                    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; \
                 frame-ancestors 'self'",
                ),
            ),
            ("x-frame-options", Some("SAMEORIGIN")),
            // A browser refuses to open a sandboxed document that has this header. Without an origin it has no opener.
            ("cross-origin-opener-policy", None),
            ("x-dns-prefetch-control", Some("off")),
        ],
    ),
    // A download of what sites wrote. A browser that shows it runs and loads nothing of it.
    (
        "/memento/",
        &[("content-security-policy", Some("sandbox; default-src 'none'; frame-ancestors 'none'"))],
    ),
];

/// Adds the headers. Clients must revalidate the page, its assets and the feed, and must not store anything
/// else.
pub fn harden(path: &str, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let differing = OF_PATHS
        .iter()
        .filter(|(of, _)| *of == path || of.ends_with('/') && path.starts_with(of))
        .flat_map(|(_, headers)| *headers);
    for (name, value) in differing {
        match value {
            Some(value) => headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value)),
            None => headers.remove(*name),
        };
    }
    let is_kept = matches!(path, "/" | "/feed.atom") || path.starts_with("/assets/");
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(if is_kept { "no-cache" } else { "no-store" }));
}
