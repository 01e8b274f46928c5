//! Resolves references to canonical URLs.
//!
//! A document's base is its own URL, or that of its first `<base href>` (WHATWG HTML §4.2.3). Most
//! references are plain paths of the same origin, maybe with a query. Their canonical URL follows from the canonical
//! base by copying bytes. A property test compares this fast path with the general one, which
//! parses.

use crate::query;
use encoding_rs::{Encoding, UTF_8};
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, UrlError, UrlRules};
use std::cell::Cell;
use std::rc::Rc;
use url::Url;

/// Maximum bytes of references and bases that are joined for one document. A reference of three
/// bytes may cost a base of two thousand; a full sitemap of long URLs stays below.
const MAX_JOINED: usize = 64 << 20;

/// Resolves the references of one page.
pub(crate) struct ReferenceResolver<'r> {
    base: Url,
    rules: &'r UrlRules,
    /// The encoding of queries.
    encoding: &'static Encoding,
    fast: Option<FastPath>,
    /// Bytes that were joined for the document and those embedded in it.
    joined: Rc<Cell<usize>>,
}

/// What the fast path needs of a base.
struct FastPath {
    /// The key up to the path: host, port, scheme.
    origin: Vec<u8>,
    /// Maximum bytes of path and query in a canonical URL of this origin.
    room: usize,
    /// The canonical path up to its last slash.
    folder: String,
    /// Start of absolute references to the same origin, like `https://example.com`.
    prefix: String,
}

impl<'r> ReferenceResolver<'r> {
    /// Of a document whose queries are in UTF-8. `href` is that of the first base element, if any.
    pub(crate) fn new(page: &CanonicalUrl, href: Option<&str>, rules: &'r UrlRules) -> ReferenceResolver<'r> {
        ReferenceResolver::of_page(page, href, rules, UTF_8)
    }

    /// The same, of a page in this encoding.
    pub(crate) fn of_page(
        page: &CanonicalUrl,
        href: Option<&str>,
        rules: &'r UrlRules,
        encoding: &'static Encoding,
    ) -> ReferenceResolver<'r> {
        ReferenceResolver::below(page.to_url(), href, rules, encoding, Rc::default())
    }

    /// Of a document in the page: its base is relative to the page's, and it is in UTF-8 (WHATWG HTML §7.4.2.2).
    pub(crate) fn embedded(&self, href: Option<&str>) -> ReferenceResolver<'r> {
        ReferenceResolver::below(self.base.clone(), href, self.rules, UTF_8, self.joined.clone())
    }

    /// The same without a base element; `page` is the page's own URL.
    pub(crate) fn without_base(&self, page: &CanonicalUrl) -> ReferenceResolver<'r> {
        ReferenceResolver::below(page.to_url(), None, self.rules, self.encoding, self.joined.clone())
    }

    fn below(
        own: Url,
        href: Option<&str>,
        rules: &'r UrlRules,
        encoding: &'static Encoding,
        joined: Rc<Cell<usize>>,
    ) -> ReferenceResolver<'r> {
        let encode = query::encoder(encoding);
        let join = |href| Url::options().base_url(Some(&own)).encoding_override(Some(&encode)).parse(href);
        let base = href
            .filter(|href| href.len() <= MAX_URL_BYTES)
            .and_then(|href| join(href).ok())
            .filter(|base| !matches!(base.scheme(), "data" | "javascript"));
        let base = base.unwrap_or_else(|| own.clone());
        let fast = FastPath::new(&base, rules);
        ReferenceResolver { base, rules, encoding, fast, joined }
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Whether the document has used up [`MAX_JOINED`]. Its other references are then not read.
    pub(crate) fn is_spent(&self) -> bool {
        self.joined.get() > MAX_JOINED
    }

    /// The canonical URL of a reference.
    ///
    /// # Errors
    /// Those of [`UrlRules::join`].
    pub(crate) fn resolve(&self, href: &str) -> Result<CanonicalUrl, UrlError> {
        self.joined.set(self.joined.get() + self.base.as_str().len() + href.len());
        match self.fast.as_ref().and_then(|fast| fast.resolve(href, self.rules)) {
            Some(url) => Ok(url),
            None => self.rules.join_in(&self.base, href, Some(&query::encoder(self.encoding))),
        }
    }

    /// The URL of a reference as browsers show it, with its fragment; none if it is too long.
    pub(crate) fn absolute(&self, href: &str) -> Option<Url> {
        let encode = query::encoder(self.encoding);
        let options = Url::options().base_url(Some(&self.base)).encoding_override(Some(&encode));
        let url = options.parse(href).ok().filter(|_| href.len() <= MAX_URL_BYTES)?;
        Some(url).filter(|url| url.as_str().len() <= MAX_URL_BYTES)
    }
}

impl FastPath {
    /// `None` if the base is not the URL of a page.
    fn new(base: &Url, rules: &UrlRules) -> Option<FastPath> {
        let canonical = rules.canonicalize_url(base).ok()?;
        let path = canonical.path_and_query().split('?').next().unwrap_or("/");
        let folder = path[..=path.rfind('/')?].to_owned();
        let host = canonical.host();
        let port = canonical.port();
        let mut prefix = format!("{}://{host}", canonical.scheme());
        // The general path reserves the longest possible port.
        let used = prefix.len() + ":65535".len();
        if port != canonical.scheme().default_port() {
            prefix.push_str(&format!(":{port}"));
        }
        let origin = canonical.origin_key().to_vec();
        Some(FastPath { origin, room: MAX_URL_BYTES.checked_sub(used)?, folder, prefix })
    }

