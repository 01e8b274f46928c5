//! By which name the console was called, and from where: DNS rebinding and cross-site requests.
//!
//! A browser sends any page's request to a loopback address, and to whatever address the page's own name leads to. The
//! first is told by its Origin, the second by its Host: both are names that are not ours.

use crate::problem::{Kind, Problem};
use axum::extract::Request;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method};
use std::net::{IpAddr, Ipv6Addr};

/// What a browser says of where a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// And of what it is for: `navigate` for a page that a person goes to.
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The name by which the console was called, with its port.
///
/// # Errors
/// When there is none, more than one, or one that is not ours.
pub fn host<'a>(request: &'a Request, names: &[String]) -> Result<&'a str, Problem> {
    let host = only(request.headers(), &HOST)?;
    let host = host.ok_or_else(|| Problem::new(Kind::Malformed, "a request without Host").at("Host"))?;
    // In a request to a proxy the URL names a host too, and not always the same.
    for called in [Some(host), request.uri().authority().map(Authority::as_str)].into_iter().flatten() {
        if !is_ours(called, names) {
            return Err(Problem::new(Kind::UnknownHost, "the console does not go by this name")
                .at("Host")
                .todo("call it by its address, as localhost, or add the name to serve.names"));
        }
    }
    Ok(host)
}

/// May this request be made from where it was? A page of another origin may lead to the console, and no more: what it
/// asks for in the background it could not read, but the answers would be missing elsewhere.
///
/// # Errors
/// When it may not.
pub fn same(request: &Request, host: &str) -> Result<(), Problem> {
    let cross = |at: &HeaderName| {
        Problem::new(Kind::CrossSite, "a page of another origin asks for this")
            .at(at.as_str())
            .todo("ask for it yourself")
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
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match name.is_some_and(|name| name.eq_ignore_ascii_case(host)) {
        true => Ok(()),
        false => Err(cross(&ORIGIN)),
    }
}

/// The one value of a header, if any.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let bad = || Problem::new(Kind::Malformed, "more than one value, or none that is text").at(name.as_str());
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| bad()),
        (Some(_), Some(_)) => Err(bad()),
    }
}

/// An address, `localhost`, or a name that was configured; with or without a port.
fn is_ours(called: &str, names: &[String]) -> bool {
    if called.contains('@') {
        return false;
    }
    let Ok(authority) = called.parse::<Authority>() else { return false };
    let host = authority.host();
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
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
        for ours in
            ["127.0.0.1", "127.0.0.1:8420", "[::1]:8420", "localhost:8420", "LOCALHOST", "Crawl.Example:80"]
        {
            assert!(is_ours(ours, &names), "{ours}");
        }
        for strange in [
            "",
            "evil.example",
            "localhost.evil.example",
            "crawl.example.",
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

    proptest! {
        #[test]
        fn no_name_is_ours_but_by_what_it_is(name in "[a-z0-9.:@\\[\\]-]{0,20}") {
            let bare = name.rsplit_once(':').map_or(&*name, |(host, _)| host);
            let address = |text: &str| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
            if is_ours(&name, &[]) {
                prop_assert!(address(&name) || address(bare) || bare == "localhost" || name == "localhost");
            }
        }
    }
}
