//! URLs by glob (`scope.include`, `scope.exclude`): `*.pdf`, `*/print/*`, `/private/*`, or a [`Pattern`] with a scheme.
//!
//! `*` is any text, also none and also slashes; nothing else is special, since `?` and `[` are parts of URLs. So a match
//! takes time in proportion to the URL and the number of stars, whatever it says. Case does not matter.

use crate::admission::pattern::Pattern;
use recrawl_types::{CanonicalUrl, Site, UrlRules};
use std::fmt;

/// Globs at most in each list: a link is compared with all.
pub const MAX_GLOBS: usize = 1000;

/// How to write one.
const FORMS: &str = "write *.pdf, */print/*, /private/* or https://example.com/docs/*";

/// A set of URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// As written.
    text: String,
    kind: GlobKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobKind {
    /// With a scheme, and no star but the last character.
    Pattern(Pattern),
    /// The pieces between the stars, in lower case, of the URL as a whole.
    Url(Vec<String>),
    /// The same of the URL with or without its query.
    UrlOrPage(Vec<String>),
    /// The same of what follows the host.
    PathOrPage(Vec<String>),
}

/// A URL that is compared with several globs: written in lower case once.
pub struct LowerCaseUrl<'u> {
    url: &'u CanonicalUrl,
    text: String,
    /// Where the path begins.
    path: usize,
    /// Where the query begins, or the end.
    query: usize,
}

impl<'u> LowerCaseUrl<'u> {
    /// Of this URL.
    pub fn new(url: &'u CanonicalUrl) -> LowerCaseUrl<'u> {
        let text = url.to_string().to_ascii_lowercase();
        let path = text.len() - url.path_and_query().len();
        let query = text.find('?').unwrap_or(text.len());
        LowerCaseUrl { url, text, path, query }
    }
}

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    /// Why it is none, and how to write one.
    pub fn parse(text: &str, rules: &UrlRules) -> Result<Glob, String> {
        let text = text.trim();
        let pieces = || text.to_ascii_lowercase().split('*').map(encoded).collect();
        let wrong = |why: &str| Err(format!("{text:?} {why}; {FORMS}"));
        let inner = text.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        if inner.is_some_and(|(inner, _)| inner.contains(',')) {
            return wrong("has alternatives in braces, which a glob has not: write an entry for each");
        }
        let kind = match text {
            _ if text.starts_with('/') => GlobKind::PathOrPage(pieces()),
            _ if text.starts_with('*') && names_hosts(text) => {
                return wrong("names hosts, which belong in scope.hosts and scope.refuse_hosts");
            }
            _ if text.starts_with('*') => GlobKind::UrlOrPage(pieces()),
            _ if !text.contains("://") => {
                return wrong("begins neither with *, nor with /, nor with https://");
            }
            _ => match Pattern::parse(text, rules) {
                Ok(pattern) => GlobKind::Pattern(pattern),
                Err(_) if text.contains('*') => GlobKind::Url(pieces()),
                Err(e) => return Err(e.to_string()),
            },
        };
        Ok(Glob { text: text.into(), kind })
    }

    /// Reads the globs of a key of the configuration.
    ///
    /// # Errors
    /// The key, and what is wrong.
    pub fn all(key: &str, texts: &[String], rules: &UrlRules) -> Result<Vec<Glob>, String> {
        if texts.len() > MAX_GLOBS {
            return Err(format!("{key}: at most {MAX_GLOBS} can be given, not {}", texts.len()));
        }
        texts.iter().map(|text| Glob::parse(text, rules).map_err(|e| format!("{key}: {e}"))).collect()
    }

