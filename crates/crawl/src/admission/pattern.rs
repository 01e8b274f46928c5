//! The pages of a takedown: those of a host, of a domain with its subdomains, with a URL prefix, or
//! one page.

use recrawl_types::host::is_within;
use recrawl_types::{CanonicalUrl, HostPattern, Site, UrlRules};
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
    /// The page with this canonical URL.
    Page(String),
}

/// First words of the stored forms.
const HOST: &str = "host";
const PREFIX: &str = "prefix";
const PAGE: &str = "page";

impl Pattern {
    /// `example.com` or `*.example.com`.
    ///
    /// # Errors
    /// That it is not a host, or matches every host.
    pub fn host(text: &str) -> Result<Pattern, String> {
        match HostPattern::parse(text) {
            Ok(HostPattern::Any) => {
                Err("\"*\" would remove everything; delete the data directory instead".into())
            }
            Ok(host) => Ok(Pattern::Host(host)),
            Err(e) => Err(format!("{e}; write example.com or *.example.com")),
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

    /// One page, by its URL as the crawl's rules write it.
    ///
    /// # Errors
    /// That it is not a URL.
    pub fn page(text: &str, rules: &UrlRules) -> Result<Pattern, String> {
        let url = rules.canonicalize(text).map_err(|e| format!("{text:?}: {e}"))?;
        Ok(Pattern::Page(url.to_string()))
    }

    /// Pages as the configuration names them: `*`, `example.com`, `*.example.com`, or a URL prefix.
    ///
    /// # Errors
    /// That it is neither.
    pub fn of_pages(text: &str) -> Result<Pattern, String> {
        match text.contains("://") {
            true => Pattern::prefix(text),
            false => HostPattern::parse(text).map(Pattern::Host).map_err(|e| {
                format!("{e}; write example.com, *.example.com, * or https://example.com/news/")
            }),
        }
    }

    /// Does the pattern match all pages of the other one?
    pub fn covers(&self, other: &Pattern) -> bool {
        match (self, other) {
            (Pattern::Host(HostPattern::Any), _) => true,
            (_, Pattern::Host(HostPattern::Any)) => false,
            (
                Pattern::Host(HostPattern::WithSubdomains(name)),
                Pattern::Host(HostPattern::Exact(host) | HostPattern::WithSubdomains(host)),
            ) => is_within(host, name),
            (Pattern::Host(one), Pattern::Host(other)) => one == other,
            (Pattern::Host(host), Pattern::Prefix(url) | Pattern::Page(url)) => {
                host_of(url).is_some_and(|of| host.matches(&of))
            }
            (Pattern::Prefix(prefix), Pattern::Prefix(url) | Pattern::Page(url)) => {
                url.starts_with(prefix.as_str())
            }
            (Pattern::Page(page), Pattern::Page(url)) => page == url,
            (Pattern::Prefix(_) | Pattern::Page(_), Pattern::Host(_))
            | (Pattern::Page(_), Pattern::Prefix(_)) => false,
        }
    }

    /// Does the pattern match this page?
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        match self {
            Pattern::Host(host) => host.matches(&url.host()),
            Pattern::Prefix(prefix) => beyond(url, prefix).is_some(),
            Pattern::Page(page) => beyond(url, page) == Some(Beyond::Nothing),
        }
    }

    /// Does the pattern name this path of one page or prefix? `url` has no query.
    pub fn names_path(&self, url: &str) -> bool {
        let path = |url: &str| url.split_once('?').map_or(url, |(path, _)| path).to_owned();
        match self {
            Pattern::Host(_) => false,
            Pattern::Prefix(prefix) => url.starts_with(&path(prefix)),
            Pattern::Page(page) => url == path(page),
        }
    }

    /// The pattern alone: a host as given, a URL prefix, or a page's URL.
    pub fn bare(&self) -> String {
        match self {
            Pattern::Host(host) => host.to_string(),
            Pattern::Prefix(url) | Pattern::Page(url) => url.clone(),
        }
    }

    /// The pattern as the console lists it: a page would look like a URL prefix.
    pub fn words(&self) -> String {
        match self {
            Pattern::Page(url) => format!("{url} (this page only)"),
            pattern => pattern.bare(),
        }
    }

    /// Does the pattern match pages of this host?
    pub fn meets_host(&self, host: &str) -> bool {
        match self {
            Pattern::Host(pattern) => pattern.matches(host),
            Pattern::Prefix(url) | Pattern::Page(url) => host_of(url).as_deref() == Some(host),
        }
    }

    /// Can a page match both this pattern and a block? A block is a host with its subdomains, or a
    /// URL prefix.
    pub fn meets_block(&self, block: &str) -> bool {
        let is_address = |text: &str| text.contains("://");
        match self {
            Pattern::Host(pattern) if is_address(block) => {
                host_of(block).is_some_and(|host| pattern.matches(&host))
            }
            Pattern::Host(HostPattern::WithSubdomains(name)) => {
                is_within(name, block) || is_within(block, name)
            }
            Pattern::Host(pattern) => matches!(pattern, HostPattern::Exact(name) if is_within(name, block)),
            Pattern::Prefix(prefix) if is_address(block) => {
                prefix.starts_with(block) || block.starts_with(prefix.as_str())
            }
            Pattern::Page(page) if is_address(block) => page.starts_with(block),
            Pattern::Prefix(url) | Pattern::Page(url) => {
                host_of(url).is_some_and(|host| is_within(&host, block))
            }
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
            Pattern::Host(HostPattern::Any) | Pattern::Prefix(_) | Pattern::Page(_) => false,
        }
    }
}

/// The host of a URL; none if it is a URL prefix that is not a URL.
fn host_of(address: &str) -> Option<String> {
    UrlRules::keep_all().canonicalize(address).ok().map(|url| url.host().into_owned())
}

/// The part of a URL after a prefix of it.
#[derive(Debug, PartialEq)]
enum Beyond {
    Nothing,
    Something,
}

/// The part of the URL after this prefix; none if the URL does not have the prefix. The URL is
/// formatted piece by piece up to the first difference, without building a string.
fn beyond(url: &CanonicalUrl, prefix: &str) -> Option<Beyond> {
    let mut left = Left { rest: prefix, beyond: Beyond::Nothing };
    (write!(left, "{url}").is_ok() && left.rest.is_empty()).then_some(left.beyond)
}

/// The rest of the prefix, and of the URL once the prefix has ended.
struct Left<'p> {
    rest: &'p str,
    beyond: Beyond,
}

