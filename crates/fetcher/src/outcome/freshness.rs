//! How long a response stays fresh (RFC 9111 §4.2): so long a browser would not ask for it again.

use super::Response;
use crate::net::date::http_date;
use reqwest::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, HeaderMap, LAST_MODIFIED};
use std::time::{Duration, SystemTime};

/// Share of the time since the last change for which a response without a rule is fresh (§4.2.2), as one part in so many.
const HEURISTIC: u32 = 10;

impl Response {
    /// The time for which it is fresh, from when it was received.
    pub fn fresh_for(&self) -> Duration {
        fresh_for(&self.headers)
    }
}

fn fresh_for(headers: &HeaderMap) -> Duration {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let date = |name| text(name).and_then(http_date);
    let control: String =
        headers.get_all(CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok()).collect::<Vec<_>>().join(",");
    let directives = || control.split(',').map(str::trim);
    let has = |name: &str| directives().any(|directive| directive.eq_ignore_ascii_case(name));
    if has("no-store") || has("no-cache") {
        return Duration::ZERO;
    }
    let max_age = directives().find_map(|directive| {
        let (name, value) = directive.split_once('=')?;
        let value = value.trim().trim_matches('"');
        // A number too large for u64 still means a very long time.
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = is_number.then(|| value.parse().unwrap_or(u64::MAX));
        seconds.filter(|_| name.trim().eq_ignore_ascii_case("max-age"))
    });
    let since = |later: SystemTime, earlier| later.duration_since(earlier).unwrap_or_default();
    let lifetime = match (max_age, date(DATE)) {
        (Some(seconds), _) => Duration::from_secs(seconds),
        (None, None) => Duration::ZERO,
        // One that cannot be read has passed.
        (None, Some(sent)) if headers.contains_key(EXPIRES) => {
            date(EXPIRES).map_or(Duration::ZERO, |expires| since(expires, sent))
        }
        (None, Some(sent)) => {
            date(LAST_MODIFIED).map_or(Duration::ZERO, |changed| since(sent, changed) / HEURISTIC)
        }
    };
    let age = text(AGE).and_then(|age| age.parse().ok()).unwrap_or_default();
    lifetime.saturating_sub(Duration::from_secs(age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn it_is_what_the_server_says_or_a_tenth_of_the_age() {
        const SENT: (&str, &str) = ("date", "Mon, 02 Nov 2026 00:00:00 GMT");
        let of = |fields: &[(&'static str, &'static str)]| {
            let field = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            fresh_for(&fields.iter().map(field).collect()).as_secs()
        };
        let day = 86_400;
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[SENT]), 0);
        assert_eq!(of(&[("cache-control", "public, Max-Age=60")]), 60);
        assert_eq!(of(&[("cache-control", "max-age=\"60\""), ("age", "15")]), 45);
        assert_eq!(of(&[("cache-control", "max-age=60"), ("age", "99")]), 0);
        assert_eq!(of(&[("cache-control", "max-age=x")]), 0);
        assert_eq!(of(&[("cache-control", "max-age=99999999999999999999999")]), u64::MAX);
        assert_eq!(of(&[("cache-control", "no-cache, max-age=60")]), 0);
        assert_eq!(of(&[SENT, ("expires", "Tue, 03 Nov 2026 00:00:00 GMT")]), day);
        assert_eq!(of(&[SENT, ("expires", "0"), ("last-modified", "Sun, 01 Nov 2026 00:00:00 GMT")]), 0);
        assert_eq!(of(&[SENT, ("last-modified", "Fri, 23 Oct 2026 00:00:00 GMT")]), day);
        assert_eq!(of(&[SENT, ("last-modified", "Tue, 03 Nov 2026 00:00:00 GMT")]), 0, "from the future");
        assert_eq!(of(&[("last-modified", "Fri, 23 Oct 2026 00:00:00 GMT")]), 0, "no date");
    }
}
