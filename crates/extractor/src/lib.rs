//! Page bytes in, links, visible text and Markdown out.
//!
//! For the crawl cycle, which follows the links and compares the text with the last visit's. The
//! main call is [`extract`]. It is pure, knows neither sockets nor disk, and never fails: for any
//! bytes it returns what could be read.
//!
//! ```
//! use recrawl_extractor::{Extracted, BodyFields, ExtractOptions, extract};
//! use recrawl_types::UrlRules;
//!
//! let rules = UrlRules::default();
//! let url = rules.canonicalize("https://example.com/news/")?;
//! let body = b"<title>News</title><nav>Menu</nav><p>Rain <b>today</b>. <a href='2026/rain'>More</a>";
//! let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
//! let Extracted::Page(page) = extract(body, &fields, &url, &rules, &ExtractOptions::default()) else {
//!     panic!("it is a page");
//! };
//! assert_eq!(page.title.as_deref(), Some("News"));
//! assert_eq!(page.text, "Rain today. More");
//! assert_eq!(page.links[0].url.as_text(), "https://example.com/news/2026/rain");
//! # Ok::<(), recrawl_types::UrlError>(())
//! ```
//!
//! HTML is read in one pass over its tags and texts, in the order of the tree that a browser builds
//! (module `stream`). Where the standard moves parts of the tree, as in misnested pages, html5ever
//! builds scraper's tree, which is walked once (module `html`). Both ways find the same. A page with
//! selectors for its text is always read by its tree (module `part`).
//!
//! [`markdown()`] writes the main content of a page, or all that is seen.
//!
//! For people who look at an archived body, [`inert()`] makes a document of it that neither acts nor loads anything.

mod anchor;
mod base;
mod canonical;
mod charset;
mod date;
mod dated;
mod directives;
mod document;
mod element;
mod entities;
mod html;
mod inert;
mod json;
mod listings;
mod look;
mod markdown;
mod media;
mod names;
mod noscript;
mod oversized_tags;
mod page_fields;
mod part;
mod query;
mod refresh;
mod requisites;
mod scope;
mod shadow;
mod sink;
mod stream;
mod text;
mod walk;
mod xhtml;

pub use anchor::{MAX_ANCHOR_BYTES, MAX_ANCHORS_BYTES};
pub use dated::{DatedLine, dated_line};
pub use document::{DocumentParts, ExtractedDocument, extract_document};
pub use inert::{ArchivedRequisite, Looked, inert, inert_look, inert_text};
pub use listings::{Hub, Listing, ListingEntry, ListingKind};
pub use markdown::{MAX_MARKDOWN_BYTES, Markdown, PageExtent, markdown};
pub use media::media_type;
pub use page_fields::{FieldValues, MAX_FIELD_BYTES, MAX_FIELD_VALUES, PageFields};
pub use part::{CountedPart, MAX_PART_ENTRIES, PartError};
pub use requisites::{Requisite, RequisiteKind, requisites};
pub use stream::assert_both_ways;

use crate::anchor::Context;
use crate::base::ReferenceResolver;
use crate::canonical::Claims;
use crate::charset::Decoded;
use crate::directives::Directives;
use crate::html::Attributes;
use crate::media::{BodyKind, MediaType};
use crate::part::Selected;
use crate::scope::PageReference;
use crate::walk::WalkResult;
use encoding_rs::Encoding;
use recrawl_types::{CanonicalUrl, Consent, MediaTypes, UrlRules};
use scraper::Html;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use url::Url;

/// Limits on one page's results. The caller limits the body's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractLimits {
    /// Maximum distinct links of one page; [`PageContent::links_over_limit`] counts the rest.
    pub max_links: usize,
    /// Maximum bytes of visible text. The rest is cut at a character, without notice, but
    /// identically at each visit, so comparisons stay valid.
    pub max_text: usize,
    /// Maximum entries of one sitemap or feed; [`Listing::over_limit`] counts the rest.
    pub max_entries: usize,
    /// Maximum unpacked bytes of a gzipped sitemap or feed.
    pub max_unpacked: usize,
}

impl Default for ExtractLimits {
    /// 10,000 links and 1 MiB of text; 50,000 entries and 50 MiB, the maximum of a sitemap.
    fn default() -> Self {
        ExtractLimits { max_links: 10_000, max_text: 1 << 20, max_entries: 50_000, max_unpacked: 50 << 20 }
    }
}

/// Maximum feeds of one page.
pub const MAX_FEEDS: usize = 16;

/// Options of [`extract`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Limits on one page's results.
    pub limits: ExtractLimits,
    /// The media types that are read.
    pub types: MediaTypes,
    /// Our product token; pages may address directives to it.
    pub agent: String,
    /// Are the anchors of links read, whether they stand in the page's frame, and the page's language? If not, anchors are
    /// empty.
    pub anchors: bool,
}

