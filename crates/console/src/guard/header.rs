//! Security headers of all responses.

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers of all responses. Scripts and styles come only from files of the console, never inline,
/// and nothing is loaded from elsewhere.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Adds the headers. Browsers must revalidate the page and its assets, and must not store anything
/// else.
pub fn harden(path: &str, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let is_page = path == "/" || path.starts_with("/assets/");
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(if is_page { "no-cache" } else { "no-store" }));
}
