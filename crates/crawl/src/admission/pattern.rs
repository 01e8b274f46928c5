//! Patterns of pages, as configuration, commands and requests name them: one notation with one meaning everywhere.
//!
//! | pattern | pages |
//! |---|---|
//! | `*` | all |
//! | `example.com` | of this host, whatever scheme and port |
//! | `*.example.com` | of this host and its subdomains |
//! | `https://example.com/news/1` | this page; its query, if any, is part of it |
//! | `https://example.com/news/*` | whose URL begins so |
//!
//! Any two patterns are disjoint, or one has all pages of the other.

use recrawl_types::host::is_within;
use recrawl_types::{CanonicalUrl, HostPattern, Site, UrlRules};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of pages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// The pages of a host or domain.
    Host(HostPattern),
    /// The pages whose canonical URL begins with this one.
    Prefix(CanonicalUrl),
    /// One page.
    Page(CanonicalUrl),
}

/// How to write a pattern.
pub const FORMS: &str =
    "write example.com, *.example.com, https://example.com/page or https://example.com/news/*";

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; {FORMS}")]
pub struct PatternError(pub String);

impl Pattern {
    /// Reads a pattern. A page is named by its URL as the crawl's rules write it.
    ///
    /// # Errors
    /// Why it is none, and how to write one.
    pub fn parse(text: &str, rules: &UrlRules) -> Result<Pattern, PatternError> {
        let text = text.trim();
        if !text.contains("://") {
            return HostPattern::parse(text).map(Pattern::Host).map_err(|e| PatternError(e.to_string()));
        }
        // A URL may contain stars. As a part of it, a star is written with a backslash, which no canonical URL has.
        let stars: Vec<usize> =
            text.match_indices('*').map(|(at, _)| at).filter(|&at| !text[..at].ends_with('\\')).collect();
        let literal = |text: &str| text.replace("\\*", "*");
        let read = match stars[..] {
            [] => Pattern::page(&literal(text), rules),
            [at] if at + 1 == text.len() => Pattern::prefix(&literal(&text[..at])),
            _ => Err(format!(
                "{text:?}: * can only end a URL, of which it is any rest (\\* is a star of the URL)"
            )),
        };
        read.map_err(PatternError)
    }

    /// A pattern that does not name all pages: it removes or blocks them.
    ///
    /// # Errors
    /// As [`Pattern::parse`].
    pub fn of_some(text: &str, rules: &UrlRules) -> Result<Pattern, PatternError> {
        match Pattern::parse(text, rules)? {
            Pattern::Host(HostPattern::Any) => Err(PatternError("\"*\" names every page".into())),
            pattern => Ok(pattern),
        }
    }

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

    /// The pages whose URL begins so.
    ///
    /// # Errors
    /// That no URL does.
    pub fn prefix(text: &str) -> Result<Pattern, String> {
        // Alone, an end such as "?" or "/." would be dropped.
        const REST: &str = "x";
        const WHOLE: &str = "write the whole host and a /, as in https://example.com/*";
        let wrong = |e: &dyn fmt::Display| format!("{text:?}: {e}");
        let rules = UrlRules::keep_all();
        let url =
            rules.canonicalize(&format!("{text}{REST}")).map_err(|e| match rules.canonicalize(text) {
                // Only the port has no rest.
                Ok(_) => wrong(&WHOLE),
                Err(_) => wrong(&e),
            })?;
        let is_whole = !text.contains('#') && url.path_and_query().ends_with(REST);
        let key = url.key().strip_suffix(REST.as_bytes()).filter(|_| is_whole);
        let prefix = key.and_then(|key| CanonicalUrl::from_key(key).ok());
        prefix.map(Pattern::Prefix).ok_or_else(|| wrong(&WHOLE))
    }

    /// The pages whose URL begins so, with or without the star behind it.
    ///
    /// # Errors
    /// As [`Pattern::parse`], or that it is no prefix.
    pub fn named_prefix(text: &str) -> Result<Pattern, String> {
        let has_star = text.ends_with('*') && !text.ends_with("\\*");
        let whole = if has_star { text.to_owned() } else { format!("{text}*") };
        match Pattern::parse(&whole, &UrlRules::keep_all()) {
            Ok(prefix @ Pattern::Prefix(_)) => Ok(prefix),
            Ok(_) => Err(format!("{text:?} is no beginning of a URL; write it as https://example.com/news/")),
            Err(PatternError(why)) => Err(why),
        }
    }

    /// One page, as a pattern.
    ///
    /// # Errors
    /// As [`Pattern::parse`], or that it names others too.
    pub fn named_page(text: &str, rules: &UrlRules) -> Result<Pattern, String> {
        match Pattern::parse(text, rules) {
            Ok(page @ Pattern::Page(_)) => Ok(page),
            Ok(_) => Err(format!("{text:?} is not one page (\\* is a star of the URL)")),
            Err(PatternError(why)) => Err(why),
        }
    }

