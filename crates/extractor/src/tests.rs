//! Tests of whole pages.

use super::*;
use proptest::prelude::*;

mod anchors;
mod consent;
mod documents;
mod noscript;
mod seen;
mod shadow;

fn at(url: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(url).unwrap()
}

fn page_at(html: &str, url: &str) -> PageContent {
    match answer(html.as_bytes(), Some("text/html; charset=utf-8"), url, &ExtractLimits::default()) {
        Extracted::Page(page) => page,
        other => panic!("HTML is a page, and not {other:?}"),
    }
}

fn answer(body: &[u8], content_type: Option<&str>, url: &str, limits: &ExtractLimits) -> Extracted {
    let options =
        ExtractOptions { limits: limits.clone(), agent: "recrawl".into(), ..ExtractOptions::default() };
    extract(
        body,
        &BodyFields { content_type, ..BodyFields::default() },
        &at(url),
        &UrlRules::default(),
        &options,
    )
}

fn page(html: &str) -> PageContent {
    page_at(html, "https://example.com/a/b.html")
}

fn links(html: &str) -> Vec<String> {
    page(html).links.iter().map(|l| l.url.as_text()).collect()
}

#[test]
fn links_of_all_kinds_in_order_of_first_appearance() {
    let html = r##"<!doctype html><head>
        <link rel="canonical" href="/canonical"><link rel="NEXT" href="?page=2"><link rel=prev href="p0">
        <link rel="alternate" hreflang=de href="/de"><link rel="alternate" type="application/rss+xml" href="/feed">
        <link rel="stylesheet" href="/s.css"><link rel="alternate stylesheet" hreflang=de href="/t.css">
        <link rel="icon" href="/i.png"><meta http-equiv="Refresh" content="5; url=/refresh">
        <script src="/x.js"></script></head>
        <body><a href="relative">1</a><a href="../up">2</a><a href="//other.example/p">3</a>
        <a href="/q?a=1&amp;b=2&copy=3&#x26;&eacute;">entities</a><a href='/q?a=1&b=2&amp;copy=3&&Eacute'>once more</a>
        <a name=anchor>no href</a><img src="/image.png"><map><area href="/area"></map>
        <iframe src="/frame"></iframe><form action="/form"></form><noscript><a href="/noscript">n</a></noscript>
        <template><a href="/template">t</a></template><svg><a xlink:href="/svg"><text>s</text></a></svg>
        <a href="relative#part">again</a><a href=" /spa
ced ">w</a><div hidden><a href=/hidden>h</a></div>"##;
    assert_eq!(
        links(html),
        [
            "https://example.com/a/b.html?page=2",
            "https://example.com/a/p0",
            "https://example.com/de",
            "https://example.com/refresh",
            "https://example.com/a/relative",
            "https://example.com/up",
            "https://other.example/p",
            "https://example.com/q?a=1&b=2&copy=3&%C3%A9",
            "https://example.com/q?a=1&b=2&copy=3&%C3%89",
            "https://example.com/area",
            "https://example.com/frame",
            "https://example.com/noscript",
            "https://example.com/svg",
            "https://example.com/spaced",
            "https://example.com/hidden",
        ]
    );
}