    /// Does the glob match this URL?
    pub fn matches(&self, LowerCaseUrl { url, text, path, query }: &LowerCaseUrl<'_>) -> bool {
        let either = |pieces, from| {
            is_match(pieces, &text[from..]) || *query < text.len() && is_match(pieces, &text[from..*query])
        };
        match &self.kind {
            GlobKind::Pattern(pattern) => pattern.matches(url),
            GlobKind::Url(pieces) => is_match(pieces, text),
            GlobKind::UrlOrPage(pieces) => either(pieces, 0),
            GlobKind::PathOrPage(pieces) => either(pieces, *path),
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Are the pieces in the text in this order, the first at its start and the last at its end? Each piece is taken where it
/// first occurs, which leaves the most for the others.
fn is_match(pieces: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else {
        return pieces.first().is_some_and(|only| only == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

/// A piece as canonical URLs write it, in lower case.
fn encoded(piece: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    piece.bytes().fold(String::new(), |text, byte| match is_plain(byte) {
        true => text + char::from(byte).encode_utf8(&mut [0]),
        false => text + &format!("%{byte:02x}"),
    })
}

/// Is it a domain, as `*.example.com`, and no file ending, as `*.pdf` and `*.tar.gz`?
fn names_hosts(text: &str) -> bool {
    text.strip_prefix("*.").is_some_and(|rest| !rest.contains(['/', '*', '?']) && Site::is_domain(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn glob(text: &str) -> Glob {
        Glob::parse(text, &UrlRules::default()).unwrap()
    }

    fn matches(text: &str, url: &str) -> bool {
        glob(text).matches(&LowerCaseUrl::new(&UrlRules::default().canonicalize(url).unwrap()))
    }

    #[test]
    fn globs_find_what_people_mean() {
        for (text, urls, others) in [
            (
                "*.pdf",
                &["http://a.test/x.pdf", "https://a.test/X.PDF?download=1", "http://a.test/get?file=x.pdf"][..],
                &["http://a.test/x.pdf/view", "http://pdf.test/", "http://a.test/pdf"][..],
            ),
            ("*.tar.gz", &["http://a.test/x.tar.gz"], &["http://a.test/x.gz"]),
            (
                "*/print/*",
                &["http://a.test/print/1", "http://a.test/a/Print/"],
                &["http://a.test/print", "http://a.test/printer/1"],
            ),
            (
                "/private/*",
                &["http://a.test/private/x", "https://b.test:81/private/"],
                &["http://a.test/x/private/y"],
            ),
            ("/", &["http://a.test/", "http://a.test/?q"], &["http://a.test/a"]),
            ("*action=*", &["http://a.test/x?action=1"], &["http://a.test/x"]),
            ("*?*", &["http://a.test/x?y"], &["http://a.test/x"]),
            ("https://a.test/p/2", &["https://a.test/p/2"], &["https://a.test/p/20", "https://a.test/p/2?q"]),
            ("https://a.test/docs/*", &["https://a.test/docs/x?y"], &["http://a.test/docs/x"]),
            ("https://a.test/*/print", &["https://a.test/b/c/print"], &["https://a.test/b/print?q"]),
            ("*/müll/*", &["http://a.test/m%C3%BCll/x"], &["http://a.test/mull/x"]),
            ("*a*a*", &["http://b.test/aa"], &["http://b.test/a"]),
        ] {
            assert!(urls.iter().all(|url| matches(text, url)), "{text}");
            assert!(!others.iter().any(|url| matches(text, url)), "{text}");
        }
    }

    #[test]
    fn what_would_match_nothing_is_refused() {
        for wrong in [
            "*.{jpg,png}",
            "",
            "pdf",
            "example.com",
            "example.com/a/*",
            "*.example.com",
            "*.co.uk.example.org",
            "https://",
        ] {
            let error = Glob::parse(wrong, &UrlRules::default()).unwrap_err();
            assert!(error.contains("https://example.com"), "{wrong}: {error}");
        }
        assert!(
            Glob::all("scope.exclude", &["x".into()], &UrlRules::default())
                .unwrap_err()
                .contains("scope.exclude: ")
        );
        let many = vec!["*.pdf".to_owned(); MAX_GLOBS + 1];
        assert!(Glob::all("scope.exclude", &many, &UrlRules::default()).is_err());
    }

    /// By trying every way to divide the text.
    fn slow(pieces: &[&str], text: &str) -> bool {
        let [first, rest @ ..] = pieces else { return text.is_empty() };
        let Some(left) = text.strip_prefix(first) else { return false };
        if rest.is_empty() {
            return left.is_empty();
        }
        (0..=left.len()).any(|skipped| slow(rest, &left[skipped..]))
    }

    proptest! {
        #[test]
        fn a_match_is_what_its_definition_says(glob in "[ab*]{0,6}", text in "[ab]{0,8}") {
            let pieces: Vec<&str> = glob.split('*').collect();
            let owned: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
            prop_assert_eq!(is_match(&owned, &text), slow(&pieces, &text));
        }

        /// A pattern means the same in `scope.include` and `scope.exclude` as everywhere.
        #[test]
        fn a_pattern_with_a_scheme_is_that_pattern(rest in "[ab/]{0,3}(\\?[ab]{0,2})?", star in "\\*?", page in "[ab/]{0,4}(\\?[ab]{1,2})?") {
            let (text, rules) = (format!("http://a.test/{rest}{star}"), UrlRules::default());
            let page = rules.canonicalize(&format!("http://a.test/{page}")).unwrap();
            let expected = Pattern::parse(&text, &rules).unwrap().matches(&page);
            prop_assert_eq!(glob(&text).matches(&LowerCaseUrl::new(&page)), expected);
        }
    }
}
