//! Normalises a URL to its canonical form.
//!
//! The steps in order (docs/urls.md has them for users):
//! 1. WHATWG parsing (the `url` crate): case of scheme and host, IDNA, every spelling of an IPv4
//!    address, dot segments (also as `%2e`), backslashes, tabs and newlines, default ports, encoding.
//! 2. Only `http` and `https`; user name and password are dropped, the fragment too.
//! 3. One trailing dot of the host is dropped (RFC 3986 §3.2.2: the same name).
//! 4. Percent-encoding: hex digits in upper case, unreserved characters decoded (RFC 3986 §6.2.2).
//! 5. Tracking and session parameters that the rules name are dropped, in the query, after `&` or `;`, and in the path,
//!    after `;`; then an empty query is dropped.
//!
//! Not changed, because they can make a difference to servers: case of the path, trailing slashes,
//! `index.html`, order of parameters, `www.`, http or https.

use super::written::of_feed;
use super::written_host::{HostProblem, settled};
use super::{CanonicalUrl, MAX_HOST_BYTES, MAX_URL_BYTES, Scheme};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use url::{EncodingOverride, Url};

/// Port 0, the ports of the Fetch Standard's §2.9, "Port blocking", and those of Redis and
/// memcached. Servers of other protocols listen there, which could read a request as a command.
/// Sorted.
const REFUSED_PORTS: [u16; 85] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    11211,
];

/// Is this port blocked, because it belongs to another protocol than HTTP?
pub fn is_refused_port(port: u16) -> bool {
    REFUSED_PORTS.binary_search(&port).is_ok()
}

/// The entry of [`UrlRules::drop_parameters`] for the separator.
const SEMICOLON: &str = ";";

/// Why the parser rejects a text.
fn words(error: url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => "it does not begin with https:// or http://".into(),
        other => other.to_string(),
    }
}

/// Why a text is not a URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Rejected by the WHATWG parser, with its reason.
    #[error("not a URL: {0}")]
    Parse(String),
    /// Another scheme than `http` or `https`.
    #[error("scheme {0:?} is not supported, only http and https")]
    Scheme(String),
    /// No host, or one that is only dots.
    #[error("the URL has no host")]
    Host,
    /// A host longer than [`MAX_HOST_BYTES`], which no server can have.
    #[error("the host is {0} bytes long; the limit is {MAX_HOST_BYTES}")]
    HostTooLong(usize),
    /// A blocked port: see [`is_refused_port`].
    #[error("port {0} is {problem}", problem = problem_of_port(*.0))]
    Port(u16),
    /// Longer than [`MAX_URL_BYTES`].
    #[error("the URL is {0} bytes long; the limit is {MAX_URL_BYTES}")]
    TooLong(usize),
    /// Bytes read from disk that are not a key.
    #[error("the bytes are not a URL key")]
    BadKey,
}

fn problem_of_port(port: u16) -> &'static str {
    match port {
        0 => "not a valid port",
        _ => "blocked: it belongs to another protocol than HTTP (docs/urls.md)",
    }
}

/// Configurable rules of the canonical form. They are fixed for the life of a repository: a change
/// would give known pages new URLs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UrlRules {
    /// Parameters that identify a visitor or a campaign, not a page. Compared without case; a
    /// trailing `*` matches any rest, and with `={id}` the value must look like that of a session: in other programs
    /// `sid` is the number of an article. With the entry `;` parameters also end at `;` in a query.
    pub drop_parameters: Vec<String>,
}

impl Default for UrlRules {
    fn default() -> Self {
        let names = [
            SEMICOLON,
            // campaigns
            "utm_*",
            "gclid",
            "gclsrc",
            "dclid",
            "fbclid",
            "msclkid",
            "yclid",
            "mc_cid",
            "mc_eid",
            "igshid",
            // sessions
            "jsessionid",
            "phpsessid",
            "aspsessionid*",
            "sid={id}",
            "sessionid={id}",
            "session_id={id}",
            "oscsid={id}",
            "zenid={id}",
            "cfid",
            "cftoken",
        ];
        UrlRules { drop_parameters: names.map(String::from).to_vec() }
    }
}

impl UrlRules {
    /// Defaults before this one: of version 0.1.0, which took the number of an article in `sid` for a session, and one for
    /// which parameters of a query ended at `&` alone.
    pub fn earlier_defaults() -> [UrlRules; 2] {
        let without = |later: &[&str]| -> Vec<String> {
            let names = UrlRules::default().drop_parameters.into_iter();
            names.filter(|name| !later.contains(&&**name)).collect()
        };
        let first = without(&[SEMICOLON, "oscsid={id}", "zenid={id}"]);
        let first = first.iter().map(|name| name.replace("={id}", "")).collect();
        [first, without(&[SEMICOLON])].map(|drop_parameters| UrlRules { drop_parameters })
    }

    /// Rules that drop no parameter.
    pub fn keep_all() -> UrlRules {
        UrlRules { drop_parameters: Vec::new() }
    }