#[test]
fn feeds_are_named_by_alternate_links_of_their_types() {
    let html = r#"<link rel=alternate type="application/rss+xml" href="/rss"><link rel="ALTERNATE home" type="Application/Atom+XML; charset=utf-8" href="atom">
        <link rel=alternate type=application/rss+xml href=/rss#again><link rel=alternate type=application/json href=/j>
        <link rel=alternate type=application/rdf+xml href=/rdf><link rel=alternate type=text/xml href=/xml>
        <link rel=alternate type=application/feed+json href=/json><link rel=alternate type=application/x-rss+xml href=feed:/no>
        <link rel=alternate type=application/x-rss+xml href=feed://example.com/x><link rel=alternate type=text/css href=/css>
        <link rel=alternate type=text/rss+xml href=FEED:https://example.com/t><link rel=alternate type=application/rss href=/r>
        <link rel="alternate stylesheet" type=application/rss+xml href=/no><link type=application/rss+xml href=/neither>"#;
    let found = page(html);
    let feeds: Vec<_> = found.feeds.iter().map(|url| url.as_text()).collect();
    let expected =
        ["s://example.com/rss", "s://example.com/a/atom", "s://example.com/rdf", "s://example.com/xml"];
    let others = ["s://example.com/json", "://example.com/x", "s://example.com/t", "s://example.com/r"];
    assert_eq!(
        feeds,
        [expected, others].concat().iter().map(|rest| format!("http{rest}")).collect::<Vec<_>>()
    );
    assert_eq!(found.links, []);
    let many: String =
        (0..100).map(|n| format!("<link rel=alternate type=application/rss+xml href=/{n}>")).collect();
    assert_eq!(page(&many).feeds.len(), MAX_FEEDS);
    // Also after the last link that is kept.
    let many: String = (0..=ExtractLimits::default().max_links).map(|n| format!("<a href=/{n}>")).collect();
    let found = page(&format!("{many}{html}"));
    assert_eq!((found.links_over_limit, found.feeds.len()), (1, 8));
}

#[test]
fn a_page_does_not_link_to_itself() {
    let html = r##"<a href="#top">t</a><a href="">e</a><a href="b.html#x">x</a><a href="/a/b.html">s</a><a href="c#x">c</a>"##;
    assert_eq!(links(html), ["https://example.com/a/c"]);
}

#[test]
fn the_first_base_element_holds_for_all_links_even_those_before_it() {
    let html = r#"<a href="x">x</a><base target=_top><base href="/docs/"><base href="/other/"><a href="y">y</a>
        <a href="/z">z</a><a href="?q">q</a>"#;
    let found = page(html);
    assert_eq!(found.base.as_str(), "https://example.com/docs/");
    assert_eq!(
        found.links.iter().map(|l| l.url.as_text()).collect::<Vec<_>>(),
        [
            "https://example.com/docs/x",
            "https://example.com/docs/y",
            "https://example.com/z",
            "https://example.com/docs/?q"
        ]
    );
}

#[test]
fn other_schemes_and_unusable_addresses_are_counted_and_refused() {
    let long = "x".repeat(3_000);
    let html = format!(
        r#"<a href="mailto:a@b.c">m</a><a href="javascript:void(0)">j</a><a href="tel:1">t</a><a href="data:,x">d</a>
        <a href="http://">h</a><a href="http://exa mple/">s</a><a href="/{long}">l</a><a href="/ok">o</a>"#
    );
    let found = page(&html);
    assert_eq!(found.links_refused, 7);
    assert_eq!(found.links.len(), 1);
}

#[test]
fn a_link_is_nofollow_when_all_its_references_are() {
    let html = r#"<a rel="external NoFollow" href=/a>1</a><a rel=ugc href=/b>2</a><a rel="sponsored" href=/c>3</a>
        <a href=/d>4</a><a rel=nofollow href=/d>5</a><a rel=nofollow href=/e>6</a><a href=/e>7</a><a rel=nofollower href=/f>8</a>"#;
    let flags: Vec<bool> = page(html).links.iter().map(|l| l.nofollow).collect();
    assert_eq!(flags, [true, true, true, false, false, false]);
    let commas = page("<a rel='noopener,nofollow' href=/a>1</a><a rel='external, ugc' href=/b>2</a>");
    assert!(commas.links.iter().all(|link| link.nofollow) && commas.links.len() == 2);
}

#[test]
fn pages_in_objects_and_versions_for_other_screens_are_links() {
    for (html, is_link) in [
        ("<object type='text/html' data=/x></object>", true),
        ("<object type='Application/XHTML+XML; charset=utf-8' data=/x></object>", true),
        ("<object data='/x.html?a=b.c#d'></object>", true),
        ("<embed src=/x.HTM>", true),
        ("<embed src=/x type=text/html>", true),
        ("<object type=application/pdf data=/x.html></object>", false),
        ("<object data=/x.swf></object><embed src=/x><embed src='/x?y.html'>", false),
        ("<svg><embed src=/x.html></svg>", true),
        ("<svg><object data=/x.html></svg>", false),
        ("<link rel=alternate media='only screen and (max-width: 640px)' href=/x>", true),
        ("<link rel=sitemap type=application/xml href=/x>", true),
        ("<link rel='alternate stylesheet' media=print href=/x><link rel=next,stylesheet href=/x>", false),
        ("<link rel=alternate href=/x>", false),
    ] {
        assert_eq!(links(html).len(), usize::from(is_link), "{html}");
    }
}

