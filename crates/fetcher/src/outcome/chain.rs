//! A chain of redirects as a browser follows it: each URL as the server wrote it, with the cookies that it set. A
//! record keeps the canonical URL, but a server that adds a session or a campaign to it may answer only then.

use crate::net::client::{Hop, Reply};
use crate::net::cookies::Cookies;
use recrawl_types::{CanonicalUrl, UrlRules};
use reqwest::Url;
use reqwest::header::LOCATION;
use std::fmt::Write as _;

/// Maximum bytes of a URL as sent: what servers should support (RFC 9110 §4.1).
const MAX_SENT_URL: usize = 8_000;

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Chain {
    /// As the server wrote it, without user name, password and fragment.
    url: Url,
    cookies: Cookies,
    /// The requests of this page so far, and those of a detour that led back to it.
    before: Vec<Hop>,
}

impl Chain {
    /// The chain behind this response to a request of the page, and the page that it leads to. None without a
    /// target that can be requested. `now` is in milliseconds since 1970.
    pub fn behind(
        page: &CanonicalUrl,
        chain: Option<&Chain>,
        reply: &Reply,
        rules: &UrlRules,
        now: u64,
    ) -> Option<(CanonicalUrl, Chain)> {
        let from = Chain::url(page, chain);
        let (mut url, target) = target(reply, &from, rules)?;
        // The guard and the rules of hosts see the canonical host, so no other one is requested.
        url.set_host(Some(&target.host())).ok()?;
        let is_clean = url.set_username("").is_ok() && url.set_password(None).is_ok();
        url.set_fragment(None);
        if !is_clean || url.as_str().len() > MAX_SENT_URL {
            return None;
        }
        let (mut cookies, mut before) =
            chain.map(|chain| (chain.cookies.clone(), chain.before.clone())).unwrap_or_default();
        before.push(Hop { cookies: cookies.field(&from), url: from.clone() });
        cookies.take(&reply.headers, &from, now);
        Some((target, Chain { url, cookies, before }))
    }

    /// The URL to request for a page: that of its chain, or its own.
    pub fn url(page: &CanonicalUrl, chain: Option<&Chain>) -> Url {
        chain.map_or_else(|| page.to_url(), |chain| chain.url.clone())
    }

    /// Fields of the next request of the chain.
    pub fn hop(&self) -> Hop {
        Hop { url: self.url.clone(), cookies: self.cookies.field(&self.url) }
    }

    /// Path and query of the next request.
    pub fn path_and_query(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.url.path())
    }

    /// Does the chain come back to a request that it made already?
    pub fn is_loop(&self) -> bool {
        self.before.contains(&self.hop())
    }

    /// Redirects since the page was first requested.
    pub fn steps(&self) -> usize {
        self.before.len()
    }

    /// The chain at another page; none if that is requested like any page.
    pub fn at(self, page: &CanonicalUrl) -> Option<Chain> {
        let is_plain = self.cookies.is_empty() && self.url == page.to_url();
        (!is_plain).then(|| Chain { before: Vec::new(), ..self })
    }

    /// The requests of this page so far.
    pub fn requests(&self) -> &[Hop] {
        &self.before
    }

    /// Would a request of this page send a cookie?
    pub fn has_cookie_for(&self, page: &CanonicalUrl) -> bool {
        self.cookies.field(&page.to_url()).is_some()
    }

    /// The chain at a page to which it leads back, after these requests.
    pub fn back(&self, mut before: Vec<Hop>) -> Chain {
        before.extend_from_slice(&self.before);
        Chain { before, ..self.clone() }
    }
}

/// The target of a redirect from this URL, as sent and in canonical form; none if it cannot be crawled.
pub fn target(reply: &Reply, from: &Url, rules: &UrlRules) -> Option<(Url, CanonicalUrl)> {
    let location = location(reply)?;
    // This checks the length before it parses.
    let target = rules.join(from, &location).ok()?;
    Some((recrawl_types::url::joined(from, &location, None).ok()?, target))
}
/// The field Location in ASCII; of several, the first that is not empty.
fn location(reply: &Reply) -> Option<String> {
    let mut fields = reply.headers.get_all(LOCATION).iter().map(|field| field.as_bytes().trim_ascii());
    let first = fields.next()?;
    let full = [first].into_iter().chain(fields).find(|field| !field.is_empty());
    Some(in_ascii(full.unwrap_or(first)))
}

/// Percent-encodes each byte that is not ASCII, whatever its encoding. The server that wrote them
/// understands them.
fn in_ascii(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, &byte| {
        match byte.is_ascii() {
            true => text.push(char::from(byte)),
            false => _ = write!(text, "%{byte:02X}"),
        }
        text
    })
}
