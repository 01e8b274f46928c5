//! Rules for what a page loads: scripts when it is rendered, requisites for the archive.
//!
//! It needs no place in the scope, but what the operator refuses is refused. A page must not read what only this machine
//! can reach. `fetch.allow_addresses` admits addresses for the crawl, not for each page in it: only a page that came from
//! such an address itself may ask one, and only its own host or one in scope.

use super::blocks::Blocks;
use super::scope::Scope;
use recrawl_fetcher::guard::is_public;
use recrawl_fetcher::{RequestOptions, Response};
use recrawl_types::CanonicalUrl;
use recrawl_types::host::literal;
use std::net::IpAddr;

/// Was this URL answered from an address that only `fetch.allow_addresses` admits? Behind a proxy the address of a name is
/// unknown.
pub fn is_inside(url: &CanonicalUrl, address: Option<IpAddr>) -> bool {
    address.or_else(|| literal(&url.host())).is_some_and(|address| !is_public(address))
}

/// The rules for what one page loads.
pub struct LoadRules<'p> {
    page: &'p CanonicalUrl,
    /// Is the page inside?
    is_inside: bool,
    scope: &'p Scope,
}

impl<'p> LoadRules<'p> {
    /// Of a page with this response.
    pub fn new(page: &'p CanonicalUrl, response: &Response, scope: &'p Scope) -> LoadRules<'p> {
        LoadRules::answered_by(page, response.peer.map(|peer| peer.ip()), scope)
    }

    /// Of a page that this address answered.
    pub fn answered_by(page: &'p CanonicalUrl, address: Option<IpAddr>, scope: &'p Scope) -> LoadRules<'p> {
        LoadRules { page, is_inside: is_inside(page, address), scope }
    }

    /// Does the operator refuse this URL?
    pub fn refuse(&self, url: &CanonicalUrl, blocks: &Blocks) -> bool {
        self.scope.forbids_resource(url) || blocks.cover(url).is_some()
    }

    /// May only a public address be asked for it?
    pub fn is_public_only(&self, url: &CanonicalUrl) -> bool {
        let host = url.host();
        !(self.is_inside && (host == self.page.host() || self.scope.admits_host(&host)))
    }
}

/// How a service that a page names is asked, at its URL or at one that it redirects to; none if the operator refuses it.
/// Its page may be from anywhere, so only a host in scope may be inside.
pub fn service_manner(url: &CanonicalUrl, scope: &Scope, blocks: &Blocks) -> Option<RequestOptions> {
    let is_refused = scope.forbids(url) || blocks.cover(url).is_some();
    let is_public_only = !scope.admits_host(&url.host());
    (!is_refused).then(|| RequestOptions { is_public_only, ..RequestOptions::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    #[test]
    fn only_a_page_from_inside_may_ask_inside_its_own_host_or_one_in_scope() {
        let url = |text: &str| UrlRules::keep_all().canonicalize(text).unwrap();
        let scope =
            crate::config::Scope { hosts: vec!["wiki.test".into()], ..crate::config::Scope::default() };
        let scope = Scope::new(&scope, &UrlRules::default()).unwrap();
        let (inside, outside) = ("10.1.2.3".parse().ok(), "8.8.8.8".parse().ok());
        let own = url("http://page.test/x.png");
        assert!(is_inside(&own, inside) && !is_inside(&own, outside) && !is_inside(&own, None));
        assert!(is_inside(&url("http://192.168.1.9/x.png"), None));
        let page = url("http://page.test/");
        for (address, asked, is_public_only) in [
            (inside, "http://page.test/x.png", false),
            (inside, "http://wiki.test/x.png", false),
            (inside, "http://other.test/x.png", true),
            (outside, "http://page.test/x.png", true),
            (outside, "http://wiki.test/x.png", true),
            (None, "http://page.test/x.png", true),
        ] {
            let rules = LoadRules::answered_by(&page, address, &scope);
            assert_eq!(rules.is_public_only(&url(asked)), is_public_only, "{address:?} {asked}");
        }
    }
}
