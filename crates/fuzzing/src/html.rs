//! Pages: media type, encoding, consent, links and text. Input: a line with the Content-Type, lines with other
//! fields that are read, and the body.

use crate::{FuzzTarget, first_line};
use recrawl_extractor::{
    ArchivedRequisite, BodyFields, CountedPart, ExtractLimits, ExtractOptions, Extracted, MAX_ANCHOR_BYTES,
    MAX_ANCHORS_BYTES, MAX_FEEDS, MAX_MARKDOWN_BYTES, MAX_TITLE_BYTES, PageContent, PageExtent, Requisite,
    RequisiteKind, extract, extract_part, inert, inert_look, markdown, requisites,
};
use recrawl_types::{Canonical, CanonicalUrl, UrlRules};
use std::collections::BTreeSet;

/// Reads a body as the requisites that name others.
fn are_read(body: &[u8], fields: &BodyFields<'_>, url: &CanonicalUrl) {
    for kind in [RequisiteKind::Style, RequisiteKind::Module] {
        Requisite { url: url.clone(), kind }.named_in(body, fields, &ExtractOptions::default().types);
    }
}

/// Extraction from pages as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "html", check };

/// Asserts that limits hold, that links are different and a smaller limit gives the first of them, that a page
/// claims no other canonical address than another's, and that the text is clean: reading it once more changes
/// nothing.
pub fn check(data: &[u8]) {
    let (fields, body) = fields(data);
    let _ = recrawl_extractor::assert_both_ways(&String::from_utf8_lossy(body));
    let rules = UrlRules::default();
    let url = rules.canonicalize("https://example.com/folder/page?q=1").expect("a sound address");
    let types = ExtractOptions::default().types;
    inert(body, &fields, &url, &types).iter().for_each(|document| is_inert(document));
    let found = requisites(body, &fields, &url, &types);
    let distinct: BTreeSet<&CanonicalUrl> = found.iter().map(|requisite| &requisite.url).collect();
    assert_eq!(distinct.len(), found.len(), "a requisite is named twice");
    are_read(body, &fields, &url);
    // Whatever it asks for, it gets itself.
    let mut itself = |url: &CanonicalUrl, _: RequisiteKind| {
        Some(ArchivedRequisite { url: url.clone(), content_type: Some("text/css".into()), body: body.into() })
    };
    if let Some(looked) = inert_look(body, &fields, &url, &types, &mut itself) {
        let ends = looked.head.matches("</").count();
        assert_eq!(ends, looked.head.matches("</style>\n").count(), "a style sheet ends its element");
    }
    for extent in [PageExtent::Main, PageExtent::Whole] {
        let write = || markdown(body, &fields, &url, &rules, &ExtractOptions::default(), None, extent);
        let page = write();
        assert_eq!(page, write(), "the same body gives other Markdown");
        let bytes = page.map_or(0, |page| page.text.len());
        assert!(bytes < MAX_MARKDOWN_BYTES + 2 * body.len() + 100, "{bytes} bytes of Markdown");
    }
    let read = |body: &[u8], fields: &BodyFields<'_>, limits: &ExtractLimits| {
        let options = ExtractOptions {
            limits: limits.clone(),
            agent: "recrawl".into(),
            anchors: true,
            ..ExtractOptions::default()
        };
        extract(body, fields, &url, &rules, &options)
    };
    let all = ExtractLimits::default();
    let small = ExtractLimits { max_links: 3, max_text: 40, ..ExtractLimits::default() };
    let (page, part) = match (read(body, &fields, &all), read(body, &fields, &small)) {
        (Extracted::Page(page), Extracted::Page(part)) => (page, part),
        (all, small) => return assert_eq!(all, small, "a limit decides what a body is"),
    };
    is_sound(&page, &url, &all);
    is_sound(&part, &url, &small);
    let list = |text: &str| vec![text.to_owned()];
    let rule =
        CountedPart::new(&list("main, p ~ p, div b"), &list("b:nth-child(2), .ad"), &list("[0-9]+|^a.*$"));
    let options = ExtractOptions {
        limits: all.clone(),
        agent: "recrawl".into(),
        anchors: true,
        ..ExtractOptions::default()
    };
    let ruled = extract_part(body, &fields, &url, &rules, &options, Some(&rule.expect("a sound rule")));
    let Extracted::Page(ruled) = ruled else { panic!("a rule decides what a body is") };
    is_sound(&ruled, &url, &all);
    let kept = page.links.iter().zip(&part.links).filter(|(a, b)| a.url == b.url).count();
    assert_eq!(kept, page.links.len().min(small.max_links), "a smaller limit gives other links");
    assert_eq!(
        (&page.title, &page.consent, &page.base, &page.feeds),
        (&part.title, &part.consent, &part.base, &part.feeds),
        "a limit on links and text decides something else"
    );
    let plain = BodyFields {
        content_type: Some("text/plain; charset=utf-8"),
        nosniff: true,
        ..BodyFields::default()
    };
    let again = read(page.text.as_bytes(), &plain, &all);
    if let (Extracted::Page(again), false) = (again, page.text.starts_with('\u{feff}')) {
        assert_eq!(again.text, page.text, "the text of a text is another");
    }
}

