//! Credentials, cookies and header fields that are sent to one host only.

use recrawl_types::{CanonicalUrl, Scheme, WrittenHost};
use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};

/// Header fields that cannot be configured: those of the connection (RFC 9110 §7.6.1), of message
/// framing and of proxies, and those on which robots.txt, validators and limits depend.
const REFUSED: [&str; 21] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

/// Header fields for one host. The values are secret: `Debug` does not show them.
#[derive(Clone, Debug, PartialEq)]
pub struct HostAccess {
    host: WrittenHost,
    over_http: bool,
    headers: HeaderMap,
}

impl HostAccess {
    /// Makes an empty set for a host, at this port or at the scheme's default. Fields are sent over
    /// plain HTTP only with `over_http`, since others can read them there.
    pub fn new(host: WrittenHost, over_http: bool) -> HostAccess {
        HostAccess { host, over_http, headers: HeaderMap::new() }
    }

    /// Adds a field, for example `Cookie` or `Authorization`.
    ///
    /// # Errors
    /// A message that does not contain the value.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let field = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} is not a header field name"))?;
        if REFUSED.contains(&field.as_str()) {
            return Err(format!("{name} cannot be configured: the connection or the crawler sets it"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of {name} cannot be sent in a header field"))?;
        value.set_sensitive(true);
        match self.headers.insert(field, value) {
            None => Ok(()),
            // A server takes either of two credentials, or refuses both.
            Some(_) => Err(format!("{name} is set twice; set it once, by user, bearer, cookies or headers")),
        }
    }

    /// Is there a URL that both admit?
    pub fn overlaps(&self, other: &HostAccess) -> bool {
        let port = |access: &HostAccess, scheme: Scheme| {
            let admits = scheme == Scheme::Https || access.over_http;
            admits.then(|| access.host.port().unwrap_or(scheme.default_port()))
        };
        self.host.name() == other.host.name()
            && [Scheme::Http, Scheme::Https]
                .into_iter()
                .any(|scheme| port(self, scheme).is_some_and(|at| port(other, scheme) == Some(at)))
    }

    /// May the fields be sent with a request to this URL?
    pub fn admits(&self, url: &CanonicalUrl) -> bool {
        let scheme = url.scheme();
        url.host() == self.host.name()
            && url.port() == self.host.port().unwrap_or(scheme.default_port())
            && (scheme == Scheme::Https || self.over_http)
    }
}

/// Adds the fields of this request's host.
pub(crate) fn add(all: &[HostAccess], url: &CanonicalUrl, headers: &mut HeaderMap) {
    for access in all.iter().filter(|access| access.admits(url)) {
        for (name, value) in &access.headers {
            headers.append(name, value.clone());
        }
    }
}

/// Adds cookies of a chain of redirects behind the configured ones: there may be one such field only.
pub(crate) fn add_cookies(cookies: &HeaderValue, headers: &mut HeaderMap) {
    let all = headers.get_all(COOKIE).iter().chain([cookies]);
    let all = all.map(HeaderValue::as_bytes).collect::<Vec<_>>().join(&b"; "[..]);
    if let Ok(mut all) = HeaderValue::from_bytes(&all) {
        all.set_sensitive(true);
        headers.insert(COOKIE, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    fn sent(access: &HostAccess, url: &str) -> usize {
        let url = UrlRules::default().canonicalize(url).unwrap();
        let mut headers = HeaderMap::new();
        add(std::slice::from_ref(access), &url, &mut headers);
        headers.len()
    }

    #[test]
    fn a_field_is_there_once_and_two_hosts_that_share_a_url_overlap() {
        let host = |text: &str, over_http| HostAccess::new(WrittenHost::parse(text).unwrap(), over_http);
        let mut access = host("a.test", false);
        access.add("Authorization", "Basic eA==").unwrap();
        let twice = access.add("authorization", "Bearer geheim").unwrap_err();
        assert!(twice.contains("set twice") && !twice.contains("geheim"), "{twice}");
        for (other, over_http, overlaps) in [
            ("A.test.", false, true),
            ("a.test:443", false, true),
            ("a.test:80", true, false),
            ("a.test:8443", true, false),
            ("b.test", false, false),
        ] {
            assert_eq!(access.overlaps(&host(other, over_http)), overlaps, "{other}");
            assert_eq!(host(other, over_http).overlaps(&access), overlaps, "{other}");
        }
        assert!(host("a.test", true).overlaps(&host("a.test:80", true)), "over plain HTTP");
    }

    #[test]
    fn fields_go_to_their_host_and_port_alone_and_over_tls_unless_allowed() {
        let host = |text: &str| WrittenHost::parse(text).unwrap();
        let mut access = HostAccess::new(host("A.test."), false);
        access.add("Authorization", "Bearer geheim").unwrap();
        access.add("Cookie", "a=b").unwrap();
        assert_eq!(sent(&access, "https://a.test/x"), 2);
        for other in [
            "http://a.test/",
            "https://a.test:8443/",
            "https://b.a.test/",
            "https://a.test.evil.test/",
            "https://xa.test/",
            "http://a.test:443/",
        ] {
            assert_eq!(sent(&access, other), 0, "{other}");
        }
        let mut at_port = HostAccess::new(host("a.test:8080"), true);
        at_port.add("X-Key", "geheim").unwrap();
        assert_eq!((sent(&at_port, "http://a.test:8080/"), sent(&at_port, "http://a.test/")), (1, 0));
        assert!(!format!("{access:?}{at_port:?}").contains("geheim"));
    }

    #[test]
    fn fields_of_connection_and_crawl_are_refused_and_no_message_holds_a_value() {
        let mut access = HostAccess::new(WrittenHost::parse("a.test").unwrap(), true);
        for name in ["Host", "connection", "Transfer-Encoding", "User-Agent", "If-None-Match", "no field"] {
            assert!(access.add(name, "geheim").is_err_and(|e| !e.contains("geheim")), "{name}");
        }
        assert!(access.add("X-Key", "geheim\r\nHost: b").is_err_and(|e| !e.contains("geheim")));
        assert!(REFUSED.is_sorted());
    }
}
