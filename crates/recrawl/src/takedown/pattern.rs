//! What is taken down: a host, a domain with all below it, or all addresses with a beginning.

use crate::scope::HostPattern;
use recrawl_types::{CanonicalUrl, UrlRules};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Pages that are meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// Those of a host, or of a domain.
    Host(HostPattern),
    /// Those whose canonical address begins so.
    Prefix(String),
}

/// What stands before a host where a pattern is kept.
const HOST: &str = "host ";
/// What stands before a beginning there.
const PREFIX: &str = "prefix ";

impl Pattern {
    /// `example.com` or `*.example.com`.
    ///
    /// # Errors
    /// That it is no host, or every host.
    pub fn host(text: &str) -> Result<Pattern, String> {
        match HostPattern::parse(text)? {
            HostPattern::Any => Err("\"*\" is everybody: remove the data directory instead".into()),
            host => Ok(Pattern::Host(host)),
        }
    }

    /// A URL with which the addresses begin, canonical as they are.
    ///
    /// # Errors
    /// That it is no URL.
    pub fn prefix(text: &str) -> Result<Pattern, String> {
        let url = UrlRules::keep_all().canonicalize(text).map_err(|e| format!("{text:?}: {e}"))?;
        Ok(Pattern::Prefix(url.to_string()))
    }

    /// Is this page meant?
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        match self {
            Pattern::Host(host) => host.matches(&url.host()),
            Pattern::Prefix(prefix) => url.to_string().starts_with(prefix.as_str()),
        }
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
            _ => Err(format!("{text:?} is neither a host nor a beginning")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for bad in [Pattern::host("*"), Pattern::host("a/b"), Pattern::prefix("example.com")] {
            assert!(bad.is_err());
        }
        assert!(serde_json::from_str::<Pattern>("\"x\"").is_err());
    }
}
