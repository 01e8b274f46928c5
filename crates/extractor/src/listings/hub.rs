//! The hub of a feed (WebSub §4): links with `rel` hub and self, in `Link` fields and in the feed.

use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, UrlRules};
use url::Url;

/// A hub that tells when a feed changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// The hub, with all parameters.
    pub url: CanonicalUrl,
    /// The feed's URL as its hub knows it: that of its `self` link, if it is on the same host.
    pub topic: String,
}

/// Collects the links of one feed. The first of each kind counts, so fields are read before the feed.
pub(super) struct HubLinks<'p> {
    page: &'p CanonicalUrl,
    rules: UrlRules,
    hub: Option<CanonicalUrl>,
    topic: Option<String>,
}

impl<'p> HubLinks<'p> {
    pub fn new(page: &'p CanonicalUrl) -> HubLinks<'p> {
        HubLinks { page, rules: UrlRules::keep_all(), hub: None, topic: None }
    }

    /// Adds a link; `rel` has relation types separated by spaces.
    pub fn link(&mut self, rel: &str, href: &str) {
        let has = |name: &str| rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(name));
        let href = href.trim();
        if href.is_empty() {
            return;
        }
        if self.hub.is_none() && has("hub") {
            self.hub = self.rules.join(&self.page.to_url(), href).ok();
        }
        if self.topic.is_none() && has("self") {
            self.topic = self.own(href);
        }
    }

    /// The topic, if it is on the host of the feed. Hubs compare topics as text, so a URL stays as written.
    fn own(&self, href: &str) -> Option<String> {
        let on_host = |url: &CanonicalUrl| url.host() == self.page.host();
        let page = self.page.to_url();
        self.rules.join(&page, href).ok().filter(on_host)?;
        let is_whole = href.bytes().all(|byte| byte.is_ascii_graphic()) && Url::parse(href).is_ok();
        let topic = if is_whole { href.to_owned() } else { page.join(href).ok()?.into() };
        (topic.len() <= MAX_URL_BYTES).then_some(topic)
    }

    pub fn decide(self) -> Option<Hub> {
        let HubLinks { page, hub, topic, .. } = self;
        hub.map(|url| Hub { url, topic: topic.unwrap_or_else(|| page.as_text()) })
    }
}