/// Header fields that describe the body. Without them, the body alone decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyFields<'a> {
    /// `Content-Type`; the values of several fields with commas between them.
    pub content_type: Option<&'a str>,
    /// Whether `X-Content-Type-Options: nosniff` is set: the declared type is then binding.
    pub nosniff: bool,
    /// All `X-Robots-Tag` fields.
    pub robots_tags: Vec<Cow<'a, str>>,
    /// All `Link` fields.
    pub links: Vec<Cow<'a, str>>,
    /// `Refresh`, one character for each byte.
    pub refresh: Option<Cow<'a, str>>,
    /// The encoding of the page's queries, if it is not that of the body.
    pub queries: Option<&'static Encoding>,
}

impl<'a> BodyFields<'a> {
    /// Of the document that a browser made of the `body` that these fields describe: in UTF-8, and in the syntax of what
    /// was sent (its `outerHTML`). Its links still have the queries of the page that was sent.
    pub fn rendered(self, body: &[u8], url: &CanonicalUrl, types: &MediaTypes) -> BodyFields<'a> {
        let media = MediaType::detect(&self, body, types);
        let content_type = match media.kind {
            BodyKind::Xhtml => "application/xhtml+xml; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        let queries = charset::encoding(body, media.charset.as_deref(), media.syntax(), &url.host());
        BodyFields { content_type: Some(content_type), queries: Some(queries), ..self }
    }
}

/// Maximum bytes of a title; a longer one is cut.
pub const MAX_TITLE_BYTES: usize = 500;

/// The result of [`extract`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// HTML, XHTML, JSON or plain text.
    Page(PageContent),
    /// A sitemap or a feed, with the directives of the header.
    Listing(Listing, Consent),
    /// Any other type: only its header is read, with its links.
    Opaque(Consent, Vec<FoundLink>),
}

impl Extracted {
    /// The directives of header and markup.
    pub fn consent(&self) -> &Consent {
        match self {
            Extracted::Page(page) => &page.consent,
            Extracted::Listing(_, consent) | Extracted::Opaque(consent, _) => consent,
        }
    }

    /// The cost of reading the body: [`PageContent::work`], [`Listing::work`].
    pub fn work(&self) -> u64 {
        match self {
            Extracted::Page(page) => page.work,
            Extracted::Listing(listing, _) => listing.work,
            Extracted::Opaque(..) => 0,
        }
    }
}

/// The contents of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// Links, in order of first appearance, each URL once. Links to the page itself (such as
    /// `#fragment` links) are not included.
    pub links: Vec<FoundLink>,
    /// Feeds that the page declares, each URL once, at most [`MAX_FEEDS`].
    pub feeds: Vec<CanonicalUrl>,
    /// The visible text: white space collapsed, blocks on lines of their own. Scripts, styles,
    /// hidden parts and the page's frame (navigation, the page's own header, footer and asides) are
    /// left out; `src/text.rs` begins with the exact list. A page that is almost only frame keeps
    /// it.
    pub text: String,
    /// Were the selectors not applied, since the page would need too many steps? Its text is then empty.
    pub is_given_up: bool,
    /// The document's title, white space collapsed.
    pub title: Option<String>,
    /// The tag of the `lang` attribute of the document, if anchors are read.
    pub language: Option<String>,
    /// The page's directives and canonical URL. Its links are listed even if it forbids following
    /// them; the caller decides. The canonical URL is not among the links.
    pub consent: Consent,
    /// Base of relative links: the page's own URL, or its `<base href>`.
    pub base: Url,
    /// References that cannot be crawled: other schemes (`mailto:`, `javascript:`), invalid URLs,
    /// URLs that are too long.
    pub links_refused: u32,
    /// References not read because [`ExtractLimits::max_links`] was reached, or the limit of joined bytes
    /// on a page with a long base.
    pub links_over_limit: u32,
    /// Cost of reading, in steps of about ten nanoseconds: half the bytes, or the bytes plus the
    /// HTML parser's steps if the page needs a tree.
    pub work: u64,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink {
    /// The target.
    pub url: CanonicalUrl,
    /// Whether every reference to this URL on the page is marked `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Its text, of the first reference that has one, at most [`MAX_ANCHOR_BYTES`]; empty unless anchors are read. What
    /// the page says: escape it where it is shown.
    pub anchor: String,
    /// Whether every reference to this URL stands in the page's frame, such as a menu.
    pub framed: bool,
}

/// Extracts links, text and consent from a response. `url` is the URL of the body, after redirects.
pub fn extract(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
) -> Extracted {
    extract_part(body, fields, url, rules, options, None)
}

