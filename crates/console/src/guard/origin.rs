//! Checks `Host` and `Origin` against DNS rebinding and cross-site requests.
//!
//! A browser lets any page send requests to a loopback address; `Origin` shows that. It also sends
//! requests to any address that the page's own host name resolves to; `Host` shows that.

use crate::problem::{Problem, ProblemType};
use axum::extract::Request;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Version};
use std::net::{IpAddr, Ipv6Addr};

/// Set by browsers: the relation of the requesting page to this origin.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Set by browsers: `navigate` for a link or address that a user opens.
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Is this a probe of HTTP/1.0, which needs no `Host`? Every browser sends one.
pub fn is_old_probe(request: &Request) -> bool {
    request.version() == Version::HTTP_10
        && matches!(*request.method(), Method::GET | Method::HEAD)
        && matches!(request.uri().path(), "/health" | "/ready")
        && request.headers().keys().all(|name| ![HOST, ORIGIN, SEC_FETCH_SITE].contains(name))
}

/// The value of `Host`.
///
/// # Errors
/// If `Host` is missing, repeated or an unknown name.
pub fn host<'a>(request: &'a Request, names: &[String]) -> Result<&'a str, Problem> {
    let host = only(request.headers(), &HOST)?;
    let host = host.ok_or_else(|| Problem::new(ProblemType::Malformed, "missing Host header").at("Host"))?;
    // The URL of a proxy request names a host too, possibly another one.
    for called in [Some(host), request.uri().authority().map(Authority::as_str)].into_iter().flatten() {
        if !is_ours(called, names) {
            return Err(Problem::new(ProblemType::UnknownHost, "unknown host name for this console")
                .at("Host")
                .todo("use its address or localhost, or add the name to serve.names"));
        }
    }
    Ok(host)
}

/// Rejects cross-origin requests. A foreign page may link to the console, nothing else. It cannot
/// read responses to its background requests anyway, but those would use up the rate limit.
///
/// # Errors
/// If the request is cross-origin and not a navigation.
pub fn same(request: &Request, host: &str) -> Result<(), Problem> {
    let cross = |at: &HeaderName| {
        Problem::new(ProblemType::CrossSite, "cross-origin request")
            .at(at.as_str())
            .todo("open the URL directly")
    };
    let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_visit = is_look && only(request.headers(), &SEC_FETCH_MODE)? == Some("navigate");
    match only(request.headers(), &SEC_FETCH_SITE)? {
        None | Some("same-origin" | "none") => {}
        Some(_) if is_visit => {}
        Some(_) => return Err(cross(&SEC_FETCH_SITE)),
    }
    if is_look {
        return Ok(());
    }
    let Some(origin) = only(request.headers(), &ORIGIN)? else { return Ok(()) };
    // A browser leaves out the port of the scheme, which a proxy may add.
    let is_same = [("http://", ":80"), ("https://", ":443")].into_iter().any(|(scheme, port)| {
        let bare = |name: &str| name.strip_suffix(port).unwrap_or(name).to_ascii_lowercase();
        origin.strip_prefix(scheme).is_some_and(|name| bare(name) == bare(host))
    });
    match is_same {
        true => Ok(()),
        false => Err(cross(&ORIGIN)),
    }
}

/// The only value of a header, if any.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let bad = || Problem::new(ProblemType::Malformed, "repeated or non-text value").at(name.as_str());
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| bad()),
        (Some(_), Some(_)) => Err(bad()),
    }
}