    /// The canonical form of an absolute URL.
    ///
    /// # Errors
    /// [`UrlError`] says why it cannot be crawled.
    pub fn canonicalize(&self, text: &str) -> Result<CanonicalUrl, UrlError> {
        // Rejected before parsing, whose time and memory grow with the length.
        if text.len() > 16 * MAX_URL_BYTES {
            return Err(UrlError::TooLong(text.len()));
        }
        let text = of_feed(text);
        refuse_endless_host(&text)?;
        self.canonicalize_url(&Url::parse(&text).map_err(|e| UrlError::Parse(words(e)))?)
    }

    /// The canonical form of a link on a page whose base is `base`.
    ///
    /// # Errors
    /// As [`UrlRules::canonicalize`].
    pub fn join(&self, base: &Url, href: &str) -> Result<CanonicalUrl, UrlError> {
        self.join_in(base, href, None)
    }

    /// The same, with its query in the encoding of the page; `None` is UTF-8.
    ///
    /// # Errors
    /// As [`UrlRules::canonicalize`].
    pub fn join_in(
        &self,
        base: &Url,
        href: &str,
        encoding: EncodingOverride<'_>,
    ) -> Result<CanonicalUrl, UrlError> {
        if href.len() > 16 * MAX_URL_BYTES {
            return Err(UrlError::TooLong(href.len()));
        }
        let href = of_feed(href);
        refuse_endless_host(&href)?;
        self.canonicalize_url(&joined(base, &href, encoding).map_err(|e| UrlError::Parse(words(e)))?)
    }

    /// The canonical form of a parsed URL.
    ///
    /// # Errors
    /// As [`UrlRules::canonicalize`].
    pub fn canonicalize_url(&self, url: &Url) -> Result<CanonicalUrl, UrlError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => return Err(UrlError::Scheme(other.into())),
        };
        let host = url.host_str().ok_or(UrlError::Host)?;
        let host = settled(host).map_err(|problem| match problem {
            HostProblem::TooLong(length) => UrlError::HostTooLong(length),
            _ => UrlError::Host,
        })?;
        let port = url.port().unwrap_or(scheme.default_port());
        if is_refused_port(port) {
            return Err(UrlError::Port(port));
        }
        // Parameter names are compared in normalised form.
        let mut rest = self.path_without_parameters(&normalize_percent(url.path())).into_owned();
        if let Some(query) = url.query() {
            let query = normalize_percent(query);
            let kept = joined_parts(self.parameters(&query).filter(|(_, parameter)| !self.drops(parameter)));
            if has_parameter(&kept) {
                rest.push('?');
                rest.push_str(&kept);
            }
        }
        let length = scheme.as_str().len() + "://:65535".len() + host.len() + rest.len();
        if length > MAX_URL_BYTES {
            return Err(UrlError::TooLong(length));
        }
        Ok(CanonicalUrl::from_parts(scheme, host, port, &rest))
    }

    /// Does this query stay as it is, if percent-encoding changes nothing in it?
    pub fn keeps_query(&self, query: &str) -> bool {
        has_parameter(query) && !self.parameters(query).any(|(_, parameter)| self.drops(parameter))
    }

    /// Do parameters also end at `;` in a query, and at `%3B` in a path?
    fn has_semicolons(&self) -> bool {
        self.drop_parameters.iter().any(|rule| rule == SEMICOLON)
    }

    /// The parameters of a query, each with the separator before it. An `&` may have been escaped once too often. What has
    /// no `=` behind a `;` belongs to the value before it.
    fn parameters<'q>(&self, query: &'q str) -> impl Iterator<Item = (&'q str, &'q str)> {
        let has_semicolons = self.has_semicolons();
        let ends = move |text: &str, at: usize| match text.as_bytes()[at] {
            b'&' => true,
            b';' if has_semicolons => {
                text[at + 1..].split(['&', ';']).next().is_some_and(|next| next.contains('='))
            }
            _ => false,
        };
        parts(query, move |text| {
            let at = (0..text.len()).find(|at| ends(text, *at))?;
            let mut len = 1;
            while has_semicolons && text.as_bytes()[at] == b'&' && text[at + len..].starts_with("amp;") {
                len += "amp;".len();
            }
            Some((at, len))
        })
    }

    /// Is this `name=value` one to drop?
    fn drops(&self, parameter: &str) -> bool {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let name = name.as_bytes();
        let is_of = |rule: &str| match rule.strip_suffix('*') {
            Some(prefix) => {
                name.len() >= prefix.len() && name[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
            }
            None => name.eq_ignore_ascii_case(rule.as_bytes()),
        };
        !name.is_empty()
            && self.drop_parameters.iter().any(|rule| match rule.strip_suffix("={id}") {
                _ if rule == SEMICOLON => false,
                Some(rule) => is_of(rule) && is_id(value),
                None => is_of(rule),
            })
    }

    /// `/a;jsessionid=1/b` → `/a/b`. A segment that would become `.` or `..`, and thus another
    /// path, is not changed.
    fn path_without_parameters<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let has_escapes = self.has_semicolons();
        let separator = |text: &str| {
            let escaped = text.find("%3B").filter(|_| has_escapes).map(|at| (at, "%3B".len()));
            text.find(';').map(|at| (at, 1)).into_iter().chain(escaped).min()
        };
        if separator(path).is_none() {
            return path.into();
        }
        let segment = |s: &str| {
            let is_kept = |(at, (_, parameter)): &(usize, (&str, &str))| *at == 0 || !self.drops(parameter);
            let kept = joined_parts(parts(s, separator).enumerate().filter(is_kept).map(|(_, part)| part));
            if matches!(kept.as_str(), "." | "..") { s.to_owned() } else { kept }
        };
        path.split('/').map(segment).collect::<Vec<_>>().join("/").into()
    }
}

