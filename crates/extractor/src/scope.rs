//! Decides which references of a page count as links.
//!
//! Links are the pages that a visitor could reach without running scripts:
//! - `a` and `area` with `href` (also `a` in SVG);
//! - `iframe` and `frame`, whose content is a page of its own;
//! - `link` with `rel` `next` or `prev`, and `alternate` with a language (`hreflang`). Alternate
//!   styles are no pages, feeds (`type` of RSS or Atom) are kept apart, and `canonical` is a claim
//!   (module `canonical`);
//! - the target of `<meta http-equiv=refresh>`.
//!
//! Images, scripts, styles, media and forms do not count. Links in hidden parts and in the page's
//! frame do: most pages are found through menus. Links in `noscript` count too, but not those in
//! `template`, which only scripts show.

use crate::element::{Element, part};
use crate::names::{Attr, Name};
use std::borrow::Cow;

/// A reference as written in the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'d> {
    /// Not yet resolved; entities are decoded.
    pub(crate) href: Cow<'d, str>,
    /// Marked `nofollow`, `ugc` or `sponsored`.
    pub(crate) nofollow: bool,
    /// Whether it is a feed of the page (RSS and Atom autodiscovery).
    pub(crate) is_feed: bool,
}

/// The reference of an element, if it counts.
pub(crate) fn reference<'d>(element: &Element<'d>) -> Option<Reference<'d>> {
    let plain = |href: Cow<'d, str>| Reference { href, nofollow: false, is_feed: false };
    match element.name {
        Name::A | Name::Area => {
            // In SVG the parser maps `xlink:href` to an `href` of another namespace.
            let href = element.get(Attr::Href)?.clone();
            let nofollow = element
                .get(Attr::Rel)
                .is_some_and(|rel| tokens(rel).any(|t| is_one_of(t, &["nofollow", "ugc", "sponsored"])));
            Some(Reference { nofollow, ..plain(href) })
        }
        Name::Iframe | Name::Frame => element.get(Attr::Src).cloned().map(plain),
        Name::Link => {
            let rel = element.get(Attr::Rel)?;
            let counts = |t: &str| {
                is_one_of(t, &["next", "prev"])
                    || t.eq_ignore_ascii_case("alternate") && element.get(Attr::Hreflang).is_some()
            };
            let is_feed = tokens(rel).any(|t| t.eq_ignore_ascii_case("alternate"))
                && element.get(Attr::Type).is_some_and(|value| is_feed_type(value));
            if !(is_feed || tokens(rel).any(counts))
                || tokens(rel).any(|t| t.eq_ignore_ascii_case("stylesheet"))
            {
                return None;
            }
            Some(Reference { is_feed, ..plain(element.get(Attr::Href)?.clone()) })
        }
        Name::Meta => {
            let kind = element.get(Attr::HttpEquiv)?;
            if !kind.trim().eq_ignore_ascii_case("refresh") {
                return None;
            }
            part(element.get(Attr::Content)?, refresh_target).map(plain)
        }
        _ => None,
    }
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

/// `5; url='next.html'` → `next.html` (WHATWG HTML, shared declarative refresh steps). `None` if it
/// only reloads the page.
fn refresh_target(content: &str) -> Option<&str> {
    let rest = content.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start().trim_start_matches([';', ',']).trim_start();
    let rest = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            rest[3..].trim_start().strip_prefix('=').map_or(rest, str::trim_start)
        }
        _ => rest,
    };
    let target = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next().unwrap_or(""),
        _ => rest,
    };
    (!target.trim().is_empty()).then_some(target)
}

fn is_feed_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    is_one_of(essence, &["application/rss+xml", "application/atom+xml"])
}

fn tokens(list: &str) -> impl Iterator<Item = &str> {
    list.split_ascii_whitespace()
}

fn is_one_of(token: &str, words: &[&str]) -> bool {
    words.iter().any(|w| token.eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_targets_in_their_spellings() {
        for (content, target) in [
            ("5; url=next.html", Some("next.html")),
            ("0;URL='a b'x", Some("a b")),
            ("0, \"q\"", Some("q")),
            ("0;next", Some("next")),
            (" 1.5 ; url = /x", Some("/x")),
            ("30", None),
            ("0;url=", None),
            ("", None),
            ("0;url=ü", Some("ü")),
            ("ü", Some("ü")),
        ] {
            assert_eq!(refresh_target(content), target, "{content:?}");
        }
    }
}
