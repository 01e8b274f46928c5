//! Decides which references of a page count as links.
//!
//! Links are the pages that a visitor could reach without running scripts:
//! - `a` and `area` with `href` (also `a` in SVG, with `xlink:href`);
//! - `iframe` and `frame`, whose content is a page of its own, unless it stands in `srcdoc` (module `walk`), and `object`
//!   and `embed` whose type or URL says that theirs is one;
//! - `link` with `rel` `next`, `prev`, `prev-archive` (RFC 5005) or `sitemap`, and `alternate` with a language (`hreflang`) or
//!   for other screens (`media`). Alternate styles are no pages, feeds (`type` of RSS or Atom) are kept apart, and `canonical` is a claim
//!   (module `canonical`);
//! - the same as `Link` fields of the header;
//! - the target of `<meta http-equiv=refresh>` (module `refresh`).
//!
//! Images, scripts, styles, media and forms do not count. Links in hidden parts and in the page's
//! frame do: most pages are found through menus. Links in `noscript` count too, but not those in
//! `template`, which only scripts show. Elements of SVG and
//! MathML that are named so mean nothing, but for `a` in SVG.

use crate::canonical::HeaderLink;
use crate::element::{Element, ElementSpace, part};
use crate::names::{Attr, Name};
use crate::refresh;
use std::borrow::Cow;

/// A reference as written in the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageReference<'d> {
    /// Not yet resolved; entities are decoded.
    pub(crate) href: Cow<'d, str>,
    /// Marked `nofollow`, `ugc` or `sponsored`.
    pub(crate) nofollow: bool,
    /// Whether it is a feed of the page (RSS and Atom autodiscovery).
    pub(crate) is_feed: bool,
    /// The number of the embedded document that it stands in.
    pub(crate) within: Option<usize>,
}

impl<'d> PageReference<'d> {
    /// Of the page itself, without marks.
    pub(crate) fn plain(href: Cow<'d, str>) -> PageReference<'d> {
        PageReference { href, nofollow: false, is_feed: false, within: None }
    }
}

/// The reference of an element, if it counts.
pub(crate) fn reference<'d>(element: &Element<'d>) -> Option<PageReference<'d>> {
    let may_refer = match element.space {
        ElementSpace::Html => true,
        ElementSpace::Svg => element.name == Name::A,
        // MathML Core has no links, and browsers follow none.
        ElementSpace::MathMl => false,
    };
    if !may_refer {
        return None;
    }
    match element.name {
        Name::A | Name::Area => {
            let xlink = || element.get(Attr::XlinkHref).filter(|_| element.space != ElementSpace::Html);
            let href = element.get(Attr::Href).or_else(xlink)?.clone();
            let nofollow = element
                .get(Attr::Rel)
                .is_some_and(|rel| tokens(rel).any(|t| is_one_of(t, &["nofollow", "ugc", "sponsored"])));
            Some(PageReference { nofollow, ..PageReference::plain(href) })
        }
        // Its content is in the page itself, and read with it.
        Name::Iframe if element.get(Attr::Srcdoc).is_some() => None,
        Name::Iframe | Name::Frame => element.get(Attr::Src).cloned().map(PageReference::plain),
        Name::Object => page_in(element, Attr::Data),
        Name::Embed => page_in(element, Attr::Src),
        Name::Link => {
            let media_type = element.get(Attr::Type).map_or("", |value| &**value);
            let is_version =
                [Attr::Hreflang, Attr::Media].into_iter().any(|name| element.get(name).is_some());
            let is_feed = related(element.get(Attr::Rel)?, is_version, media_type)?;
            Some(PageReference { is_feed, ..PageReference::plain(element.get(Attr::Href)?.clone()) })
        }
        Name::Meta => {
            let kind = element.get(Attr::HttpEquiv)?;
            if !kind.trim().eq_ignore_ascii_case("refresh") {
                return None;
            }
            part(element.get(Attr::Content)?, refresh::target).map(PageReference::plain)
        }
        _ => None,
    }
}

/// The reference of an element that shows a page, if this one does.
fn page_in<'d>(element: &Element<'d>, attribute: Attr) -> Option<PageReference<'d>> {
    let href = element.get(attribute)?;
    let is_page = match element.get(Attr::Type) {
        Some(media_type) => is_one_of(essence(media_type), &["text/html", "application/xhtml+xml"]),
        None => {
            let path = href.split(['?', '#']).next().unwrap_or_default();
            let ending = path.trim_end().rsplit_once('.').map_or("", |(_, ending)| ending);
            is_one_of(ending, &["htm", "html", "xhtml"])
        }
    };
    is_page.then(|| PageReference::plain(href.clone()))
}

/// The reference of a `Link` field, if it counts.
pub(crate) fn field_reference(link: &HeaderLink<'_>) -> Option<PageReference<'static>> {
    let is_feed = related(link.rel, link.has_language, link.media_type)?;
    Some(PageReference { is_feed, ..PageReference::plain(link.target.to_owned().into()) })
}

/// Do these relation types name a page that counts? Whether it is a feed.
pub(crate) fn related(rel: &str, is_version: bool, media_type: &str) -> Option<bool> {
    let is = |word: &str| tokens(rel).any(|token| token.eq_ignore_ascii_case(word));
    let is_feed = is("alternate") && is_feed_type(media_type);
    let counts = is_feed
        || ["next", "prev", "previous", "prev-archive", "sitemap"].iter().any(|word| is(word))
        || is("alternate") && is_version;
    (counts && !is("stylesheet")).then_some(is_feed)
}

/// The target of a `<link rel=canonical>`.
pub(crate) fn canonical<'d>(link: &Element<'d>) -> Option<Cow<'d, str>> {
    let rel = link.get(Attr::Rel)?;
    if !tokens(rel).any(|t| t.eq_ignore_ascii_case("canonical")) {
        return None;
    }
    // An empty one would name the page itself, whatever its URL.
    link.get(Attr::Href).filter(|href| !href.trim().is_empty()).cloned()
}

/// The types of RSS, Atom, RDF and JSON Feed, in all the spellings that sites have for them; XML in general as well.
fn is_feed_type(media_type: &str) -> bool {
    let essence = essence(media_type);
    let names = essence.split_once('/').map_or("", |(_, names)| names);
    is_one_of(essence, &["application/feed+json", "application/xml", "text/xml"])
        || names.split(['+', '-']).any(|name| is_one_of(name, &["rss", "atom", "rdf"]))
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The words of a list. The standard parts them by white space, many authors by commas too.
fn tokens(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|token| !token.is_empty())
}

fn is_one_of(token: &str, words: &[&str]) -> bool {
    words.iter().any(|w| token.eq_ignore_ascii_case(w))
}
