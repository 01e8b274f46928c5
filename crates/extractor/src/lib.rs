//! Page bytes in, links and visible text out.
//!
//! For the crawl cycle, which follows the links and compares the text with the last visit's. The
//! main call is [`extract`]; it is pure, knows neither sockets nor disk, and never fails: whatever the
//! bytes are, the answer says what could be read from them.
//!
//! HTML is parsed into scraper's tree and walked once, by hand. CSS selectors would say the same in
//! fewer lines and cost a pass over the tree each; a bare tokenizer would be faster still, but then
//! which text is hidden and which belongs to the navigation would be a guess wherever tags are
//! misnested, as they are on most of the web.

mod base;
mod charset;
mod hints;
mod html;
mod media;
mod monster;
mod scope;
mod text;
mod walk;

pub use hints::{HintEntry, Hints, HintsKind};

use recrawl_types::{CanonicalUrl, UrlRules};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use url::Url;

/// Bounds on what one page may yield. The body's own size is bounded by whoever read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Different links kept of one page; [`Page::links_over_limit`] counts the rest.
    pub max_links: usize,
    /// Bytes of visible text kept; text beyond is cut at a character, silently for the reader of the
    /// text but the same way at each visit, so comparisons stay sound.
    pub max_text: usize,
    /// Entries kept of one sitemap or feed; [`Hints::over_limit`] counts the rest.
    pub max_entries: usize,
    /// Bytes of a sitemap or feed that came in gzip that are unpacked.
    pub max_unpacked: usize,
}

impl Default for Limits {
    /// 10,000 links and 1 MiB of text; 50,000 entries and 50 MiB, which is what a sitemap may have.
    fn default() -> Self {
        Limits { max_links: 10_000, max_text: 1 << 20, max_entries: 50_000, max_unpacked: 50 << 20 }
    }
}

/// Feeds kept of one page.
pub const MAX_FEEDS: usize = 16;

/// A title longer than this many bytes is cut.
pub const MAX_TITLE_BYTES: usize = 500;

/// What a body turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// HTML, XHTML or plain text.
    Page(Page),
    /// A sitemap or a feed.
    Hints(Hints),
    /// Any other type: nothing is read from it.
    Opaque,
}

/// What was read from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where the page leads, in order of first appearance, each address once. A page's links to
    /// itself (all its `#fragment` links among them) are not here.
    pub links: Vec<FoundLink>,
    /// Feeds that the page names as its own, each address once, at most [`MAX_FEEDS`].
    pub feeds: Vec<CanonicalUrl>,
    /// The visible text: white space collapsed, blocks on lines of their own. Scripts, styles, hidden
    /// parts and the page's frame (navigation, the page's own header, footer and asides) are left out;
    /// the list of what exactly opens `src/text.rs`. A page that is nearly all frame keeps it.
    pub text: String,
    /// The document's title, white space collapsed.
    pub title: Option<String>,
    /// A robots meta element says `noindex` or `none`.
    pub noindex: bool,
    /// A robots meta element says `nofollow` or `none`: the page's links are listed all the same, and
    /// the caller decides.
    pub nofollow: bool,
    /// What relative links were resolved against: the page's own address, or its `<base href>`.
    pub base: Url,
    /// References that are no address of a page that can be crawled: other schemes (`mailto:`,
    /// `javascript:`), spellings that do not parse, addresses that are too long.
    pub links_refused: u32,
    /// References left unread because [`Limits::max_links`] was reached.
    pub links_over_limit: u32,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink {
    /// Where it leads.
    pub url: CanonicalUrl,
    /// Every reference to this address on the page is marked `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
}

/// Reads links and text from a response body.
///
/// `content_type` is the value of the response's `Content-Type`; without one the body's first bytes
/// decide. `url` is the address that the body came from (after redirects).
pub fn extract(
    body: &[u8],
    content_type: Option<&str>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    limits: &Limits,
) -> Extracted {
    let media = media::MediaType::of(content_type, body);
    if let Some(hints) = hints::read(body, &media, url, rules, limits) {
        return Extracted::Hints(hints);
    }
    match media.kind {
        media::Kind::Opaque => Extracted::Opaque,
        media::Kind::Plain => {
            let decoded = charset::decode(body, media.charset.as_deref());
            let mut text = text::Collapsed::new(limits.max_text);
            for line in decoded.lines() {
                text.block();
                text.push(line);
            }
            Extracted::Page(Page {
                links: Vec::new(),
                feeds: Vec::new(),
                text: text.finish(),
                title: None,
                noindex: false,
                nofollow: false,
                base: url.to_url(),
                links_refused: 0,
                links_over_limit: 0,
            })
        }
        media::Kind::Html => {
            let html = html::parse(&charset::decode(body, media.charset.as_deref()));
            Extracted::Page(read(&html, url, rules, limits))
        }
    }
}

/// From the tree to the page.
fn read(html: &scraper::Html, url: &CanonicalUrl, rules: &UrlRules, limits: &Limits) -> Page {
    let found = walk::walk(html, limits.max_text);
    let resolver = base::Resolver::new(url, found.base, rules);
    let mut page = Page {
        links: Vec::new(),
        feeds: Vec::new(),
        text: found.text,
        title: found.title,
        noindex: found.noindex,
        nofollow: found.nofollow,
        base: resolver.base().clone(),
        links_refused: 0,
        links_over_limit: 0,
    };
    let mut places: HashMap<CanonicalUrl, usize> = HashMap::with_capacity(found.references.len().min(256));
    for reference in &found.references {
        if page.links.len() == limits.max_links {
            page.links_over_limit = page.links_over_limit.saturating_add(1);
            continue;
        }
        let Ok(target) = resolver.resolve(reference.href) else {
            page.links_refused = page.links_refused.saturating_add(1);
            continue;
        };
        if target == *url {
            continue;
        }
        if reference.is_feed {
            if page.feeds.len() < MAX_FEEDS && !page.feeds.contains(&target) {
                page.feeds.push(target);
            }
            continue;
        }
        match places.entry(target) {
            Entry::Occupied(place) => page.links[*place.get()].nofollow &= reference.nofollow,
            Entry::Vacant(place) => {
                page.links.push(FoundLink { url: place.key().clone(), nofollow: reference.nofollow });
                place.insert(page.links.len() - 1);
            }
        }
    }
    page
}

#[cfg(test)]
mod tests;
