//! Directives and canonical claims of pages, by header and by markup.

use super::*;
use recrawl_types::Canonical;

const PAGE: &str = "https://example.com/dir/page";

fn read(html: &str, robots_tags: &[&str], links: &[&str], content_type: &str) -> Extracted {
    let fields = BodyFields {
        content_type: Some(content_type),
        robots_tags: robots_tags.iter().map(|value| Cow::Borrowed(*value)).collect(),
        links: links.iter().map(|value| Cow::Borrowed(*value)).collect(),
        ..BodyFields::default()
    };
    let options = ExtractOptions { agent: "recrawl".into(), ..ExtractOptions::default() };
    extract(html.as_bytes(), &fields, &at(PAGE), &UrlRules::default(), &options)
}

fn consent(html: &str, robots_tags: &[&str], links: &[&str]) -> Consent {
    read(html, robots_tags, links, "text/html").consent().clone()
}

#[test]
fn markup_and_header_are_one() {
    for (html, headers, noindex, nofollow, noarchive) in [
        (r#"<meta name="robots" content="noindex, nofollow">"#, &[][..], true, true, false),
        (r#"<META NAME="Robots" CONTENT="NONE">"#, &[], true, true, false),
        ("<meta name=robots content=noindex><meta name=recrawl content=nofollow>", &[], true, true, false),
        ("<meta name=robots content=noindex>", &["noarchive"], true, false, true),
        ("<meta name=robots content=noindex>", &["recrawl: all"], false, false, false),
        ("<p>text<div><meta name=robots content=noindex>", &[], true, false, false),
        ("<meta property=robots content=noindex><meta name=robots>", &[], false, false, false),
        ("<template><meta name=robots content=noindex></template>", &[], false, false, false),
        ("<!-- <meta name=robots content=noindex> -->", &["otherbot: noindex"], false, false, false),
        ("<noscript><meta name=robots content=noindex></noscript>", &[], true, false, false),
    ] {
        let found = consent(html, headers, &[]);
        assert_eq!(
            (found.noindex, found.nofollow, found.noarchive),
            (noindex, nofollow, noarchive),
            "{html} {headers:?}"
        );
    }
}

#[test]
fn what_is_not_parsed_has_its_header() {
    for kind in ["application/pdf", "text/plain"] {
        let found = read("%words", &["noindex"], &["</x>; rel=canonical"], kind);
        assert!(found.consent().noindex, "{kind}");
        assert_eq!(found.consent().canonical, Canonical::Other(at("https://example.com/x")), "{kind}");
    }
}

#[test]
fn rfc_6596_which_canonical_claims_count() {
    let other = |url: &str| Canonical::Other(at(url));
    for (html, headers, expected) in [
        ("<link rel=canonical href=/x>", &[][..], other("https://example.com/x")),
        (
            "<head><link REL='x CANONICAL' href='../up?a=1&amp;b=2#part'>",
            &[],
            other("https://example.com/up?a=1&b=2"),
        ),
        ("<base href=https://b.example/c/><link rel=canonical href=d>", &[], other("https://b.example/c/d")),
        ("<link rel=canonical href=page>", &[], Canonical::Itself),
        ("<link rel=canonical href=https://example.com:443/dir/./page#top>", &[], Canonical::Itself),
        // Two equal claims are one; different ones cancel, wherever they are.
        (
            "<link rel=canonical href=/x><link rel=canonical href=//example.com/x>",
            &["</x>; rel=canonical"],
            other("https://example.com/x"),
        ),
        ("<link rel=canonical href=/x><link rel=canonical href=/y>", &[], Canonical::Contradictory),
        ("<link rel=canonical href=/x>", &["</y>; rel=canonical"], Canonical::Contradictory),
        ("<link rel=canonical href=/x>", &["<page>; rel=canonical"], Canonical::Contradictory),
        // In a body it may come from a user of the site.
        ("<p><link rel=canonical href=/x>", &[], Canonical::Unclaimed),
        ("<head></head><link rel=canonical href=/x><body>", &[], other("https://example.com/x")),
        ("<body><svg><head><link rel=canonical href=/x></head></svg>", &[], Canonical::Unclaimed),
        ("<a rel=canonical href=/x>a</a>", &[], Canonical::Unclaimed),
        // A URL that cannot be crawled is no claim.
        (
            "<link rel=canonical href=''><link rel=canonical href=mailto:a@b.c><link rel=canonical>",
            &[],
            Canonical::Unclaimed,
        ),
    ] {
        assert_eq!(consent(html, &[], headers).canonical, expected, "{html} {headers:?}");
    }
    let Extracted::Page(page) = read("<link rel=canonical href=/x><a href=/y>", &[], &[], "text/html") else {
        panic!("HTML is a page")
    };
    assert_eq!(page.links.len(), 1, "the claim is no link: the caller decides");
}

#[test]
fn a_page_of_claims_is_read_in_linear_time() {
    let many = |n: u32| -> String {
        (0..n).map(|i| format!("<link rel=canonical href=/{i}><meta name=robots content='x{i}'>")).collect()
    };
    assert_eq!(consent(&many(100_000), &[], &[]).canonical, Canonical::Contradictory);
    let field = "</x>; rel=canonical; a=\"".to_owned() + &"<,;=\\\"".repeat(50_000);
    let found =
        consent("", &[&"unavailable_after: 2020 ".repeat(20_000), &"a:b:c,".repeat(50_000)], &[&field]);
    assert_eq!(found.canonical, Canonical::Other(at("https://example.com/x")));
}