/// Elements that act, load, or whose content is not read as that of others.
const ACTIVE: [&str; 24] = [
    "base",
    "body",
    "button",
    "embed",
    "form",
    "frame",
    "frameset",
    "html",
    "iframe",
    "input",
    "link",
    "math",
    "meta",
    "noscript",
    "object",
    "plaintext",
    "script",
    "select",
    "style",
    "svg",
    "template",
    "textarea",
    "title",
    "xmp",
];

/// Is each tag of a document one that does nothing? Texts and values have no angle brackets.
fn is_inert(document: &str) {
    for tag in document.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {tag}"));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(!ACTIVE.contains(&name.trim_start_matches('/')), "{tag}");
        while let Some((name, value)) = attributes.split_once("=\"") {
            let name = name.trim();
            assert!(!name.starts_with("on") && !["href", "src", "srcset", "style"].contains(&name), "{tag}");
            attributes = value.split_once('"').unwrap_or_else(|| panic!("a value without an end: {tag}")).1;
        }
    }
}

/// The fields that an input begins with, and the body behind them.
pub(crate) fn fields(data: &[u8]) -> (BodyFields<'_>, &[u8]) {
    let (content_type, mut body) = first_line(data);
    let content_type = std::str::from_utf8(content_type).ok().filter(|value| !value.is_empty());
    let mut fields = BodyFields { content_type, ..BodyFields::default() };
    loop {
        let (line, rest) = first_line(body);
        if let Some(value) = line.strip_prefix(b"X-Robots-Tag:") {
            fields.robots_tags.push(String::from_utf8_lossy(value));
        } else if let Some(value) = line.strip_prefix(b"Link:") {
            fields.links.push(String::from_utf8_lossy(value));
        } else if let Some(value) = line.strip_prefix(b"Refresh:") {
            fields.refresh = Some(value.iter().map(|byte| char::from(*byte)).collect());
        } else if line == b"X-Content-Type-Options: nosniff" {
            fields.nosniff = true;
        } else {
            return (fields, body);
        }
        body = rest;
    }
}

fn is_sound(page: &PageContent, url: &CanonicalUrl, limits: &ExtractLimits) {
    assert!(page.links.len() <= limits.max_links && page.text.len() <= limits.max_text);
    assert!(page.title.as_ref().is_none_or(|title| title.len() <= MAX_TITLE_BYTES && is_collapsed(title)));
    assert!(page.feeds.len() <= MAX_FEEDS);
    assert!(is_collapsed(&page.text), "{:?}", page.text);
    let anchors = page.links.iter().map(|link| link.anchor.len());
    assert!(anchors.clone().all(|bytes| bytes <= MAX_ANCHOR_BYTES));
    assert!(anchors.sum::<usize>() <= MAX_ANCHORS_BYTES);
    let different: BTreeSet<_> = page.links.iter().map(|link| &link.url).collect();
    assert_eq!(different.len(), page.links.len(), "a link twice");
    assert!(!different.contains(url), "a link to the page itself");
    assert!(
        !matches!(&page.consent.canonical, Canonical::Other(other) if other == url),
        "itself, as another"
    );
    assert!(page.links_over_limit == 0 || page.links.len() == limits.max_links);
}

/// One space between words, one newline between blocks, nothing at the ends.
fn is_collapsed(text: &str) -> bool {
    let is_gap = |c: char| c.is_whitespace();
    let doubled = text.chars().zip(text.chars().skip(1)).any(|(a, b)| is_gap(a) && is_gap(b));
    !doubled && text.trim() == text && text.chars().all(|c| matches!(c, ' ' | '\n') || !is_gap(c))
}
