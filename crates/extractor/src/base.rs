//! From references to addresses.
//!
//! A document's base is its own address, or what its first `<base href>` makes of it (WHATWG HTML
//! §4.2.3). Most references on most pages are plain paths of the same origin; for these the canonical
//! address follows from the canonical base by copying bytes, and a property test holds the short way
//! equal to the long one, which parses.

use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, UrlError, UrlRules};
use std::cell::Cell;
use url::Url;

/// Bytes of references and bases that are joined for one document. A reference of three bytes may cost a
/// base of two thousand; a full sitemap of long addresses stays below.
const MAX_JOINED: usize = 64 << 20;

/// Resolves the references of one page.
pub(crate) struct Resolver<'r> {
    base: Url,
    rules: &'r UrlRules,
    short: Option<Short>,
    /// Bytes joined so far.
    joined: Cell<usize>,
}

/// What the short way needs of a base.
struct Short {
    /// The key up to the path: host, port, scheme.
    origin: Vec<u8>,
    /// Bytes of path and query that a canonical address of this origin may have.
    room: usize,
    /// The canonical path up to its last slash.
    folder: String,
    /// `https://example.com`, as absolute references of the same origin begin.
    prefix: String,
}

impl<'r> Resolver<'r> {
    /// `href` is the first base element's, if there is one.
    pub(crate) fn new(page: &CanonicalUrl, href: Option<&str>, rules: &'r UrlRules) -> Resolver<'r> {
        let own = page.to_url();
        let base = href
            .filter(|href| href.len() <= MAX_URL_BYTES)
            .and_then(|href| own.join(href).ok())
            .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
            .unwrap_or(own);
        let short = Short::of(&base, rules);
        Resolver { base, rules, short, joined: Cell::new(0) }
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Has the document had its bytes? Then its other references are left unread.
    pub(crate) fn is_spent(&self) -> bool {
        self.joined.get() > MAX_JOINED
    }

    /// The canonical address of a reference.
    ///
    /// # Errors
    /// As [`UrlRules::join`].
    pub(crate) fn resolve(&self, href: &str) -> Result<CanonicalUrl, UrlError> {
        self.joined.set(self.joined.get() + self.base.as_str().len() + href.len());
        match self.short.as_ref().and_then(|short| short.resolve(href)) {
            Some(url) => Ok(url),
            None => self.rules.join(&self.base, href),
        }
    }
}

impl Short {
    /// None where the base is no page's address.
    fn of(base: &Url, rules: &UrlRules) -> Option<Short> {
        let canonical = rules.canonicalize_url(base).ok()?;
        let path = canonical.path_and_query().split('?').next().unwrap_or("/");
        let folder = path[..=path.rfind('/')?].to_owned();
        let host = canonical.host();
        let port = canonical.port();
        let mut prefix = format!("{}://{host}", canonical.scheme());
        // The long way counts the longest port there can be.
        let used = prefix.len() + ":65535".len();
        if port != canonical.scheme().default_port() {
            prefix.push_str(&format!(":{port}"));
        }
        let origin = canonical.origin_key().to_vec();
        Some(Short { origin, room: MAX_URL_BYTES.checked_sub(used)?, folder, prefix })
    }

    /// None where the long way has to decide.
    fn resolve(&self, href: &str) -> Option<CanonicalUrl> {
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
        if href.is_empty() || !is_plain(href) {
            return None;
        }
        let folder = if href.starts_with('/') { "" } else { self.folder.as_str() };
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

/// Only characters that parsing leaves as they are, and no segment that begins with a dot.
fn is_plain(path: &str) -> bool {
    let mut last = b'/';
    path.bytes().all(|byte| {
        let plain = match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'~'
            | b'/'
            | b'+'
            | b','
            | b'='
            | b'@' => true,
            b'.' => last != b'/',
            _ => false,
        };
        last = byte;
        plain
    })
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
            assert_eq!(Resolver::new(&page, href, &rules()).base().as_str(), base, "{href:?}");
        }
    }

    #[test]
    fn a_base_of_another_scheme_carries_no_relative_links() {
        let page = rules().canonicalize("https://example.com/a/b").unwrap();
        let rules = rules();
        let resolver = Resolver::new(&page, Some("mailto:a@example.com"), &rules);
        assert!(resolver.resolve("/x").is_err());
        assert!(resolver.resolve("https://example.com/x").is_ok());
    }

    proptest! {
        /// Wherever the short way answers, the long one gives the same address.
        #[test]
        fn the_short_way_equals_the_long_one(
            base in prop_oneof![
                "(https?)://(h|user@h|h\\.x|h\\.x\\.|192\\.168\\.1|\\[::1\\])(:80|:443|:8080|:0|)(/[a%2eE7;=.?~é-]{0,6}){0,3}",
                "(ftp|mailto|data):[a-z/]{0,9}",
            ],
            href in prop_oneof![
                "[/a-z.%;:?#@=~ ,+\\\\\t\u{e9}]{0,12}",
                "(https?://h(\\.x)?|http://192.168.0.1|https://\\[::1\\]|//h)?(:80|:8080)?/{0,2}[A-Za-z0-9._~/,+=@-]{0,20}(#.{0,3})?",
            ],
            long in 0usize..4,
        ) {
            let rules = UrlRules::default();
            let Ok(base) = Url::parse(&base) else { return Ok(()) };
            let Some(short) = Short::of(&base, &rules) else { return Ok(()) };
            let href = format!("{href}{}", "x".repeat([0, 0, 1_960, 2_100][long]));
            if let Some(url) = short.resolve(&href) {
                prop_assert_eq!(Ok(url), rules.join(&base, &href), "{} {}", base, href);
            }
        }

        /// At the edge of the length limit too.
        #[test]
        fn the_short_way_keeps_the_length_limit(extra in 1_940usize..2_000) {
            let rules = UrlRules::default();
            let base = Url::parse("https://example.com/folder/page").unwrap();
            let short = Short::of(&base, &rules).unwrap();
            let href = "x".repeat(extra);
            let long = rules.join(&base, &href);
            prop_assert_eq!(short.resolve(&href), long.ok());
        }
    }
}