/// The parts of a text between separators, each with the one before it. `next` finds the place and length of the first.
fn parts<'t>(
    text: &'t str,
    next: impl Fn(&'t str) -> Option<(usize, usize)>,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let mut rest = Some(("", text));
    std::iter::from_fn(move || {
        let (separator, text) = rest.take()?;
        let Some((at, len)) = next(text) else { return Some((separator, text)) };
        rest = Some(text[at..].split_at(len));
        Some((separator, &text[..at]))
    })
}

/// The parts as one text, which begins without a separator.
fn joined_parts<'t>(parts: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    let mut all = String::new();
    for (at, (separator, part)) in parts.enumerate() {
        all.push_str(if at == 0 { "" } else { separator });
        all.push_str(part);
    }
    all
}

fn has_parameter(query: &str) -> bool {
    query.bytes().any(|byte| byte != b'&')
}

/// Can this value be the id of a session: none, 16 characters with a digit, or letters and digits that alternate three
/// times?
fn is_id(value: &str) -> bool {
    let digits = || value.bytes().map(|byte| byte.is_ascii_digit());
    let turns = digits().zip(digits().skip(1)).filter(|(a, b)| a != b).count();
    value.is_empty() || turns >= 3 || value.len() >= 16 && digits().any(|is_digit| is_digit)
}

/// The longest spelling of a label that DNS can carry: 59 characters behind `xn--`, each of them
/// four bytes of UTF-8, each byte percent-encoded.
const MAX_LABEL_SPELLING: usize = 59 * 4 * 3;

/// The URL of a link, as browsers read it.
///
/// # Errors
/// The parser's.
pub fn joined(base: &Url, href: &str, encoding: EncodingOverride<'_>) -> Result<Url, url::ParseError> {
    Url::options().base_url(Some(base)).encoding_override(encoding).parse(&two_slashes(href))
}

/// Two slashes of more than two before a host: the URL Standard ignores the others, and the parser takes no host then.
fn two_slashes(href: &str) -> Cow<'_, str> {
    let href = href.trim_start_matches(|c: char| c <= ' ');
    let host = href.trim_start_matches(['/', '\\']);
    if href.len() - host.len() > 2 { format!("//{host}").into() } else { href.into() }
}

/// Rejects an impossibly long host before it is parsed: decoding a Punycode label takes time
/// quadratic in its length.
fn refuse_endless_host(text: &str) -> Result<(), UrlError> {
    if text.len() <= MAX_LABEL_SPELLING {
        return Ok(());
    }
    // The parser removes these three everywhere.
    let text = text.replace(['\t', '\n', '\r'], "");
    let text = text.trim_start_matches(|c: char| c <= ' ');
    let scheme = text.find([':', '/', '\\', '?', '#']).filter(|&end| text[end..].starts_with(':'));
    let rest = scheme.map_or(text, |end| &text[end + 1..]);
    let authority = rest.trim_start_matches(['/', '\\']);
    if scheme.is_none() && rest.len() - authority.len() < 2 {
        return Ok(()); // A path, a query or a fragment.
    }
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    match has_endless_label(authority) {
        true => Err(UrlError::HostTooLong(authority.len())),
        false => Ok(()),
    }
}

/// Is a label longer than any spelling of one that DNS can carry?
pub(super) fn has_endless_label(host: &str) -> bool {
    host.split('.').any(|label| label.len() > MAX_LABEL_SPELLING)
}

/// Writes hex digits in upper case and decodes unreserved characters (RFC 3986 §2.3). A stray `%`
/// stays, and so does an encoding that would complete it when decoded: `%2%65` does not become
/// `%2e`.
fn normalize_percent(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut stray = None;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let bytes = rest.as_bytes();
        match (bytes.get(at + 1).and_then(hex), bytes.get(at + 2).and_then(hex)) {
            (Some(high), Some(low)) => {
                let byte = high * 16 + low;
                let completes = |stray: usize| {
                    out.len() - stray <= 2
                        && out.as_bytes()[stray + 1..].iter().chain([&byte]).all(|b| hex(b).is_some())
                };
                if (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) && !stray.is_some_and(completes)
                {
                    out.push(char::from(byte));
                } else {
                    out.push('%');
                    out.push(char::from(b"0123456789ABCDEF"[usize::from(high)]));
                    out.push(char::from(b"0123456789ABCDEF"[usize::from(low)]));
                }
                rest = &rest[at + 3..];
            }
            _ => {
                stray = Some(out.len());
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}

fn hex(byte: &u8) -> Option<u8> {
    char::from(*byte).to_digit(16).map(|d| d as u8)
}