impl Write for Left<'_> {
    /// An error where the URL differs from the prefix.
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let shared = piece.len().min(self.rest.len());
        if piece.as_bytes()[..shared] != self.rest.as_bytes()[..shared] {
            return Err(fmt::Error);
        }
        if piece.len() > shared {
            self.beyond = Beyond::Something;
        }
        self.rest = &self.rest[shared..];
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Host(host) => write!(f, "{HOST} {host}"),
            Pattern::Prefix(prefix) => write!(f, "{PREFIX} {prefix}"),
            Pattern::Page(page) => write!(f, "{PAGE} {page}"),
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
        match text.split_once(' ') {
            Some((HOST, host)) => Pattern::host(host),
            Some((PREFIX, prefix)) => Ok(Pattern::Prefix(prefix.into())),
            Some((PAGE, page)) => Ok(Pattern::Page(page.into())),
            _ => Err(format!("{text:?} is neither a host nor a URL prefix nor a page")),
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
        let page = Pattern::page("https://a.example.com/x/", &UrlRules::default()).unwrap();
        for (block, expected) in [
            ("a.example.com", [true, true, true, true]),
            ("example.com", [true, true, true, true]),
            ("www.a.example.com", [false, true, false, false]),
            ("b.example.com", [false, false, false, false]),
            ("https://a.example.com/", [true, true, true, true]),
            ("https://a.example.com/x/y", [true, true, true, false]),
            ("https://a.example.com/y", [true, true, false, false]),
            ("https://www.a.example.com/", [false, true, false, false]),
            ("http://b.example.com/", [false, false, false, false]),
        ] {
            let met = [&one, &all, &part, &page].map(|down| down.meets_block(block));
            assert_eq!(met, expected, "{block}");
        }
        for (host, expected) in [
            ("a.example.com", [true, true, true, true]),
            ("www.a.example.com", [false, true, false, false]),
            ("example.com", [false, false, false, false]),
        ] {
            assert_eq!([&one, &all, &part, &page].map(|down| down.meets_host(host)), expected, "{host}");
        }
        assert_eq!(page.words(), "https://a.example.com/x/ (this page only)");
        assert_eq!(
            [one, all, part, page].map(|down| down.bare()),
            ["a.example.com", "*.a.example.com", "https://a.example.com/x/", "https://a.example.com/x/"]
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
            (
                Pattern::page("HTTPS://Example.com/a", &UrlRules::default()),
                &["https://example.com/a"],
                &[
                    "http://example.com/a",
                    "https://example.com/ab",
                    "https://example.com/a/b",
                    "https://example.com/",
                ],
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
        let told = Pattern::host("a/b").unwrap_err();
        assert!(told.ends_with("or *.example.com"), "no `*`, which is refused: {told}");
        assert!(serde_json::from_str::<Pattern>("\"x\"").is_err());
    }
}
