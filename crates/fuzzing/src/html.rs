//! Pages: media type, encoding, links and text. Input: a line with the Content-Type, and the body.

use crate::{Target, first_line};
use recrawl_extractor::{Extracted, Limits, MAX_FEEDS, MAX_TITLE_BYTES, Page, extract};
use recrawl_types::{CanonicalUrl, UrlRules};
use std::collections::BTreeSet;

/// Extraction from pages as a target.
pub const TARGET: Target = Target { name: "html", check, max_bytes: 4_096 };

/// Asserts that limits hold, that links are different and a smaller limit gives the first of them, and that the
/// text is clean: reading it once more changes nothing.
pub fn check(data: &[u8]) {
    let (content_type, body) = first_line(data);
    let content_type = std::str::from_utf8(content_type).ok().filter(|header| !header.is_empty());
    let rules = UrlRules::default();
    let url = rules.canonicalize("https://example.com/folder/page?q=1").expect("a sound address");
    let read = |limits: &Limits| match extract(body, content_type, &url, &rules, limits) {
        Extracted::Page(page) => Some(page),
        _ => None,
    };
    let small = Limits { max_links: 3, max_text: 40, ..Limits::default() };
    let (Some(page), Some(part)) = (read(&Limits::default()), read(&small)) else {
        assert_eq!(read(&Limits::default()), read(&small), "a limit decides what a body is");
        return;
    };
    is_sound(&page, &url, &Limits::default());
    is_sound(&part, &url, &small);
    let kept = page.links.iter().zip(&part.links).filter(|(a, b)| a.url == b.url).count();
    assert_eq!(kept, page.links.len().min(small.max_links), "a smaller limit gives other links");
    assert_eq!(
        (&page.title, page.noindex, page.nofollow, &page.base, &page.feeds),
        (&part.title, part.noindex, part.nofollow, &part.base, &part.feeds),
        "a limit on links and text decides something else"
    );
    let again =
        extract(page.text.as_bytes(), Some("text/plain; charset=utf-8"), &url, &rules, &Limits::default());
    if let (Extracted::Page(again), false) = (again, page.text.starts_with('\u{feff}')) {
        assert_eq!(again.text, page.text, "the text of a text is another");
    }
}

fn is_sound(page: &Page, url: &CanonicalUrl, limits: &Limits) {
    assert!(page.links.len() <= limits.max_links && page.text.len() <= limits.max_text);
    assert!(page.title.as_ref().is_none_or(|title| title.len() <= MAX_TITLE_BYTES && is_collapsed(title)));
    assert!(page.feeds.len() <= MAX_FEEDS);
    assert!(is_collapsed(&page.text), "{:?}", page.text);
    let different: BTreeSet<_> = page.links.iter().map(|link| &link.url).collect();
    assert_eq!(different.len(), page.links.len(), "a link twice");
    assert!(!different.contains(url), "a link to the page itself");
    assert!(page.links_over_limit == 0 || page.links.len() == limits.max_links);
}

/// One space between words, one newline between blocks, nothing at the ends.
fn is_collapsed(text: &str) -> bool {
    let is_gap = |c: char| c.is_whitespace();
    let doubled = text.chars().zip(text.chars().skip(1)).any(|(a, b)| is_gap(a) && is_gap(b));
    !doubled && text.trim() == text && text.chars().all(|c| matches!(c, ' ' | '\n') || !is_gap(c))
}
