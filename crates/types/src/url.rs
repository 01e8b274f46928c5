//! The canonical URL: its construction, representation and order.
//!
//! A [`CanonicalUrl`] is only made by [`UrlRules`], or from a key that was written before. So two
//! spellings of a URL are always the same page. It is stored as its *key*, the bytes by which
//! everything is sorted; the usual spelling is derived from the key and never stored.
//!
//! Key: the host's labels in reverse order joined by `0x01` (an address literal is one label),
//! `0x00`, the port (2 bytes, big-endian), the scheme (`0` http, `1` https), then path and query as
//! text. Comparing keys as bytes therefore compares reversed host, port, scheme, path and query, in
//! this order. This keeps a site's pages together (VEUNI, Henrique et al. 2011). No canonical URL
//! contains a byte below `0x21`, so a separator never occurs inside a part.

mod host;
mod host_pattern;
mod normalize;
pub mod text;
mod written;
mod written_host;

pub use host_pattern::HostPattern;
pub use normalize::{UrlError, UrlRules, is_refused_port, joined};
pub use written::is_whole;
pub use written_host::{HostError, HostProblem, WrittenHost};

use crate::Origin;
use crate::host::literal;
use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Maximum length of a canonical URL in its usual spelling, in bytes. Longer ones are rejected
/// ([`UrlError::TooLong`]). Servers, sitemaps and browsers all support 2,000.
pub const MAX_URL_BYTES: usize = 2_000;

/// Maximum length of a host in bytes: the limit of DNS (RFC 1035 §2.3.4, without the final dot).
/// Longer ones are rejected ([`UrlError::HostTooLong`]).
pub const MAX_HOST_BYTES: usize = 253;

const LABEL: u8 = 1;
const HOST_END: u8 = 0;
/// Bytes of port and scheme after the host's terminator.
const AFTER_HOST: usize = 3;

/// `http` or `https`; nothing else is crawled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Scheme {
    /// Plain HTTP.
    Http = 0,
    /// HTTP over TLS.
    Https = 1,
}

impl Scheme {
    /// 80 or 443.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A URL in canonical form, stored as its sort key (see the module documentation).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl(Box<[u8]>);

impl CanonicalUrl {
    /// The sort key; URLs are ordered by its bytes.
    pub fn key(&self) -> &[u8] {
        &self.0
    }

    /// The URL of a key from [`CanonicalUrl::key`].
    ///
    /// # Errors
    /// [`UrlError::BadKey`] when the bytes are not a valid key, for example after damage on disk.
    pub fn from_key(key: &[u8]) -> Result<CanonicalUrl, UrlError> {
        if CanonicalUrl::is_key(key) { Ok(CanonicalUrl(key.into())) } else { Err(UrlError::BadKey) }
    }

    /// Are these bytes a valid key?
    pub fn is_key(key: &[u8]) -> bool {
        let Some(host_end) = key.iter().position(|&b| b == HOST_END) else { return false };
        let rest = &key[host_end + 1..];
        let rest_is_sound = rest.len() > AFTER_HOST
            && rest[..2] != [0, 0]
            && rest[2] <= 1
            && rest[AFTER_HOST] == b'/'
            && CanonicalUrl::is_path(&rest[AFTER_HOST..])
            && key.len() <= MAX_URL_BYTES;
        rest_is_sound && host::is_sound(&key[..host_end])
    }

    /// Are these bytes valid in the path and query of a key?
    pub fn is_path(bytes: &[u8]) -> bool {
        // Checks all bytes without an early exit, so that the compiler can vectorise the loop.
        bytes.iter().fold(true, |are, byte| are & (0x21..0x7f).contains(byte))
    }

    /// The lengths of the prefixes of a key that are its folders, outermost first: the origin with the first "/", and
    /// one for each further "/" of the path. None for bytes that are no key.
    pub fn folders(key: &[u8]) -> impl Iterator<Item = usize> + '_ {
        CanonicalUrl::folders_beyond(0, key)
    }

    /// Those of its folders that are longer than the `shared` bytes with which a key before it begins, too.
    pub fn folders_beyond(shared: usize, key: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let path = memchr(HOST_END, key).map_or(key.len(), |end| key.len().min(end + 1 + AFTER_HOST));
        let end = memchr(b'?', &key[path..]).map_or(key.len(), |query| path + query);
        let from = shared.clamp(path, end);
        memchr_iter(b'/', &key[from..end]).map(move |slash| from + slash + 1)
    }

    /// The innermost of its folders.
    pub fn folder(key: &[u8]) -> &[u8] {
        &key[..CanonicalUrl::folders(key).last().unwrap_or_default()]
    }