/// Whether `called` is an address, `localhost` or a configured name, with or without a port.
fn is_ours(called: &str, names: &[String]) -> bool {
    if called.contains('@') {
        return false;
    }
    let Ok(authority) = called.parse::<Authority>() else { return false };
    let host = authority.host();
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
            let host = host.strip_suffix('.').unwrap_or(host);
            host.parse::<IpAddr>().is_ok()
                || host.eq_ignore_ascii_case("localhost")
                || names.iter().any(|name| name.eq_ignore_ascii_case(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use proptest::prelude::*;

    fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = axum::http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn only_addresses_and_names_of_ours_are_answered_to() {
        let names = ["crawl.example".to_owned()];
        for ours in [
            "127.0.0.1",
            "127.0.0.1:8420",
            "[::1]:8420",
            "localhost:8420",
            "LOCALHOST.",
            "Crawl.Example:80",
            "crawl.example.",
        ] {
            assert!(is_ours(ours, &names), "{ours}");
        }
        for strange in [
            "",
            "evil.example",
            "localhost.evil.example",
            "crawl.example..",
            "a@127.0.0.1",
            "127.0.0.1.evil.example",
            "127.0.0.1 ",
            "2130706433",
            "[evil.example]",
            "127.0.0.1/",
            ":80",
        ] {
            assert!(!is_ours(strange, &names), "{strange}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let look =
            |uri: &str, headers: &[(&str, &str)]| host(&request("GET", uri, headers), &[]).map(str::to_owned);
        assert_eq!(look("/", &[("host", "127.0.0.1:1")]).as_deref(), Ok("127.0.0.1:1"));
        for (uri, headers) in [
            ("/", &[][..]),
            ("/", &[("host", "127.0.0.1"), ("host", "127.0.0.1")]),
            ("/", &[("host", "evil.example")]),
            ("http://evil.example/", &[("host", "127.0.0.1")]),
        ] {
            assert!(look(uri, headers).is_err(), "{uri} {headers:?}");
        }
    }

    #[test]
    fn only_the_consoles_own_pages_may_ask_for_changes() {
        let host = "127.0.0.1:8420";
        let asks =
            |method: &str, headers: &[(&str, &str)]| same(&request(method, "/", headers), host).is_ok();
        assert!(asks("PUT", &[]), "no browser");
        assert!(asks("PUT", &[("origin", "http://127.0.0.1:8420"), ("sec-fetch-site", "same-origin")]));
        let cross = ("sec-fetch-site", "cross-site");
        assert!(asks("GET", &[cross, ("sec-fetch-mode", "navigate")]), "a link leads here");
        assert!(!asks("GET", &[cross, ("sec-fetch-mode", "no-cors")]), "an image, a thousand times");
        assert!(!asks("POST", &[cross, ("sec-fetch-mode", "navigate")]), "a form");
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://127.0.0.1",
            "http://127.0.0.1:84200",
            "127.0.0.1:8420",
        ] {
            assert!(!asks("POST", &[("origin", origin)]), "{origin}");
        }
        assert!(!asks("DELETE", &[("sec-fetch-site", "cross-site")]));
        assert!(!asks("DELETE", &[("sec-fetch-site", "same-site")]), "another port is another program");
    }

    #[test]
    fn the_port_of_the_scheme_may_be_left_out() {
        for (host, origin, is_same) in [
            ("crawl.example:443", "https://crawl.example", true),
            ("crawl.example", "https://crawl.example:443", true),
            ("Crawl.Example:80", "http://crawl.example", true),
            ("[::1]:443", "https://[::1]", true),
            ("crawl.example:443", "http://crawl.example", false),
            ("crawl.example:8443", "https://crawl.example", false),
            ("crawl.example", "ftp://crawl.example", false),
        ] {
            let asked = request("POST", "/", &[("origin", origin)]);
            assert_eq!(same(&asked, host).is_ok(), is_same, "{host} {origin}");
        }
    }

    #[test]
    fn only_a_probe_of_http_1_0_needs_no_host() {
        let probe = |version, method, uri, headers: &[(&str, &str)]| {
            let mut asked = request(method, uri, headers);
            *asked.version_mut() = version;
            is_old_probe(&asked)
        };
        assert!(probe(Version::HTTP_10, "GET", "/health", &[]));
        assert!(probe(Version::HTTP_10, "HEAD", "/ready", &[("accept", "*/*")]));
        assert!(!probe(Version::HTTP_11, "GET", "/health", &[]));
        assert!(!probe(Version::HTTP_10, "POST", "/health", &[]));
        assert!(!probe(Version::HTTP_10, "GET", "/api/v1/status", &[]));
        assert!(!probe(Version::HTTP_10, "GET", "/health", &[("host", "evil.example")]));
        assert!(!probe(Version::HTTP_10, "GET", "/health", &[("sec-fetch-site", "cross-site")]));
    }

    proptest! {
        #[test]
        fn no_name_is_ours_but_by_what_it_is(name in "[a-z0-9.:@\\[\\]-]{0,20}") {
            let bare = name.rsplit_once(':').map_or(&*name, |(host, _)| host);
            let (name, bare) = (&*name, bare.strip_suffix('.').unwrap_or(bare));
            let address = |text: &str| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
            if is_ours(name, &[]) {
                prop_assert!(address(name) || address(bare) || bare == "localhost" || name == "localhost");
            }
        }
    }
}