#[test]
fn visible_text_without_what_is_hidden_and_without_the_frame() {
    let html = r#"<!doctype html><html><head><title> The
        title </title><style>s{}</style></head><body>
        <header>Banner <nav>menu</nav></header><div role="navigation">more menu</div>
        <main><header>Heading</header><p>One <b>bo</b>ld&nbsp;word.<p>Two<br>lines
        <aside>an aside of the article</aside>
        <ul><li>first<li>second</ul><table><tr><td>cell<td>other</table>
        <script>var x = "script";</script><style>style</style><noscript>noscript</noscript>
        <template>template</template><svg><text>drawing</text></svg>
        <span hidden>hidden</span><span hidden=until-found>findable</span><i aria-hidden=true>icon</i>
        <span style="color:red;display: none">invisible</span><dialog>closed</dialog><dialog open>opened</dialog>
        <math><mi>x</mi><mo>+</mo><mi>y</mi></math><!-- comment -->
        <footer>note of the article</footer></main>
        <aside>teaser</aside><footer role=contentinfo>© footer</footer></body></html>"#;
    let found = page(html);
    assert_eq!(found.title.as_deref(), Some("The title"));
    assert_eq!(
        found.text,
        "Heading\nOne bold word.\nTwo\nlines\nan aside of the article\nfirst\nsecond\ncell\nother\n\
         drawing\nfindableicon\nopened\nx+y\nnote of the article"
    );
}

#[test]
fn misnested_tags_hide_no_more_than_they_should() {
    let found =
        page("<p hidden>hidden<p>shown<div style='display:none'><b>no</div>yes</b><nav>menu<p>x</nav>end");
    assert_eq!(found.text, "shown\nyes\nend");
}

#[test]
fn a_page_that_is_all_frame_keeps_it() {
    let menu: String = (0..200).map(|i| format!("<li><a href='/{i}'>entry {i}</a>")).collect();
    let found = page(&format!("<nav><ul>{menu}</ul></nav><p>©"));
    assert!(found.text.starts_with("entry 0\nentry 1\n") && found.text.ends_with('©'));
    assert_eq!(found.links.len(), 200);
    let article = "A short article of its own, and yet more than two hundred bytes long. ".repeat(4);
    let found = page(&format!("<nav><ul>{}</ul></nav><p>{article}", menu.repeat(9)));
    assert_eq!(found.text, article.trim_end());
}

#[test]
fn other_types_of_body() {
    let read = |body: &[u8], kind| answer(body, kind, "https://example.com/", &ExtractLimits::default());
    assert_eq!(read(b"\x89PNG\r\n\x1a\n\0", None), Extracted::Opaque(Consent::default(), Vec::new()));
    assert_eq!(read(b"<p>x", Some("application/pdf")), Extracted::Opaque(Consent::default(), Vec::new()));
    let Extracted::Page(plain) = read(b" a  <b>\r\n\r\nc\xE9 \rd", Some("text/plain")) else {
        panic!("plain text is a page")
    };
    assert_eq!((plain.text.as_str(), plain.links.len()), ("a <b>\ncé\nd", 0));
    let Extracted::Page(sniffed) = read(b"\n<html><a href=x>l</a>", None) else { panic!("HTML is a page") };
    assert_eq!((sniffed.text.as_str(), sniffed.links.len()), ("l", 1));
    let Extracted::Page(empty) = read(b"", Some("text/html")) else { panic!("nothing is a page too") };
    assert_eq!((empty.text.as_str(), empty.title), ("", None));
}

