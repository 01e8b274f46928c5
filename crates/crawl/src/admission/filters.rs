//! Refuses URLs by their shape: limits that no useful URL exceeds, on any host.
//!
//! They need no evidence and judge a URL by itself. Traps that pass them are detected by their
//! pages: see `traps`.

use crate::config;
use recrawl_types::CanonicalUrl;
use std::fmt;

/// URL limits: depth, length, repeated segments, parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    max_url_bytes: u32,
    max_segments: u32,
    max_repeats: u32,
    max_parameters: u32,
}

/// The limit that a URL exceeds, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    key: &'static str,
    limit: u32,
    found: usize,
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooMuch { key, limit, found } = self;
        write!(f, "scope.{key} is {limit}, the URL has {found}")
    }
}

impl Filters {
    /// The limits of a configuration.
    pub fn new(config: &config::Scope) -> Filters {
        Filters {
            max_url_bytes: config.max_url_bytes,
            max_segments: config.max_segments,
            max_repeats: config.max_repeats,
            max_parameters: config.max_parameters,
        }
    }

    /// The first limit that the URL exceeds, if any.
    pub fn refuse(&self, url: &CanonicalUrl) -> Option<TooMuch> {
        let path_and_query = url.path_and_query();
        // The text is shorter than key and longest head together, so few URLs have to be formatted.
        let is_near = url.key().len() + HEAD_BYTES > self.max_url_bytes as usize;
        let bytes = || if is_near { url.as_text().len() } else { 0 };
        match !is_near && self.are_few(path_and_query) {
            true => None,
            false => self.exceeded(path_and_query, bytes),
        }
    }

    fn exceeded(&self, path_and_query: &str, bytes: impl FnOnce() -> usize) -> Option<TooMuch> {
        let judge =
            |key, limit: u32, found: usize| (found > limit as usize).then_some(TooMuch { key, limit, found });
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        judge("max_url_bytes", self.max_url_bytes, bytes())
            .or_else(|| judge("max_segments", self.max_segments, segments(path).count()))
            .or_else(|| judge("max_repeats", self.max_repeats, repeats(path, self.max_repeats)))
            .or_else(|| judge("max_parameters", self.max_parameters, parameters(query)))
    }

    /// Whether the number of separators alone shows that no count exceeds its limit, as for most
    /// URLs. Each segment has a `/` before it, each parameter but the first an `&`.
    fn are_few(&self, path_and_query: &str) -> bool {
        let count = |separator| path_and_query.bytes().filter(|byte| *byte == separator).count();
        count(b'/') <= self.max_segments.min(self.max_repeats) as usize
            && count(b'&') < self.max_parameters as usize
    }
}

/// Bytes of `https://` and a port, which the key stores in fewer.
const HEAD_BYTES: usize = 16;

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Occurrences of the most frequent segment of the path. Numbers of one and two digits are not
/// counted, since useful paths repeat them (`/tiles/7/7/7`, `/2024/01/01`).
fn repeats(path: &str, limit: u32) -> usize {
    let counted = segments(path).filter(|s| s.len() > 2 || s.bytes().any(|b| !b.is_ascii_digit()));
    if counted.clone().count() <= limit as usize {
        return 0;
    }
    counted.clone().map(|one| counted.clone().filter(|other| *other == one).count()).max().unwrap_or(0)
}

fn parameters(query: &str) -> usize {
    query.split('&').filter(|parameter| !parameter.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    fn refusal(edit: impl FnOnce(&mut config::Scope), text: &str) -> Option<String> {
        let mut config = config::Scope::default();
        edit(&mut config);
        let url = UrlRules::keep_all().canonicalize(text).unwrap();
        Filters::new(&config).refuse(&url).map(|rule| rule.to_string())
    }

    #[test]
    fn each_limit_refuses_what_is_beyond_it_and_is_named() {
        let url = "http://a.example/x/y/x/y/x/?p=1&&q=2&p=3";
        assert_eq!(refusal(|_| {}, url), None);
        let length = url.len() as u32;
        for (edit, key, found) in [
            ((|s, n| s.max_url_bytes = n) as fn(&mut config::Scope, u32), "max_url_bytes", length),
            (|s, n| s.max_segments = n, "max_segments", 5),
            (|s, n| s.max_repeats = n, "max_repeats", 3),
            (|s, n| s.max_parameters = n, "max_parameters", 3),
        ] {
            assert_eq!(refusal(|s| edit(s, found), url), None, "{key}");
            let why = refusal(|s| edit(s, found - 1), url).expect(key);
            assert_eq!(why, format!("scope.{key} is {}, the URL has {found}", found - 1));
        }
    }

    proptest::proptest! {
        #[test]
        fn few_separators_never_hide_a_limit(
            path_and_query in "/[ab/0]{0,8}(\\?[ab&=/]{0,8})?",
            [max_segments, max_repeats, max_parameters] in proptest::array::uniform3(0u32..5),
        ) {
            let filters = Filters { max_url_bytes: 2000, max_segments, max_repeats, max_parameters };
            let exceeded = filters.exceeded(&path_and_query, || 0);
            proptest::prop_assert!(exceeded.is_none() || !filters.are_few(&path_and_query));
        }
    }

    #[test]
    fn honest_addresses_pass_the_defaults() {
        for text in [
            "http://a.example/",
            "http://a.example/tiles/7/7/7/7/7/7/7.png",
            "http://a.example/2024/01/01/01/01/post",
            "http://a.example/en/docs/en/docs/en/docs",
            "https://a.example:8443/search?q=1&page=2&sort=3&from=4&to=5&lang=6",
        ] {
            assert_eq!(refusal(|_| {}, text), None, "{text}");
        }
        let spiral = format!("http://a.example/{}", "docs/images/".repeat(6));
        assert!(refusal(|_| {}, &spiral).unwrap().contains("max_repeats"));
    }
}
