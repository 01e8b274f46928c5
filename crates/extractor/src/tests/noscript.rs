//! Contents of `noscript`: links without scripts, which change nothing of the page around them.

use super::*;
use recrawl_types::Canonical;

/// Beginnings of markup that only an end tag, a comment's end or a quote would end.
const OPEN: [&str; 22] = [
    "<iframe src=/x.html />",
    "<iframe src=/x.html>",
    "<textarea>",
    "<title>",
    "<style>",
    "<style media=x />",
    "<script>",
    "<script src=/x.js />",
    "<!-- x",
    "<xmp>",
    "<noembed>",
    "<noframes>",
    "<template>",
    "<plaintext>",
    "<img alt='>",
    "<select><option>x",
    "<div hidden>",
    "<table><tr>",
    "<svg>",
    "<nav>",
    "<frameset>",
    "<p>Enable scripts</body></html>",
];

/// The canonical URL of a page.
fn canonical(html: &str) -> Option<String> {
    match page(html).consent.canonical {
        Canonical::Other(url) => Some(url.as_text()),
        _ => None,
    }
}

#[test]
fn what_is_open_in_it_ends_with_it() {
    for open in OPEN {
        let content = format!("<noscript>{open}</noscript>");
        let rest = "<h1>Headline</h1><p>Text <a href=/a>one</a></p><ul><li><a href=/b>two</a></ul>";
        for html in [
            format!("<!doctype html><head><title>t</title></head><body>{content}{rest}"),
            format!("<!doctype html><head>{content}<title>t</title></head><body>{rest}"),
            format!("<iframe srcdoc=\"{content}<title>t</title>{rest}\"></iframe><title>t</title>"),
        ] {
            let found = page(&html);
            assert_eq!(found.text, "Headline\nText one\ntwo", "{html}");
            assert_eq!(found.title.as_deref(), Some("t"), "{html}");
            let links: Vec<String> = found.links.iter().map(|link| link.url.as_text()).collect();
            assert!(
                links.ends_with(&["https://example.com/a".into(), "https://example.com/b".into()]),
                "{links:?}"
            );
            assert_eq!(links.len() > 2, open.starts_with("<iframe"), "{links:?}");
        }
    }
}

#[test]
fn in_the_head_it_does_not_end_the_head() {
    for open in OPEN.iter().chain(&["<img src=/i.png>", "<div>x</div>", "text"]) {
        let html =
            format!("<head><noscript>{open}</noscript><link rel=canonical href=/canonical></head><p>x");
        assert_eq!(canonical(&html).as_deref(), Some("https://example.com/canonical"), "{html}");
        let html = format!("<head><noscript>{open}</noscript></head><frameset><frame src=/frame></frameset>");
        assert!(links(&html).ends_with(&["https://example.com/frame".into()]), "{html}");
    }
}

#[test]
fn its_links_and_directives_count_but_not_what_a_document_says_of_itself() {
    let html = "<head><noscript><base href=/n/><title>n</title><link rel=next href=n><meta http-equiv=refresh \
        content='0; url=/r'><meta name=robots content=noindex></noscript><base href=/b/><title>t</title></head>\
        <noscript><link rel=canonical href=/n>shown without scripts<a href=a>a</a>\
        <iframe srcdoc='<base href=/d/><a href=d>d</a><title>n</title>'></iframe></noscript><p>text";
    let found = page(html);
    let links: Vec<String> = found.links.iter().map(|link| link.url.as_text()).collect();
    assert_eq!(links, ["/b/n", "/r", "/b/a", "/d/d"].map(|path| format!("https://example.com{path}")));
    assert_eq!((&*found.text, found.title.as_deref()), ("text", Some("t")));
    assert_eq!((found.consent.canonical, found.consent.noindex), (Canonical::Unclaimed, true));
}

#[test]
fn many_of_them_are_read_within_a_limit() {
    let hostile = "<div>".repeat(150) + &"<b><p></b>".repeat(50);
    for content in ["<a href=/n>", &hostile] {
        let count = (2 << 20) / (content.len() + 21);
        let html = format!("<noscript>{content}</noscript>").repeat(count) + "<p>text<a href=/end>";
        let (tree, work) = crate::html::parse(&html, crate::html::Attributes::Read);
        assert!(work < 60_000_000, "{work} for {} bytes", html.len());
        drop(tree);
        assert!(links(&html).ends_with(&["https://example.com/end".into()]));
        assert_eq!(page(&html).text, "text");
    }
}