#[test]
fn limits_bound_links_text_and_title() {
    let html: String = (0..100).map(|i| format!("<a href=/{}>word{i}</a> ", i % 80)).collect();
    let limits = ExtractLimits { max_links: 50, max_text: 100, ..ExtractLimits::default() };
    let html = format!("<title>{}</title>{html}", "long title ".repeat(100));
    let found = answer(html.as_bytes(), Some("text/html"), "http://h/x", &limits);
    let Extracted::Page(found) = found else { panic!("HTML is a page") };
    assert_eq!((found.links.len(), found.links_over_limit), (50, 50));
    assert!(found.text.len() <= 100 && found.text.starts_with("word0 word1 "));
    assert!(found.title.is_some_and(|t| t.len() <= MAX_TITLE_BYTES && t.starts_with("long title long")));
}

/// The standard's parsing algorithm is quadratic, or worse, on each of these. Without bounds some
/// would take minutes.
#[test]
fn hostile_pages_are_read_in_linear_time_and_lose_no_links() {
    let n = 100_000;
    let numbered = |open: &str| -> String { (0..n).map(|i| open.replace('#', &i.to_string())).collect() };
    for (what, html, least) in [
        ("nested blocks", numbered("<div><a href=/#>x</a>"), n),
        ("nested paragraphs", numbered("<div><p>"), 0),
        ("nested spans", numbered("<span>"), 0),
        ("nested tables", numbered("<table><tr><td>"), 0),
        ("nested lists", numbered("<ul><li>"), 0),
        ("nested buttons and forms", numbered("<form><button>"), 0),
        ("formatting", numbered("<b><i><u>"), 0),
        ("formatting in paragraphs", numbered("<p><font color=#>x</p>"), 0),
        ("misnested", numbered("<b><div></b><a href=/#>"), 10_000),
        ("drawings", numbered("<svg><g>"), 0),
        ("foreign", numbered("<svg><foreignObject><math><mi>"), 0),
        ("templates", numbered("<template>"), 0),
        ("selects", numbered("<select><option>"), 0),
        ("framesets", numbered("<frameset>"), 0),
        ("attributes", format!("<a {} href=/x>y</a>", numbered(" a#")), 0),
        ("open tags", "<a ".repeat(n), 0),
        ("links", numbered("<a href=/#>x</a>"), n),
        ("ends", "</div></p></b>".repeat(n), 0),
        ("zeros", "\0".repeat(n), 0),
        ("references", "&amp;&#0;&#x110000;&notit;".repeat(n), 0),
        ("comments", "<!-- - -->".repeat(n), 0),
    ] {
        let found = page(&format!("{html}<p>end"));
        let expected = least.min(ExtractLimits::default().max_links);
        assert!(found.links.len() >= expected, "{what}: {} links", found.links.len());
        if least == n {
            assert_eq!(found.links.len() + found.links_over_limit as usize, n, "{what}");
        }
    }
}

fn mangled() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"<a href=".to_vec()),
        Just(b"<base href=//b>".to_vec()),
        Just(b"<meta http-equiv=refresh content='0;url=".to_vec()),
        Just(b"<meta charset=".to_vec()),
        Just(b"<title>".to_vec()),
        Just(b"</".to_vec()),
        Just(b"<!--".to_vec()),
        Just(b"<![CDATA[".to_vec()),
        Just(b"<svg><math><template>".to_vec()),
        Just(b"<table><b><p>".to_vec()),
        Just(b"<script>".to_vec()),
        Just(b"&#".to_vec()),
        Just(b"\xFE\xFF".to_vec()),
        "[a-z<>/='\" &;!-]{0,9}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..9),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        body in mangled(),
        kind in proptest::option::of("(text/(html|plain)|[a-z/; =]{0,12})(; charset=[a-z0-9-]{0,12})?"),
        max_links in 0usize..4,
        max_text in 0usize..40,
    ) {
        let limits = ExtractLimits { max_links, max_text, ..ExtractLimits::default() };
        let url = at("http://h/x");
        if let Extracted::Page(page) = answer(&body, kind.as_deref(), "http://h/x", &limits) {
            prop_assert!(page.links.len() <= max_links);
            prop_assert!(page.text.len() <= max_text);
            prop_assert!(page.links.iter().all(|l| l.url != url));
            let words: Vec<&str> = page.text.split([' ', '\n']).collect();
            prop_assert!(page.text.is_empty() || words.iter().all(|w| !w.is_empty()), "{:?}", page.text);
        }
    }
}
