//! What the URL of a page says.

use std::collections::BTreeMap;

/// Host and path of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UrlParts<'a> {
    /// Empty if the URL has no host.
    host: &'a str,
    /// All after the host, with port and query.
    path: &'a str,
}

impl<'a> UrlParts<'a> {
    pub(super) fn split(url: &'a str) -> UrlParts<'a> {
        let Some((_, rest)) = url.split_once("://") else { return UrlParts { host: "", path: url } };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host =
            host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(host, _)| host);
        UrlParts { host, path }
    }

    /// Its words and how often each occurs, rising: runs of letters and digits, in lower case.
    pub(super) fn words(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        let words =
            [self.host, self.path].into_iter().flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
        for word in words.filter(|word| !word.is_empty()) {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
        counts
    }

    /// The number of slashes, and for each domain whether the host is in it.
    pub(super) fn values(&self, domains: &[String]) -> impl Iterator<Item = f64> {
        let top = self.host.rsplit_once('.').map_or("", |(_, top)| top);
        let is_in = move |domain: &String| f64::from(u8::from(top.eq_ignore_ascii_case(domain)));
        std::iter::once(self.path.matches('/').count() as f64).chain(domains.iter().map(is_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_words_depth_and_domain() {
        let domains = ["com", "org"].map(String::from);
        let values = |url: &str| UrlParts::split(url).values(&domains).collect::<Vec<f64>>();
        assert_eq!(values("https://www.Example.ORG/a/b?c=d/e"), [3.0, 0.0, 1.0]);
        assert_eq!(values("http://user:word@example.com:8080"), [0.0, 1.0, 0.0]);
        assert_eq!(values("http://[2001:db8::com]:80/com"), [1.0, 0.0, 0.0]);
        assert_eq!(values("guide/install.com"), [1.0, 0.0, 0.0], "a path has no domain");
        assert_eq!(values("http://com/"), [1.0, 0.0, 0.0], "nor has a host without dots");
        let words = UrlParts::split("https://docs.example.org/Docs/api-v2/größe?q=api").words();
        let words: Vec<_> = words.iter().map(|(word, count)| format!("{word} {count}")).collect();
        assert_eq!(words, ["api 2", "docs 2", "example 1", "größe 1", "org 1", "q 1", "v2 1"]);
        assert!(UrlParts::split("").words().is_empty());
    }
}