    /// The URL of this path at the same origin. The path must be canonical and short: the total
    /// length is not checked.
    pub fn at_origin(&self, path: &'static str) -> CanonicalUrl {
        CanonicalUrl([self.origin_key(), path.as_bytes()].concat().into())
    }

    /// The home page of an origin: the path `/`.
    pub fn home_of(origin: &Origin) -> CanonicalUrl {
        CanonicalUrl::from_parts(origin.scheme, &origin.host, origin.port, "/")
    }

    /// Builds the key of a URL from canonical parts.
    fn from_parts(scheme: Scheme, host: &str, port: u16, path_and_query: &str) -> CanonicalUrl {
        let mut key = CanonicalUrl::key_of_host(host);
        key.reserve_exact(AFTER_HOST + path_and_query.len());
        key.extend_from_slice(&port.to_be_bytes());
        key.push(scheme as u8);
        key.extend_from_slice(path_and_query.as_bytes());
        CanonicalUrl(key.into())
    }

    /// The beginning of the keys of a canonical host's URLs, and of no other host's.
    pub fn key_of_host(host: &str) -> Vec<u8> {
        let mut key = CanonicalUrl::host_in_key(host);
        key.push(HOST_END);
        key
    }

    /// The same of all hosts below this one.
    pub fn key_of_subdomains(host: &str) -> Vec<u8> {
        let mut key = CanonicalUrl::host_in_key(host);
        key.push(LABEL);
        key
    }

    fn host_in_key(host: &str) -> Vec<u8> {
        // With space for what ends it.
        let mut key = Vec::with_capacity(host.len() + 1);
        if literal(host).is_some() {
            key.extend_from_slice(host.as_bytes());
            return key;
        }
        for (i, label) in host.rsplit('.').enumerate() {
            if i > 0 {
                key.push(LABEL);
            }
            key.extend_from_slice(label.as_bytes());
        }
        key
    }

    fn host_end(&self) -> usize {
        self.0.iter().position(|&b| b == HOST_END).expect("a key has a host")
    }

    /// The part of the key that identifies the origin: host, port, scheme.
    pub fn origin_key(&self) -> &[u8] {
        CanonicalUrl::origin_of(&self.0)
    }

    /// [`CanonicalUrl::origin_key`] of a key. No origin's key is a prefix of another's, because the
    /// host's terminator never occurs in a host. So keys sort by origin first. For bytes that are
    /// not a key it returns some prefix of them.
    pub fn origin_of(key: &[u8]) -> &[u8] {
        let host_end = key.iter().position(|&b| b == HOST_END).unwrap_or(key.len());
        &key[..(host_end + 1 + AFTER_HOST).min(key.len())]
    }

    /// Same scheme, host and port?
    pub fn same_origin(&self, other: &CanonicalUrl) -> bool {
        self.origin_key() == other.origin_key()
    }

    /// The host: lower case, IDNA, no trailing dot; IPv6 in brackets.
    pub fn host(&self) -> Cow<'_, str> {
        let key = std::str::from_utf8(&self.0[..self.host_end()]).expect("a canonical URL is ASCII");
        if !key.as_bytes().contains(&LABEL) {
            return Cow::Borrowed(key);
        }
        let mut host = String::with_capacity(key.len());
        for (i, label) in key.rsplit(char::from(LABEL)).enumerate() {
            if i > 0 {
                host.push('.');
            }
            host.push_str(label);
        }
        Cow::Owned(host)
    }

    /// The port, default ports written out.
    pub fn port(&self) -> u16 {
        let at = self.host_end() + 1;
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        if self.0[self.host_end() + 3] == 0 { Scheme::Http } else { Scheme::Https }
    }

    /// Path and query as in a request line; starts with `/`.
    pub fn path_and_query(&self) -> &str {
        let at = self.host_end() + 1 + AFTER_HOST;
        std::str::from_utf8(&self.0[at..]).expect("a canonical URL is ASCII")
    }

    /// The usual spelling.
    pub fn as_text(&self) -> String {
        self.to_string()
    }

    /// The URL as the `url` crate's type, for joining links.
    pub fn to_url(&self) -> ::url::Url {
        ::url::Url::parse(&self.as_text()).expect("a canonical URL parses")
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.host())?;
        if self.port() != self.scheme().default_port() {
            write!(f, ":{}", self.port())?;
        }
        f.write_str(self.path_and_query())
    }
}

impl fmt::Debug for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{self}>")
    }
}

#[cfg(test)]
mod tests;
