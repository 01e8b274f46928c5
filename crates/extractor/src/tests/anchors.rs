//! Anchors, frames and languages.

use super::*;
use crate::{MAX_ANCHOR_BYTES, MAX_ANCHORS_BYTES};

fn read(html: &str, anchors: bool) -> PageContent {
    let options = ExtractOptions { agent: "recrawl".into(), anchors, ..ExtractOptions::default() };
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    let url = at("https://example.com/a/b.html");
    match extract(html.as_bytes(), &fields, &url, &UrlRules::default(), &options) {
        Extracted::Page(page) => page,
        other => panic!("HTML is a page, and not {other:?}"),
    }
}

fn anchors(html: &str) -> Vec<(String, bool)> {
    read(html, true).links.into_iter().map(|link| (link.anchor, link.framed)).collect()
}

#[test]
fn an_anchor_is_the_visible_text_else_a_label_else_the_text_of_an_image() {
    let html = r#"<html lang=" pt-BR "><nav><a href=1>Menu</a><a href=9>x</a></nav>
        <a href=2> two <b>words</b>	<span hidden>no</span><br>more</a>
        <a href=3 aria-label="Label"><img alt="image" src=i></a>
        <a href=4><img alt=" the  image "><img alt=second></a>
        <a href=5></a><a href=5>later</a><a href=5>last</a>
        <a href=1>again</a><a href=6>six <a href=7>seven</a> outside
        <map><area href=8 alt="the area"></map><iframe src=10>old</iframe>
        <div role=navigation><a href=9>nine</a><div><a href=11>eleven</a></div></div>"#;
    let expected = [
        ("Menu", false),
        ("x", true),
        ("two words more", false),
        ("Label", false),
        ("the image", false),
        ("later", false),
        ("six", false),
        ("seven", false),
        ("the area", false),
        ("", false),
        ("eleven", true),
    ];
    let found = anchors(html);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((anchor, framed), (wanted, is_framed)) in found.iter().zip(expected) {
        let one_line = anchor.replace('\n', " ");
        assert_eq!((one_line.as_str(), *framed), (wanted, is_framed));
    }
    assert_eq!(read(html, true).language.as_deref(), Some("pt-BR"));
}

#[test]
fn anchors_are_bounded_for_a_link_and_for_a_page() {
    let one = format!("<a href=x>{}</a><a href=y>y</a>", "ü ".repeat(500_000));
    let found = anchors(&one);
    assert!(found[0].0.len() <= MAX_ANCHOR_BYTES && found[0].0.len() > MAX_ANCHOR_BYTES - 4);
    assert_eq!(found[1].0, "y");
    let many: String = (0..10_000).map(|n| format!("<a href=/{n}>{}</a>", "long ".repeat(40))).collect();
    let found = anchors(&many);
    assert_eq!(found.len(), 10_000);
    let bytes: usize = found.iter().map(|(anchor, _)| anchor.len()).sum();
    assert!(bytes <= MAX_ANCHORS_BYTES && bytes > MAX_ANCHORS_BYTES - MAX_ANCHOR_BYTES, "{bytes}");
    assert!(found[0].0.starts_with("long long") && found[9_999].0.is_empty());
    // Never closed, and nested where nesting is no error.
    let deep = format!("{}<svg>{}", "<a href=/x>t".repeat(2_000), "<a href=/y>u<g>".repeat(2_000));
    assert!(anchors(&deep).iter().all(|(anchor, _)| anchor.len() <= MAX_ANCHOR_BYTES));
}

proptest! {
    /// Reading anchors changes nothing else, whatever the page.
    #[test]
    fn with_and_without_anchors_the_rest_is_the_same(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "<a href=/1>", "</a>", "<a href=/2 aria-label=l>", "<nav>", "</nav>", "text ", "<img alt=i>", "<b lang=x>",
            "<table>", "<td>", "</table>", "<p hidden>", "</p>", "<svg>", "</svg>", "<header>", "</header>", "é",
        ]), 0..60)
    ) {
        let html = parts.concat();
        let (with, without) = (read(&html, true), read(&html, false));
        let links = |page: &PageContent| {
            page.links.iter().map(|link| (link.url.clone(), link.nofollow)).collect::<Vec<_>>()
        };
        prop_assert_eq!(links(&with), links(&without));
        prop_assert_eq!((&with.text, &with.title, &with.base), (&without.text, &without.title, &without.base));
        prop_assert!(without.links.iter().all(|link| link.anchor.is_empty() && !link.framed));
        prop_assert_eq!(without.language, None);
    }
}