    /// One page, by its URL as the crawl's rules write it.
    ///
    /// # Errors
    /// That it is not a URL.
    pub fn page(text: &str, rules: &UrlRules) -> Result<Pattern, String> {
        rules.canonicalize(text).map(Pattern::Page).map_err(|e| format!("{text:?}: {e}"))
    }

    /// Does the pattern match this page?
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        match self {
            Pattern::Host(host) => host.matches(&url.host()),
            Pattern::Prefix(prefix) => url.key().starts_with(prefix.key()),
            Pattern::Page(page) => page == url,
        }
    }

    /// Does the pattern match this URL of a requisite? It has all its parameters, a page only those that the rules keep.
    pub fn matches_requisite(&self, url: &CanonicalUrl, rules: &UrlRules) -> bool {
        let is_page = |page: &CanonicalUrl| {
            page.host() == url.host() && rules.canonicalize(&url.as_text()).is_ok_and(|ruled| ruled == *page)
        };
        self.matches(url) || matches!(self, Pattern::Page(page) if is_page(page))
    }

    /// Does the pattern name this path of one page or prefix? `url` has no query.
    pub fn names_path(&self, url: &CanonicalUrl) -> bool {
        let without_query = |named: &CanonicalUrl| {
            let key = named.key();
            key[..key.iter().position(|&byte| byte == b'?').unwrap_or(key.len())].to_vec()
        };
        match self {
            Pattern::Host(_) => false,
            Pattern::Prefix(prefix) => url.key().starts_with(&without_query(prefix)),
            Pattern::Page(page) => url.key() == without_query(page),
        }
    }

    /// The beginnings of the keys of its pages: a page that has one matches, and no other page does. None for one page.
    pub fn key_prefixes(&self) -> Option<Vec<Vec<u8>>> {
        Some(match self {
            Pattern::Host(HostPattern::Any) => vec![Vec::new()],
            Pattern::Host(HostPattern::Exact(host)) => vec![CanonicalUrl::key_of_host(host)],
            Pattern::Host(HostPattern::WithSubdomains(host)) => {
                vec![CanonicalUrl::key_of_host(host), CanonicalUrl::key_of_subdomains(host)]
            }
            Pattern::Prefix(prefix) => vec![prefix.key().to_vec()],
            Pattern::Page(_) => return None,
        })
    }

    /// Does the pattern match all pages of the other one?
    pub fn covers(&self, other: &Pattern) -> bool {
        use HostPattern::{Any, Exact, WithSubdomains};
        match (self, other) {
            (Pattern::Host(Any), _) => true,
            (_, Pattern::Host(Any)) => false,
            (Pattern::Host(WithSubdomains(name)), Pattern::Host(Exact(host) | WithSubdomains(host))) => {
                is_within(host, name)
            }
            (Pattern::Host(one), Pattern::Host(other)) => one == other,
            (Pattern::Host(host), Pattern::Prefix(url) | Pattern::Page(url)) => host.matches(&url.host()),
            (Pattern::Prefix(_) | Pattern::Page(_), Pattern::Page(url)) => self.matches(url),
            (Pattern::Prefix(one), Pattern::Prefix(other)) => other.key().starts_with(one.key()),
            (Pattern::Prefix(_) | Pattern::Page(_), Pattern::Host(_))
            | (Pattern::Page(_), Pattern::Prefix(_)) => false,
        }
    }

    /// Can a page match both patterns?
    pub fn meets(&self, other: &Pattern) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// Does the pattern match pages of this host?
    pub fn meets_host(&self, host: &str) -> bool {
        match self {
            Pattern::Host(pattern) => pattern.matches(host),
            Pattern::Prefix(url) | Pattern::Page(url) => url.host() == host,
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

    /// The pages in words.
    pub fn meaning(&self) -> String {
        match self {
            Pattern::Host(HostPattern::Any) => "all pages".into(),
            Pattern::Host(HostPattern::Exact(host)) => format!("the pages of {host}"),
            Pattern::Host(HostPattern::WithSubdomains(host)) => {
                format!("the pages of {host} and its subdomains")
            }
            Pattern::Prefix(prefix) => format!("the URLs that begin with {prefix}"),
            Pattern::Page(page) => format!("the page {page}"),
        }
    }
}

/// As [`Pattern::parse`] reads it.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let literal = |url: &CanonicalUrl| url.to_string().replace('*', "\\*");
        match self {
            Pattern::Host(host) => write!(f, "{host}"),
            Pattern::Prefix(prefix) => write!(f, "{}*", literal(prefix)),
            Pattern::Page(page) => f.write_str(&literal(page)),
        }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.to_string()
    }
}

/// A stored pattern, also of a version that stored takedowns with a word before: `prefix https://example.com/a`.
impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        let rules = UrlRules::keep_all();
        match text.split_once(' ') {
            Some(("host", host)) => Pattern::host(host),
            Some(("prefix", prefix)) => Pattern::prefix(prefix),
            Some(("page", page)) => Pattern::page(page, &rules),
            _ => Pattern::parse(&text, &rules).map_err(|e| e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