    /// `None` if the general path has to decide.
    fn resolve(&self, href: &str, rules: &UrlRules) -> Option<CanonicalUrl> {
        let href = match href.find('#') {
            Some(at) => &href[..at],
            None => href,
        };
        let href = match href.strip_prefix(&self.prefix) {
            Some(path) if path.starts_with('/') => path,
            Some(_) => return None,
            None if href.starts_with("//") => return None,
            None => href,
        };
        let mut folder = if href.starts_with('/') { "" } else { self.folder.as_str() };
        let mut href = href;
        while let Some(rest) = href.strip_prefix("../") {
            href = rest;
            // The folder above; that of the root is the root.
            folder = folder[..folder.len() - 1].rfind('/').map_or("/", |at| &folder[..=at]);
        }
        let (path, query) = href.split_once('?').map_or((href, None), |(path, query)| (path, Some(query)));
        let is_odd = |query: &str| !query.bytes().all(is_plain_in_query) || !rules.keeps_query(query);
        if path.is_empty() || !is_plain(path) || query.is_some_and(is_odd) {
            return None;
        }
        if folder.len() + href.len() > self.room {
            return None;
        }
        let mut key = Vec::with_capacity(self.origin.len() + folder.len() + href.len());
        key.extend_from_slice(&self.origin);
        key.extend_from_slice(folder.as_bytes());
        key.extend_from_slice(href.as_bytes());
        CanonicalUrl::from_key(&key).ok()
    }
}

/// Whether parsing leaves all characters as they are and no segment begins with a dot.
fn is_plain(path: &str) -> bool {
    let mut last = b'/';
    path.bytes().all(|byte| {
        let plain = byte != b'&' && is_plain_in_query(byte) && !(byte == b'.' && last == b'/');
        last = byte;
        plain
    })
}

/// Whether parsing leaves this character of a query as it is.
fn is_plain_in_query(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'~' | b'/' | b'+' | b',' | b'=' | b'@' | b'.' | b'&')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules() -> UrlRules {
        UrlRules::default()
    }

    #[test]
    fn bases_are_resolved_like_links_and_useless_ones_ignored() {
        let page = rules().canonicalize("https://example.com/a/b?q=1").unwrap();
        for (href, base) in [
            (None, "https://example.com/a/b?q=1"),
            (Some("/x/"), "https://example.com/x/"),
            (Some("../y/z"), "https://example.com/y/z"),
            (Some("//other.example/w"), "https://other.example/w"),
            (Some(""), "https://example.com/a/b?q=1"),
            (Some("javascript:void(0)"), "https://example.com/a/b?q=1"),
            (Some("data:text/plain,x"), "https://example.com/a/b?q=1"),
            (Some("https://exa mple/"), "https://example.com/a/b?q=1"),
        ] {
            assert_eq!(ReferenceResolver::new(&page, href, &rules()).base().as_str(), base, "{href:?}");
        }
    }

    #[test]
    fn a_base_of_another_scheme_carries_no_relative_links() {
        let page = rules().canonicalize("https://example.com/a/b").unwrap();
        let rules = rules();
        let resolver = ReferenceResolver::new(&page, Some("mailto:a@example.com"), &rules);
        assert!(resolver.resolve("/x").is_err());
        assert!(resolver.resolve("https://example.com/x").is_ok());
    }

    proptest! {
        /// Whenever the fast path answers, the general one gives the same URL.
        #[test]
        fn the_short_way_equals_the_long_one(
            base in prop_oneof![
                "(https?)://(h|user@h|h\\.x|h\\.x\\.|192\\.168\\.1|\\[::1\\])(:80|:443|:8080|:0|)(/[a%2eE7;=.?~é-]{0,6}){0,3}",
                "(ftp|mailto|data):[a-z/]{0,9}",
            ],
            href in prop_oneof![
                "[/a-z.%;:?#@=~ ,+\\\\\t\u{e9}]{0,12}",
                "(\\.\\./){0,4}/?[a-z./]{0,6}(\\?([a-z]{0,2}|utm_source|sid|a&b)=?[a-z&=./?]{0,6})?",
                "(https?://h(\\.x)?|http://192.168.0.1|https://\\[::1\\]|//h)?(:80|:8080)?/{0,2}[A-Za-z0-9._~/,+=@-]{0,20}(#.{0,3})?",
            ],
            long in 0usize..4,
        ) {
            let rules = UrlRules::default();
            let Ok(base) = Url::parse(&base) else { return Ok(()) };
            let Some(fast) = FastPath::new(&base, &rules) else { return Ok(()) };
            let href = format!("{href}{}", "x".repeat([0, 0, 1_960, 2_100][long]));
            if let Some(url) = fast.resolve(&href, &rules) {
                prop_assert_eq!(Ok(url), rules.join(&base, &href), "{} {}", base, href);
            }
        }

        /// Also at the length limit.
        #[test]
        fn the_short_way_keeps_the_length_limit(extra in 1_940usize..2_000) {
            let rules = UrlRules::default();
            let base = Url::parse("https://example.com/folder/page").unwrap();
            let fast = FastPath::new(&base, &rules).unwrap();
            let href = "x".repeat(extra);
            let long = rules.join(&base, &href);
            prop_assert_eq!(fast.resolve(&href, &rules), long.ok());
        }
    }
}