/// The same, with the text of a part of the page. Selectors concern HTML; patterns also plain text, JSON and the items
/// of feeds.
pub fn extract_part(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
    part: Option<&CountedPart>,
) -> Extracted {
    let media = MediaType::detect(fields, body, &options.types);
    if let Some(listing) = listings::read(body, fields, &media, url, rules, &options.limits) {
        return of_listing(listing, fields, url, rules, options, part);
    }
    let directives = PageDirectives::of_header(fields, url, rules, options);
    match media.kind {
        BodyKind::Opaque => opaque(fields, directives.decide(), url, rules, &options.limits),
        BodyKind::Plain => {
            let decoded = charset::decode(body, media.charset.as_deref(), media.syntax(), &url.host());
            let Decoded { text: decoded, encoding } = decoded;
            // JSON that cannot be read is compared as text.
            let json = media.is_json.then(|| json::text(&decoded, options.limits.max_text)).flatten();
            let text = json.unwrap_or_else(|| text::of_lines(&decoded, options.limits.max_text));
            let found = WalkResult { text, ..WalkResult::default() };
            let resolver = ReferenceResolver::of_page(url, None, rules, encoding);
            let page = read(found, &resolver, fields, directives.decide(), url, &options.limits);
            Extracted::Page(PageContent {
                text: stripped(page.text, part),
                work: decoded.len() as u64,
                ..page
            })
        }
        BodyKind::Html | BodyKind::Xhtml => {
            let Decoded { text, encoding } = html::decode(body, &media, url);
            let reader = HtmlReader::new(url, rules, fields, options, part, encoding);
            // Selectors need the tree and all attributes.
            if let Some(part) = part.filter(|part| part.selects()) {
                let (mut html, work) = html::parse(&text, Attributes::All);
                let selected = part.select(&html, text.len());
                shadow::flatten(&mut html);
                return Extracted::Page(reader.of_tree(&html, work, Some(&selected)));
            }
            Extracted::Page(match stream::read(&text, options.limits.max_text, options.anchors) {
                Ok(found) => reader.page(found, text.len() as u64 / 2),
                // A stream cannot follow this page: the tree's builder can, at more cost.
                Err(_) => {
                    let (mut html, work) = html::parse(&text, Attributes::Read);
                    shadow::flatten(&mut html);
                    reader.of_tree(&html, work, None)
                }
            })
        }
    }
}

fn of_listing(
    listing: Listing,
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
    part: Option<&CountedPart>,
) -> Extracted {
    let listing = Listing { text: stripped(listing.text, part), ..listing };
    Extracted::Listing(listing, PageDirectives::of_header(fields, url, rules, options).decide())
}

/// Reads pages of HTML.
struct HtmlReader<'a> {
    url: &'a CanonicalUrl,
    rules: &'a UrlRules,
    fields: &'a BodyFields<'a>,
    options: &'a ExtractOptions,
    part: Option<&'a CountedPart>,
    encoding: &'static Encoding,
}

impl<'a> HtmlReader<'a> {
    /// A rendered document is in UTF-8, but its queries are encoded as in the page that was sent.
    fn new(
        url: &'a CanonicalUrl,
        rules: &'a UrlRules,
        fields: &'a BodyFields<'a>,
        options: &'a ExtractOptions,
        part: Option<&'a CountedPart>,
        encoding: &'static Encoding,
    ) -> HtmlReader<'a> {
        let encoding = fields.queries.unwrap_or(encoding);
        HtmlReader { url, rules, fields, options, part, encoding }
    }

    /// The page of a tree with all attributes, of which a part may be selected.
    fn of_tree(&self, html: &Html, work: u64, selected: Option<&Selected>) -> PageContent {
        let ExtractOptions { limits, anchors, .. } = self.options;
        let found = WalkResult::of_part(html, selected, limits.max_text, *anchors);
        let (steps, is_given_up) = selected.map_or((0, false), |part| (part.steps, part.is_given_up));
        PageContent { is_given_up, ..self.page(found, work + steps) }
    }

    fn page(&self, found: WalkResult<'_>, work: u64) -> PageContent {
        let HtmlReader { url, rules, fields, options, part, encoding } = *self;
        let mut directives = PageDirectives::of_header(fields, url, rules, options);
        let resolver = ReferenceResolver::of_page(url, found.base.as_deref(), rules, encoding);
        found.metas.iter().for_each(|(name, content)| directives.directives.meta(name, content));
        // Claims are limited as links are: each URL to resolve takes time.
        let claims = found.canonicals.iter().take_while(|_| !resolver.is_spent());
        let claims = claims.filter_map(|href| resolver.resolve(href).ok());
        claims.for_each(|target| directives.canonical.add(target));
        let work = work + found.work;
        let page = read(found, &resolver, fields, directives.decide(), url, &options.limits);
        PageContent { work, text: stripped(page.text, part), ..page }
    }
}

