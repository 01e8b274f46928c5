//! Headers that keep a browser from doing with the console what only others want.

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers of all answers. Scripts and styles come from files of the console alone, never from within a page, and
/// nothing is asked of anyone else.
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

/// Adds them. The page and its assets may be kept if they are asked for again each time; figures may not be kept at all.
pub fn harden(path: &str, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let is_page = path == "/" || path.starts_with("/assets/");
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(if is_page { "no-cache" } else { "no-store" }));
}
