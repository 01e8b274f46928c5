//! The site of a URL: its registrable domain.

use crate::CanonicalUrl;
use crate::host::literal;
use std::fmt;

/// The registrable domain of a host by the public suffix list (`a.b.example.co.uk` →
/// `example.co.uk`), or the host itself where there is none: an address, a single label, a public
/// suffix. Priors, folds and noise floors are by site; politeness is by host and address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(Box<str>);

impl Site {
    /// The site of a canonical host name.
    pub fn of_host(host: &str) -> Site {
        if literal(host).is_some() {
            return Site(host.into());
        }
        Site(psl::domain_str(host).unwrap_or(host).into())
    }

    /// Is it a domain below a suffix that the list knows, such as `example.com`? `tar.gz` is none.
    pub fn is_domain(text: &str) -> bool {
        psl::domain(text.as_bytes()).is_some_and(|domain| domain.suffix().is_known())
    }

    /// The site of a URL.
    pub fn from_url(url: &CanonicalUrl) -> Site {
        Site::of_host(&url.host())
    }

    /// The site as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A URL whose author left out the scheme, with that of the document: `www.example.com/page`. None if it begins
/// with no host.
pub fn with_scheme(address: &str, document: &CanonicalUrl) -> Option<String> {
    let host = address.split(['/', '?', '#', ':']).next()?.to_ascii_lowercase();
    let is_host = host.contains('.') && !host.starts_with('.') && !host.ends_with('.');
    let is_named = host.starts_with("www.") || Site::of_host(&host) == Site::from_url(document);
    (is_host && is_named).then(|| format!("{}://{address}", document.scheme()))
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_registrable_domain_or_the_host() {
        for (host, site) in [
            ("www.example.com", "example.com"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("localhost", "localhost"),
            ("127.1.0.1", "127.1.0.1"),
            ("[::1]", "[::1]"),
            ("co.uk", "co.uk"),
        ] {
            assert_eq!(Site::of_host(host).as_str(), site, "{host}");
        }
        assert!(Site::is_domain("example.com") && Site::is_domain("a.example.co.uk"));
        assert!(!["com", "pdf", "tar.gz", ""].iter().any(|text| Site::is_domain(text)));
    }
}