/// A text without what a rule's patterns match.
fn stripped(text: String, part: Option<&CountedPart>) -> String {
    match part {
        Some(part) => part.strip(text),
        None => text,
    }
}

/// Collects a page's directives and canonical claims.
struct PageDirectives<'a> {
    directives: Directives<'a>,
    canonical: Claims<'a>,
}

impl<'a> PageDirectives<'a> {
    fn of_header(
        fields: &BodyFields<'_>,
        url: &'a CanonicalUrl,
        rules: &UrlRules,
        options: &'a ExtractOptions,
    ) -> Self {
        let mut directives =
            PageDirectives { directives: Directives::new(&options.agent), canonical: Claims::new(url) };
        fields.robots_tags.iter().for_each(|value| directives.directives.header(value));
        fields.links.iter().for_each(|value| directives.canonical.header(value, rules));
        directives
    }

    fn decide(self) -> Consent {
        Consent { canonical: self.canonical.decide(), ..self.directives.decide() }
    }
}

/// The consent of a response without a body (304), from its header.
pub fn consent_of_header(
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
) -> Consent {
    PageDirectives::of_header(fields, url, rules, options).decide()
}

/// The references of the fields `Refresh` and `Link`.
fn references_of_header(fields: &BodyFields<'_>, url: &CanonicalUrl) -> Vec<PageReference<'static>> {
    let refresh = fields.refresh.as_deref().and_then(refresh::target);
    let mut references: Vec<_> =
        refresh.map(|target| PageReference::plain(target.to_owned().into())).into_iter().collect();
    for value in &fields.links {
        canonical::links_of_page(value, url, &UrlRules::keep_all(), |link| {
            references.extend(scope::field_reference(link))
        });
    }
    references
}

/// A response whose body is not read.
fn opaque(
    fields: &BodyFields<'_>,
    consent: Consent,
    url: &CanonicalUrl,
    rules: &UrlRules,
    limits: &ExtractLimits,
) -> Extracted {
    let resolver = ReferenceResolver::new(url, None, rules);
    let found = read(WalkResult::default(), &resolver, fields, consent, url, limits);
    Extracted::Opaque(found.consent, found.links)
}

/// Builds the page from the results of the walk.
fn read(
    found: WalkResult<'_>,
    resolver: &ReferenceResolver<'_>,
    fields: &BodyFields<'_>,
    consent: Consent,
    url: &CanonicalUrl,
    limits: &ExtractLimits,
) -> PageContent {
    let mut page = PageContent {
        links: Vec::new(),
        feeds: Vec::new(),
        text: found.text,
        is_given_up: false,
        title: found.title,
        language: found.language,
        consent,
        base: resolver.base().clone(),
        links_refused: 0,
        links_over_limit: 0,
        work: 0,
    };
    let mut places: HashMap<CanonicalUrl, usize> = HashMap::with_capacity(found.references.len().min(256));
    let mut embedded: Vec<ReferenceResolver<'_>> = Vec::new();
    for document in &found.embedded {
        let outer = document.outer.map_or(resolver, |outer| &embedded[outer]);
        embedded.push(outer.embedded(document.base.as_deref()));
    }
    // Fields come before the page, so that no base holds for them.
    let of_header = references_of_header(fields, url);
    let without_base = (!of_header.is_empty()).then(|| resolver.without_base(url));
    let of_header = of_header.iter().zip(without_base.iter().cycle());
    let references = of_header.map(|(reference, resolver)| (reference, resolver, Context::default()));
    let mut contexts = found.contexts.into_iter();
    let references = references.chain(found.references.iter().map(|reference| {
        let resolver = reference.within.map_or(resolver, |document| &embedded[document]);
        (reference, resolver, contexts.next().unwrap_or_default())
    }));
    for (reference, resolver, Context { anchor, is_framed }) in references {
        // Feeds have a limit of their own.
        let is_full = page.links.len() == limits.max_links && !reference.is_feed;
        if is_full || resolver.is_spent() {
            page.links_over_limit = page.links_over_limit.saturating_add(1);
            continue;
        }
        let Ok(target) = resolver.resolve(&reference.href) else {
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
            Entry::Occupied(place) => {
                let link = &mut page.links[*place.get()];
                // One reference that is followed is enough.
                link.nofollow &= reference.nofollow;
                link.framed &= is_framed;
                if link.anchor.is_empty() {
                    link.anchor = anchor;
                }
            }
            Entry::Vacant(place) => {
                let (url, nofollow) = (place.key().clone(), reference.nofollow);
                page.links.push(FoundLink { url, nofollow, anchor, framed: is_framed });
                place.insert(page.links.len() - 1);
            }
        }
    }
    page
}

#[cfg(test)]
mod tests;
