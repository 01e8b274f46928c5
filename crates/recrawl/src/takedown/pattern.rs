//! The pages of a takedown: those of a host, of a domain with its subdomains, or with a URL prefix.

use crate::scope::HostPattern;
use recrawl_types::host::is_within;
use recrawl_types::{CanonicalUrl, Site, UrlRules};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// A set of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// The pages of a host or domain.
    Host(HostPattern),
    /// The pages whose canonical URL has this prefix.
    Prefix(String),
}

/// Stored form of a host pattern starts with this.
const HOST: &str = "host ";
/// Stored form of a prefix starts with this.
const PREFIX: &str = "prefix ";

impl Pattern {
    /// `example.com` or `*.example.com`.
    ///
    /// # Errors
    /// That it is not a host, or matches every host.
    pub fn host(text: &str) -> Result<Pattern, String> {
        match HostPattern::parse(text)? {
            HostPattern::Any => {
                Err("\"*\" would remove everything; delete the data directory instead".into())
            }
            host => Ok(Pattern::Host(host)),
        }
    }

    /// A URL prefix, made canonical.
    ///
    /// # Errors
    /// That it is not a URL.
    pub fn prefix(text: &str) -> Result<Pattern, String> {
        let url = UrlRules::keep_all().canonicalize(text).map_err(|e| format!("{text:?}: {e}"))?;
        Ok(Pattern::Prefix(url.to_string()))
    }

    /// Does the pattern match this page?
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        match self {
            Pattern::Host(host) => host.matches(&url.host()),
            Pattern::Prefix(prefix) => begins_with(url, prefix),
        }
    }

    /// The pattern alone: a host as given, or a URL prefix.
    pub fn bare(&self) -> String {
        match self {
            Pattern::Host(host) => host.to_string(),
            Pattern::Prefix(prefix) => prefix.clone(),
        }
    }

    /// Can a page match both this pattern and a block? A block is a host with its subdomains, or a
    /// URL prefix.
    pub fn meets_block(&self, block: &str) -> bool {
        let is_address = |text: &str| text.contains("://");
        let host =
            |address: &str| UrlRules::keep_all().canonicalize(address).map(|url| url.host().into_owned());
        match self {
            Pattern::Host(pattern) if is_address(block) => {
                host(block).is_ok_and(|host| pattern.matches(&host))
            }
            Pattern::Host(HostPattern::WithSubdomains(name)) => {
                is_within(name, block) || is_within(block, name)
            }
            Pattern::Host(pattern) => matches!(pattern, HostPattern::Exact(name) if is_within(name, block)),
            Pattern::Prefix(prefix) if is_address(block) => {
                prefix.starts_with(block) || block.starts_with(prefix.as_str())
            }
            Pattern::Prefix(prefix) => host(prefix).is_ok_and(|host| is_within(&host, block)),
        }
    }

    /// Does the pattern match all pages of this host?
    pub fn covers_host(&self, host: &str) -> bool {
        matches!(self, Pattern::Host(pattern) if pattern.matches(host))
    }

    /// Does the pattern match all pages of a host of this site? Data about a site does not tell
    /// which host it came from.
    pub fn touches_site(&self, site: &str) -> bool {
        match self {
            Pattern::Host(HostPattern::Exact(name)) => Site::of_host(name).as_str() == site,
            Pattern::Host(HostPattern::WithSubdomains(name)) => {
                self.covers_host(site) || Site::of_host(name).as_str() == site
            }
            Pattern::Host(HostPattern::Any) | Pattern::Prefix(_) => false,
        }
    }
}

/// Does the URL have this prefix? It is formatted piece by piece up to the first difference,
/// without building a string.
fn begins_with(url: &CanonicalUrl, prefix: &str) -> bool {
    let mut left = Left(prefix);
    write!(left, "{url}").is_ok() && left.0.is_empty()
}

/// The rest of the prefix.
struct Left<'p>(&'p str);

impl Write for Left<'_> {
    /// An error where the URL differs from the prefix.
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let shared = piece.len().min(self.0.len());
        if piece.as_bytes()[..shared] != self.0.as_bytes()[..shared] {
            return Err(fmt::Error);
        }
        self.0 = &self.0[shared..];
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Host(host) => write!(f, "{HOST}{host}"),
            Pattern::Prefix(prefix) => write!(f, "{PREFIX}{prefix}"),
        }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.to_string()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        match (text.strip_prefix(HOST), text.strip_prefix(PREFIX)) {
            (Some(host), _) => Pattern::host(host),
            (_, Some(prefix)) => Ok(Pattern::Prefix(prefix.into())),
            _ => Err(format!("{text:?} is neither a host nor a URL prefix")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_meets_what_it_may_cover_too() {
        let one = Pattern::host("a.example.com").unwrap();
        let all = Pattern::host("*.a.example.com").unwrap();
        let part = Pattern::prefix("https://a.example.com/x/").unwrap();
        for (block, expected) in [
            ("a.example.com", [true, true, true]),
            ("example.com", [true, true, true]),
            ("www.a.example.com", [false, true, false]),
            ("b.example.com", [false, false, false]),
            ("https://a.example.com/", [true, true, true]),
            ("https://a.example.com/x/y", [true, true, true]),
            ("https://a.example.com/y", [true, true, false]),
            ("https://www.a.example.com/", [false, true, false]),
            ("http://b.example.com/", [false, false, false]),
        ] {
            assert_eq!([&one, &all, &part].map(|down| down.meets_block(block)), expected, "{block}");
        }
        assert_eq!(
            [one, all, part].map(|down| down.bare()),
            ["a.example.com", "*.a.example.com", "https://a.example.com/x/"]
        );
    }

    #[test]
    fn hosts_domains_and_beginnings_are_told_apart_and_kept() {
        let url = |text: &str| UrlRules::default().canonicalize(text).unwrap();
        for (pattern, meant, others) in [
            (
                Pattern::host("Example.com"),
                &["http://example.com/", "https://example.com:8443/a"][..],
                &["http://www.example.com/", "http://example.org/"][..],
            ),
            (
                Pattern::host("*.example.com"),
                &["http://example.com/", "http://a.b.example.com/"],
                &["http://notexample.com/"],
            ),
            (
                Pattern::prefix("HTTPS://Example.com/a"),
                &["https://example.com/a", "https://example.com/abc?d"],
                &["http://example.com/a", "https://example.com/b"],
            ),
        ] {
            let pattern = pattern.unwrap();
            assert!(meant.iter().all(|text| pattern.matches(&url(text))), "{pattern}");
            assert!(!others.iter().any(|text| pattern.matches(&url(text))), "{pattern}");
            let kept = serde_json::to_string(&pattern).unwrap();
            assert_eq!(serde_json::from_str::<Pattern>(&kept).unwrap(), pattern);
        }
        for (pattern, sites) in
            [("www.a.co.uk", ["a.co.uk"].as_slice()), ("*.a.co.uk", &["a.co.uk"]), ("*.uk", &["a.co.uk"])]
        {
            let pattern = Pattern::host(pattern).unwrap();
            assert!(sites.iter().all(|site| pattern.touches_site(site)), "{pattern}");
            assert!(!pattern.touches_site("b.example") && !pattern.covers_host("a.example"), "{pattern}");
        }
        assert!(!Pattern::prefix("http://a.example/").unwrap().covers_host("a.example"));
        for bad in [Pattern::host("*"), Pattern::host("a/b"), Pattern::prefix("example.com")] {
            assert!(bad.is_err());
        }
        assert!(serde_json::from_str::<Pattern>("\"x\"").is_err());
    }
}
