//! Rules for what a page loads: scripts when it is rendered, requisites for the archive.
//!
//! It needs no place in the scope, but what the operator refuses is refused. A page must not read what only this machine
//! can reach. `fetch.allow_addresses` admits addresses for the crawl, not for each page in it: only a page that came from
//! such an address itself may ask one, and only its own host or one in scope.

use super::blocks::Blocks;
use super::scope::Scope;
use recrawl_fetcher::Response;
use recrawl_fetcher::guard::is_public;
use recrawl_types::CanonicalUrl;
use recrawl_types::host::literal;

/// The rules for what one page loads.
pub struct LoadRules<'p> {
    page: &'p CanonicalUrl,
    /// Did the page come from an address that only `fetch.allow_addresses` admits?
    is_inside: bool,
    scope: &'p Scope,
}

impl<'p> LoadRules<'p> {
    /// Of a page with this response. Behind a proxy the address of a name is unknown.
    pub fn new(page: &'p CanonicalUrl, response: &Response, scope: &'p Scope) -> LoadRules<'p> {
        let address = response.peer.map(|peer| peer.ip()).or_else(|| literal(&page.host()));
        LoadRules { page, is_inside: address.is_some_and(|address| !is_public(address)), scope }
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
