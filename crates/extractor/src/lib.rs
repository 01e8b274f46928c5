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

mod attributes;
mod base;
mod canonical;
mod charset;
mod date;
mod dated;
mod directives;
mod hints;
mod html;
mod media;
mod scope;
mod sink;
mod text;
mod walk;

pub use dated::{DatedLine, dated_line};
pub use hints::{HintEntry, Hints, HintsKind};
pub use media::Types;

use crate::base::Resolver;
use crate::canonical::Claims;
use crate::directives::Directives;
use crate::media::{Kind, MediaType};
use crate::walk::Found;
use recrawl_types::{CanonicalUrl, Consent, UrlRules};
use std::borrow::Cow;
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

/// How pages are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bounds on what one page may yield.
    pub limits: Limits,
    /// Which media types are read.
    pub types: Types,
    /// Our product token, by which pages speak to us alone.
    pub agent: String,
}

/// What the answer's header says of its body. Without any of it, the body speaks for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
    /// `X-Content-Type-Options: nosniff`: the type is as it says.
    pub nosniff: bool,
    /// All `X-Robots-Tag` fields.
    pub robots_tags: Vec<Cow<'a, str>>,
    /// All `Link` fields.
    pub links: Vec<Cow<'a, str>>,
}

/// A title longer than this many bytes is cut.
pub const MAX_TITLE_BYTES: usize = 500;

/// What a body turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// HTML, XHTML or plain text.
    Page(Page),
    /// A sitemap or a feed, and what its header says is to be done with it.
    Hints(Hints, Consent),
    /// Any other type: nothing is read from it but what its header says.
    Opaque(Consent),
}

impl Extracted {
    /// What is to be done with the body, as its header and its markup say.
    pub fn consent(&self) -> &Consent {
        match self {
            Extracted::Page(page) => &page.consent,
            Extracted::Hints(_, consent) | Extracted::Opaque(consent) => consent,
        }
    }

    /// What reading the body cost: [`Page::work`], [`Hints::work`].
    pub fn work(&self) -> u64 {
        match self {
            Extracted::Page(page) => page.work,
            Extracted::Hints(hints, _) => hints.work,
            Extracted::Opaque(_) => 0,
        }
    }
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
    /// What the page says is to be done with it. Its links are listed all the same, and the caller
    /// decides; the canonical address is not among them.
    pub consent: Consent,
    /// What relative links were resolved against: the page's own address, or its `<base href>`.
    pub base: Url,
    /// References that are no address of a page that can be crawled: other schemes (`mailto:`,
    /// `javascript:`), spellings that do not parse, addresses that are too long.
    pub links_refused: u32,
    /// References left unread because [`Limits::max_links`] was reached, or because addresses of a page
    /// with a long base had cost enough.
    pub links_over_limit: u32,
    /// What reading it cost, in steps of some ten nanoseconds: its bytes, and what the parser of HTML did.
    pub work: u64,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink {
    /// Where it leads.
    pub url: CanonicalUrl,
    /// Every reference to this address on the page is marked `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
}

/// Reads links, text and consent from an answer. `url` is the address that the body came from (after
/// redirects).
pub fn extract(
    body: &[u8],
    fields: &Fields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &Options,
) -> Extracted {
    let media = MediaType::of(fields, body, &options.types);
    let decoded = || charset::decode(body, media.charset.as_deref(), &url.host());
    let mut asked = Asked::of_header(fields, url, rules, options);
    if let Some(hints) = hints::read(body, &media, url, rules, &options.limits) {
        return Extracted::Hints(hints, asked.decide());
    }
    match media.kind {
        Kind::Opaque => Extracted::Opaque(asked.decide()),
        Kind::Plain => {
            let mut text = text::Collapsed::new(options.limits.max_text);
            let decoded = decoded();
            for line in decoded.lines() {
                text.block();
                text.push(line);
            }
            Extracted::Page(Page {
                links: Vec::new(),
                feeds: Vec::new(),
                text: text.finish(),
                title: None,
                consent: asked.decide(),
                base: url.to_url(),
                links_refused: 0,
                links_over_limit: 0,
                work: decoded.len() as u64,
            })
        }
        Kind::Html => {
            let (html, work) = html::parse(&decoded());
            let found = walk::walk(&html, options.limits.max_text);
            let resolver = Resolver::new(url, found.base, rules);
            found.metas.iter().for_each(|(name, content)| asked.directives.meta(name, content));
            let claims = found.canonicals.iter().take_while(|_| !resolver.is_spent());
            let claims = claims.filter_map(|href| resolver.resolve(href).ok());
            claims.for_each(|target| asked.canonical.add(target));
            let page = read(found, &resolver, asked.decide(), url, &options.limits);
            Extracted::Page(Page { work, ..page })
        }
    }
}

/// What a page asks for, as it is found.
struct Asked<'a> {
    directives: Directives<'a>,
    canonical: Claims<'a>,
}

impl<'a> Asked<'a> {
    fn of_header(fields: &Fields<'_>, url: &'a CanonicalUrl, rules: &UrlRules, options: &'a Options) -> Self {
        let mut asked = Asked { directives: Directives::new(&options.agent), canonical: Claims::new(url) };
        fields.robots_tags.iter().for_each(|value| asked.directives.header(value));
        fields.links.iter().for_each(|value| asked.canonical.header(value, rules));
        asked
    }

    fn decide(self) -> Consent {
        Consent { canonical: self.canonical.decide(), ..self.directives.decide() }
    }
}

/// What the header of an answer without a body (304) says is to be done with the page.
pub fn consent_of_header(
    fields: &Fields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &Options,
) -> Consent {
    Asked::of_header(fields, url, rules, options).decide()
}

/// From what was found to the page.
fn read(
    found: Found<'_>,
    resolver: &Resolver<'_>,
    consent: Consent,
    url: &CanonicalUrl,
    limits: &Limits,
) -> Page {
    let mut page = Page {
        links: Vec::new(),
        feeds: Vec::new(),
        text: found.text,
        title: found.title,
        consent,
        base: resolver.base().clone(),
        links_refused: 0,
        links_over_limit: 0,
        work: 0,
    };
    let mut places: HashMap<CanonicalUrl, usize> = HashMap::with_capacity(found.references.len().min(256));
    for reference in &found.references {
        // Feeds are counted on their own.
        let is_full = page.links.len() == limits.max_links && !reference.is_feed;
        if is_full || resolver.is_spent() {
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
