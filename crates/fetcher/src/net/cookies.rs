//! The cookies of one chain of redirects (RFC 6265, and what browsers add to it). Servers that set a cookie and
//! redirect to find out whether it comes back would redirect for ever otherwise. No cookie outlives its chain.

use crate::net::date::http_date;
use recrawl_types::Site;
use recrawl_types::host::literal;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue, SET_COOKIE};
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

/// Maximum bytes of all names and values of a chain. Browsers keep 4,096 for each cookie.
const MAX_COOKIE_BYTES: usize = 8 << 10;
/// Maximum number of cookies of a chain.
const MAX_COOKIES: usize = 50;

/// See the module documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cookies(Vec<Cookie>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    domain: String,
    /// Only for the host itself, not for those below it.
    is_host_only: bool,
    path: String,
    is_secure: bool,
}

impl Cookies {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the cookies of a response from this URL. `now` is in milliseconds since 1970. A cookie that expires
    /// later lasts as long as the chain.
    pub fn take(&mut self, headers: &HeaderMap, from: &Url, now: u64) {
        for field in headers.get_all(SET_COOKIE) {
            let Some((cookie, is_expired)) = Cookie::parse(field.as_bytes(), from, now) else { continue };
            let same = |other: &Cookie| {
                (&other.name, &other.domain, &other.path) == (&cookie.name, &cookie.domain, &cookie.path)
            };
            let at = self.0.iter().position(same);
            match (at, is_expired) {
                (Some(at), true) => _ = self.0.remove(at),
                // It keeps its place: cookies are sent in the order of their creation.
                (Some(at), false) => self.0[at] = cookie,
                (None, true) => {}
                (None, false) => self.0.push(cookie),
            }
        }
        self.0.truncate(MAX_COOKIES);
        let mut bytes = 0;
        self.0.retain(|cookie| {
            bytes += cookie.name.len() + cookie.value.len() + "=; ".len();
            bytes <= MAX_COOKIE_BYTES
        });
    }

    /// The field `Cookie` of a request to this URL. Archives of requests leave it out.
    pub fn field(&self, to: &Url) -> Option<HeaderValue> {
        let mut cookies: Vec<&Cookie> = self.0.iter().filter(|cookie| cookie.is_for(to)).collect();
        cookies.sort_by_key(|cookie| Reverse(cookie.path.len()));
        let pairs: Vec<Vec<u8>> = cookies.iter().map(|cookie| cookie.pair()).collect();
        let mut field =
            HeaderValue::from_bytes(&pairs.join(&b"; "[..])).ok().filter(|_| !pairs.is_empty())?;
        field.set_sensitive(true);
        Some(field)
    }
}

impl Cookie {
    /// A cookie, and whether the server deletes it (RFC 6265 §5.2 and §5.3).
    fn parse(field: &[u8], from: &Url, now: u64) -> Option<(Cookie, bool)> {
        let host = from.host_str()?;
        let mut parts = field.split(|byte| *byte == b';');
        let pair = parts.next()?;
        let (name, value) = match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii()),
            // Browsers take it for a value without a name.
            None => (&b""[..], pair.trim_ascii()),
        };
        if name.is_empty() && value.is_empty() {
            return None;
        }
        let (mut domain, mut path, mut is_secure) = (None, None, false);
        let (mut max_age, mut expires) = (None, None);
        for part in parts {
            let text = String::from_utf8_lossy(part);
            let (key, value) = text.split_once('=').unwrap_or((&text, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                // A leading dot says nothing (RFC 6265 §5.2.3).
                "domain" => domain = Some(value.strip_prefix('.').unwrap_or(value).to_ascii_lowercase()),
                "path" => path = Some(value.to_owned()).filter(|path| path.starts_with('/')),
                "secure" => is_secure = true,
                "max-age" => max_age = is_past_age(value).or(max_age),
                "expires" => {
                    expires = http_date(value)
                        .map(|date| date <= SystemTime::UNIX_EPOCH + Duration::from_millis(now))
                        .or(expires)
                }
                _ => {}
            }
        }
        let asked = domain.filter(|domain| !domain.is_empty());
        let (domain, is_host_only) = match asked {
            None => (host.to_owned(), true),
            Some(domain) if domain == host => (domain, is_address(from) || is_public(host)),
            Some(domain) if is_below(from, &domain) && !is_public(&domain) => (domain, false),
            // For another host, or for all hosts of a public suffix.
            Some(_) => return None,
        };
        let is_https = from.scheme() == "https";
        let is_named =
            |prefix: &[u8]| name.len() >= prefix.len() && name[..prefix.len()].eq_ignore_ascii_case(prefix);
        // A cookie with such a prefix promises that no page without TLS, or of a sibling host, has set it
        // (RFC 6265bis).
        let is_refused = is_secure && !is_https
            || is_named(b"__secure-") && !is_secure
            || is_named(b"__host-") && !(is_secure && is_host_only && path.as_deref() == Some("/"));
        if is_refused {
            return None;
        }
        let path = path.unwrap_or_else(|| default_path(from));
        let (name, value) = (name.to_vec(), value.to_vec());
        let cookie = Cookie { name, value, domain, is_host_only, path, is_secure };
        // Max-Age comes before Expires (RFC 6265 §5.3).
        Some((cookie, max_age.or(expires).unwrap_or(false)))
    }

    /// Is it sent to this URL (RFC 6265 §5.4)?
    fn is_for(&self, to: &Url) -> bool {
        let is_host =
            to.host_str() == Some(&*self.domain) || !self.is_host_only && is_below(to, &self.domain);
        let rest = to.path().strip_prefix(&*self.path);
        let is_path =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        is_host && is_path && (!self.is_secure || to.scheme() == "https")
    }

    fn pair(&self) -> Vec<u8> {
        match &*self.name {
            [] => self.value.clone(),
            name => [name, b"=", &self.value].concat(),
        }
    }
}

/// Is the URL's host a name below this domain?
fn is_below(url: &Url, domain: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    !is_address(url) && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

fn is_address(url: &Url) -> bool {
    url.host_str().and_then(literal).is_some()
}

/// Does the domain belong to many sites?
fn is_public(domain: &str) -> bool {
    // A name below it is a site of its own only if the domain is no site itself.
    Site::of_host(&format!("a.{domain}")) != Site::of_host(domain)
}

/// The folder of the URL (RFC 6265 §5.1.4).
fn default_path(url: &Url) -> String {
    match url.path().rfind('/') {
        None | Some(0) => "/".into(),
        Some(end) => url.path()[..end].into(),
    }
}

/// Does this Max-Age delete the cookie? None if it is no number.
fn is_past_age(value: &str) -> Option<bool> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.starts_with('-') || digits.bytes().all(|byte| byte == b'0'))
}

#[cfg(test)]
mod tests;
