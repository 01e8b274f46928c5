//! Pages of other syntaxes and encodings, and documents in pages.

use super::*;
use encoding_rs::Encoding;

fn read(body: &[u8], fields: &BodyFields<'_>) -> PageContent {
    let options = ExtractOptions { agent: "recrawl".into(), anchors: true, ..ExtractOptions::default() };
    match extract(body, fields, &at("https://example.com/a/b"), &UrlRules::default(), &options) {
        Extracted::Page(page) => page,
        other => panic!("a page, and not {other:?}"),
    }
}

fn typed<'t>(content_type: &'t str) -> BodyFields<'t> {
    BodyFields { content_type: Some(content_type), ..BodyFields::default() }
}

/// Paths and queries of the links.
fn paths(page: &PageContent) -> Vec<&str> {
    page.links.iter().map(|link| link.url.path_and_query()).collect()
}

#[test]
fn the_encoding_of_a_page_is_that_of_its_text_and_of_its_queries() {
    let page = |meta: &str| format!("{meta}<p>тест</p><a href='/п?q=т'>x</a><a href='?e=&#1090;'>y</a>");
    let bytes = |text: &str| Encoding::for_label(b"koi8-r").unwrap().encode(text).0.into_owned();
    let xml = "<?xml version='1.0' encoding='koi8-r'?>";
    for (meta, content_type) in [
        ("", "text/html; charset=koi8-r"),
        ("<meta charset=koi8-r>", "text/html"),
        (xml, "text/html"),
        (xml, "application/xhtml+xml"),
        (&format!("{xml}<html xmlns='http://www.w3.org/1999/xhtml'>"), "text/xml"),
        (&format!("<!-- {} --><meta charset=koi8-r>", "x".repeat(3_000)), "text/html"),
    ] {
        let found = read(&bytes(&page(meta)), &typed(content_type));
        assert!(found.text.starts_with("тест"), "{meta} {content_type}: {}", found.text);
        assert_eq!(paths(&found), ["/%D0%BF?q=%D4", "/a/b?e=%D4"], "{meta} {content_type}");
    }
    for (text, fields) in [
        (page("<meta name=description content='charset=koi8-r'>"), typed("text/html")),
        (page("<meta charset=koi8-r>"), typed("text/html; charset=utf-8")),
        (format!("\u{feff}{}", page("<meta charset=koi8-r>")), typed("text/html; charset=koi8-r")),
    ] {
        let found = read(text.as_bytes(), &fields);
        assert!(found.text.starts_with("тест"), "{text}");
        assert_eq!(paths(&found), ["/%D0%BF?q=%D1%82", "/a/b?e=%D1%82"], "{text}");
    }
    let wide: Vec<u8> = page("").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let found = read(&wide, &typed("text/html; charset=utf-16le"));
    assert_eq!(paths(&found), ["/%D0%BF?q=%D1%82", "/a/b?e=%D1%82"], "UTF-16 asks in UTF-8");
}

#[test]
fn the_base_and_the_canonical_url_have_queries_in_the_encoding_too() {
    let page = "<meta charset=koi8-r><base href='/x?т'><link rel=canonical href='/c?т'><a href='#'>x</a>";
    let found = read(&Encoding::for_label(b"koi8-r").unwrap().encode(page).0, &typed("text/html"));
    assert_eq!(found.consent.canonical.other().unwrap().path_and_query(), "/c?%D4");
    assert_eq!(paths(&found), ["/x?%D4"]);
}

#[test]
fn xhtml_is_read_as_xml() {
    let root = "<html xmlns='http://www.w3.org/1999/xhtml'>";
    for head in
        ["<title>T</title><script src='/m.js'/>", "<title>T</title><style/>", "<title>T</title><iframe/>"]
    {
        let page = format!(
            "<?xml version='1.0'?><!DOCTYPE html [<!ENTITY x '>'>]>{root}<head>{head}</head><body>\
             <p>Words&nbsp;of <![CDATA[<b>]]></p><a href='on'/>\n<textarea/><a href='&amp;'>a</a></body></html>"
        );
        for content_type in ["application/xhtml+xml", "text/xml; charset=utf-8", "application/xml"] {
            let found = read(page.as_bytes(), &typed(content_type));
            assert_eq!(found.title.as_deref(), Some("T"), "{head} {content_type}");
            assert_eq!(found.text.lines().next(), Some("Words of <b>"), "{head} {content_type}");
            assert_eq!(paths(&found), ["/a/on", "/a/&"], "{head} {content_type}");
        }
    }
    let found = read(format!("{root}<title/><p>x</p>").as_bytes(), &typed("application/xhtml+xml"));
    assert_eq!((found.title, &found.text[..]), (None, "x"));
    // As HTML, the title has no end.
    let found = read(format!("{root}<title/><p>x</p>").as_bytes(), &typed("text/html"));
    assert_eq!(found.text, "");
    // Selectors apply to it as well.
    let part = CountedPart::new(&["p".into()], &[], &[]).unwrap();
    let (url, rules) = (at("https://example.com/"), UrlRules::default());
    let body = format!("{root}<body><script/><p>yes</p>no</body></html>");
    let fields = typed("application/xhtml+xml");
    let found = extract_part(body.as_bytes(), &fields, &url, &rules, &ExtractOptions::default(), Some(&part));
    assert!(matches!(found, Extracted::Page(page) if page.text == "yes"));
}

#[test]
fn xhtml_that_is_not_well_formed_loses_nothing() {
    let page = "<html xmlns='http://www.w3.org/1999/xhtml'><head><meta charset='utf-8'><script src=x /><title>T</title></head>
        <p>one<br>1 < 2<p class=x>two & three<a href='/a?b=1&c=2'>x</a><script>if (a<b) x('<p>')</script><!-- a -- b -->
        <a href='/z'>z</p></body>";
    let found = read(page.as_bytes(), &typed("application/xhtml+xml"));
    assert_eq!((found.title.as_deref(), &found.text[..]), (Some("T"), "one\n1 < 2\ntwo & threex z"));
    assert_eq!(paths(&found), ["/a?b=1&c=2", "/z"]);
}

#[test]
fn elements_of_drawings_and_formulas_mean_nothing_but_links_of_drawings() {
    let of = |inner: &str| {
        let drawing = format!("<svg>{inner}</svg>");
        read(format!("{drawing}<a href=p>x</a>").as_bytes(), &typed("text/html"))
    };
    for inner in [
        "<base href=/wrong/></base>",
        "<link rel=next href=/wrong>",
        "<link rel=alternate type=application/rss+xml href=/wrong>",
        "<area href=/wrong>",
        "<iframe src=/wrong></iframe>",
        "<iframe srcdoc='<a href=/wrong>'></iframe>",
        "<frame src=/wrong>",
        "<title>wrong</title>",
        "<g><base href=/wrong/>",
    ] {
        for inner in [inner.to_owned(), format!("</svg><math>{inner}</math><svg>")] {
            let found = of(&inner);
            assert_eq!(paths(&found), ["/a/p"], "{inner}");
            assert_eq!((found.feeds.len(), found.title.as_deref()), (0, None), "{inner}");
        }
    }
    for (inner, expected) in [
        ("<a href=/s>s</a>", "/s"),
        ("<a xlink:href=/s>s</a>", "/s"),
        ("<a xlink:href=/old href=/s>s</a>", "/s"),
        ("<a href=/s xlink:href=/old>s</a>", "/s"),
        ("<foreignObject><iframe src=/s></iframe></foreignObject>", "/s"),
    ] {
        assert_eq!(paths(&of(inner)), [expected, "/a/p"], "{inner}");
    }
    for (formula, expected) in [
        ("<a href=/m>m</a>", None),
        ("<a xlink:href=/m>m</a>", None),
        ("<mi href=/m>m</mi>", None),
        ("<mrow><a href=/m><mi>m</mi></a></mrow>", None),
        ("<mtext><a href=/m>m</a></mtext>", Some("/m")),
        ("<annotation-xml encoding=text/html><a href=/m>m</a></annotation-xml>", Some("/m")),
        (
            "<annotation-xml encoding='Application/XHTML+xml'><p><a href=/m>m</a></p></annotation-xml>",
            Some("/m"),
        ),
        ("<annotation-xml encoding=MathML-Content><a href=/m>m</a></annotation-xml>", None),
        ("<annotation-xml><svg><a href=/m>m</a></svg></annotation-xml>", Some("/m")),
    ] {
        let found = read(format!("<math>{formula}</math><a href=p>x</a>").as_bytes(), &typed("text/html"));
        let expected: Vec<&str> = expected.into_iter().chain(["/a/p"]).collect();
        assert_eq!(paths(&found), expected, "{formula}");
    }
    // The base of HTML in a drawing holds, and so does that of a tag that ends the drawing.
    assert_eq!(paths(&of("<foreignObject><base href=/y/></foreignObject>")), ["/y/p"]);
    assert_eq!(paths(&of("<p><base href=/y/>")), ["/y/p"]);
    assert_eq!(paths(&read(b"<a xlink:href=/x>x</a><a href=p>p</a>", &typed("text/html"))), ["/a/p"]);
    let found = read(b"<svg><meta name=robots content=noindex></svg>", &typed("text/html"));
    assert!(found.consent.noindex, "a meta ends the drawing");
}

#[test]
fn an_embedded_document_is_read_in_its_place() {
    let html = "<head><title>T</title></head><p>before<iframe src=/unused srcdoc=\"<title>no</title><base href='/sub/'>\
        <meta name=robots content=noindex><html lang=de><p>Inner &amp;amp; words</p><a href='in?q=т'>in</a>\
        <iframe srcdoc='&lt;base href=deep/&gt;&lt;a href=deepest&gt;nested&lt;/a&gt;'></iframe>\">fallback<a href=/f></a></iframe>after <a href=out>o</a>";
    let page = read(html.as_bytes(), &typed("text/html; charset=utf-8"));
    assert_eq!(page.text, "before\nInner & words\nin\nnested\nafter o");
    assert_eq!(paths(&page), ["/sub/in?q=%D1%82", "/sub/deep/deepest", "/a/out"]);
    assert_eq!((page.title.as_deref(), page.consent.noindex, page.language), (Some("T"), false, None));
    assert_eq!(page.links[0].anchor, "in");
    assert_eq!(page.base.path(), "/a/b");
    // In the page's frame, hidden, empty, selected.
    for (html, text, links) in [
        ("<iframe hidden srcdoc='<p>x<a href=y>z</a>'></iframe>a", "a", 1),
        ("<div style='display:none'><iframe srcdoc='<p>x<a href=y>z</a>'></iframe></div>a", "a", 1),
        (
            "<nav><iframe srcdoc='<a href=y>menu</a>'></iframe></nav><p>a long text of the page",
            "a long text of the page",
            1,
        ),
        ("<iframe srcdoc src=/x></iframe>a", "a", 0),
        ("<template><iframe srcdoc='<a href=x>y</a>'></iframe></template>a", "a", 0),
        ("<iframe srcdoc='<meta http-equiv=refresh content=\"0;url=x\">'></iframe>a", "a", 1),
    ] {
        let page = read(html.as_bytes(), &typed("text/html"));
        assert_eq!((&page.text[..], page.links.len()), (text, links), "{html}");
    }
    for (include, ignore, text) in [("iframe", "", "x"), ("", "iframe", "a\nb"), ("p", "", "a")] {
        let list = |entry: &str| {
            Some(entry.to_owned()).filter(|entry| !entry.is_empty()).into_iter().collect::<Vec<_>>()
        };
        let part = CountedPart::new(&list(include), &list(ignore), &[]).unwrap();
        let html = b"<p>a</p><iframe srcdoc='x'>no</iframe><div>b";
        let (url, rules) = (at("https://example.com/"), UrlRules::default());
        let found =
            extract_part(html, &typed("text/html"), &url, &rules, &ExtractOptions::default(), Some(&part));
        assert!(
            matches!(&found, Extracted::Page(page) if page.text == text),
            "{include} {ignore}: {found:?}"
        );
    }
}

#[test]
fn embedded_documents_are_bounded() {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let mut html = "<a href=end>end</a>".to_owned();
    for depth in 0..9 {
        html = format!("<a href={depth}>x</a><iframe srcdoc=\"{}\"></iframe>", escaped(&html));
    }
    assert_eq!(paths(&read(html.as_bytes(), &typed("text/html"))), ["/a/8", "/a/7", "/a/6", "/a/5"]);
    let many = "<iframe srcdoc='<base href=/x/><a href=y>z</a>'></iframe>".repeat(20_000);
    let page = read(many.as_bytes(), &typed("text/html"));
    assert_eq!(paths(&page), ["/x/y"]);
    assert!(page.work < 8 * many.len() as u64);
    let deep = format!("<iframe srcdoc='{}'></iframe><a href=y>", "<div>".repeat(100_000));
    assert_eq!(paths(&read(deep.as_bytes(), &typed("text/html"))), ["/a/y"]);
}

#[test]
fn a_refresh_field_is_a_link() {
    for (value, expected) in [
        ("0; url=/new", &["/new", "/x/y"][..]),
        ("0;URL='new'", &["/a/new", "/x/y"]),
        ("0,new", &["/a/new", "/x/y"]),
        ("5; url=/\u{fc}?\u{fc}", &["/%C3%BC?%FC", "/x/y"]),
        ("5; url=/x/y", &["/x/y"]),
        ("5; url=/a/b", &["/x/y"]),
        ("5", &["/x/y"]),
        ("url=/new", &["/x/y"]),
        ("0; url=javascript:x", &["/x/y"]),
    ] {
        let fields = BodyFields { refresh: Some(value.into()), ..typed("text/html; charset=windows-1252") };
        assert_eq!(paths(&read(b"<base href=/x/><a href=y>z</a>", &fields)), expected, "{value}");
    }
    let fields = BodyFields { refresh: Some("0; url=/new".into()), ..BodyFields::default() };
    for body in [&b""[..], b"plain words"] {
        assert_eq!(paths(&read(body, &fields)), ["/new"]);
    }
}

#[test]
fn a_link_field_is_read_as_a_link_element() {
    let feed = "</f>; rel=alternate; type=\"application/atom+xml\"";
    for (values, expected) in [
        (&["<?page=2>; rel=next, </p>; rel=\"prev\""][..], &["/a/b?page=2", "/p", "/x/y"][..]),
        (&["</de>; rel=\"alternate\"; hreflang=de", "</0>; rel=previous"], &["/de", "/0", "/x/y"]),
        (&["</s.css>; rel=\"alternate stylesheet\"; hreflang=de", "</s>; rel=preload"], &["/x/y"]),
        (&["</other>; rel=next; anchor=\"/elsewhere\"", "<data:,x>; rel=next", feed], &["/x/y"]),
    ] {
        let links = values.iter().map(|value| (*value).into()).collect();
        let page = read(b"<base href=/x/><a href=y>z</a>", &BodyFields { links, ..typed("text/html") });
        assert_eq!(paths(&page), expected, "{values:?}");
        let feeds: Vec<_> = page.feeds.iter().map(CanonicalUrl::path_and_query).collect();
        assert_eq!(feeds.contains(&"/f"), values.contains(&feed));
    }
}

#[test]
fn what_a_browser_made_of_a_page_is_read_in_its_syntax_with_its_queries() {
    let url = at("https://example.com/a/b");
    let sent = Encoding::for_label(b"koi8-r").unwrap().encode("<meta charset=koi8-r>").0.into_owned();
    let fields = typed("text/html").rendered(&sent, &url, &MediaTypes::default());
    let page = read(
        "<html><meta charset=koi8-r><script/><a href='?q=т'>т</a></script><a href='?q=т'>т</a>".as_bytes(),
        &fields,
    );
    assert_eq!((&page.text[..], &paths(&page)[..]), ("т", &["/a/b?q=%D4"][..]));
    let fields = typed("application/xhtml+xml").rendered(&sent, &url, &MediaTypes::default());
    let page = read(
        "<html xmlns='http://www.w3.org/1999/xhtml'><script/><a href='x'>т</a></html>".as_bytes(),
        &fields,
    );
    assert_eq!((&page.text[..], &paths(&page)[..]), ("т", &["/a/x"][..]));
}

/// Links and text of pages with frames, as Chromium 156 builds them: a frame counts in a set of frames alone, which takes the
/// place of a body without content, and stands for no `noframes`.
#[test]
fn frames_and_their_sets_are_read_as_browsers_do() {
    let cases: [(&str, &[&str], &str); 21] = [
        ("<frameset cols=*><frame src=/f></frameset><body><a href=/b>b</a></body>", &["/f"], ""),
        ("<body><a href=/b>b</a></body><frameset><frame src=/f></frameset>", &["/b"], "b"),
        ("<body><frameset><frame src=/f></frameset></body>", &[], ""),
        ("<body><a href=/b></a><frameset><frame src=/f></frameset></body>", &["/b"], ""),
        ("<p>x<frameset><frame src=/f></frameset>", &[], "x"),
        ("<frame src=/f><a href=/b>b</a>", &["/b"], "b"),
        ("<noframes><a href=/n>n</a></noframes><a href=/b>b</a>", &["/b"], "b"),
        ("<body><noframes><a href=/n>n</a></noframes><a href=/b>b</a>", &["/b"], "b"),
        ("<frameset><frame src=/f><noframes><a href=/n>n</a></noframes></frameset>", &["/f"], ""),
        (
            "<frameset><frame src=/f></frameset><noframes><body><a href=/n>n</a></body></noframes>",
            &["/f"],
            "",
        ),
        ("<frameset><frameset><frame src=/g></frameset><frame src=/f></frameset>", &["/g", "/f"], ""),
        ("<div><frameset><frame src=/f>", &["/f"], ""),
        ("<frameset><a href=/a>x</a><frame src=/f></frameset>", &["/f"], ""),
        ("<table><tr><td><frame src=/f>t</table>", &[], "t"),
        ("<body><br><frameset><frame src=/f></frameset>", &[], ""),
        ("<iframe src=/i></iframe><frameset><frame src=/f></frameset>", &["/i"], ""),
        (
            "<head><title>t</title></head><frameset><frame src=/f></frameset></frameset><p>after<a href=/z>z</a>",
            &["/f"],
            "",
        ),
        ("<svg></svg><frameset><frame src=/f></frameset>", &["/f"], ""),
        ("<script>1</script><frameset><frame src=/f></frameset>", &["/f"], ""),
        ("<input type=hidden><frameset><frame src=/f></frameset>", &["/f"], ""),
        (
            "<template><frame src=/f><a href=/t>t</a></template><frameset><frame src=/g></frameset>",
            &["/g"],
            "",
        ),
    ];
    for (html, links, text) in cases {
        for html in [html.to_owned(), format!("<!doctype html><html>{html}"), html.to_uppercase()] {
            let found = read(html.as_bytes(), &typed("text/html"));
            let same = |found: &str, expected: &str| found.eq_ignore_ascii_case(expected);
            assert!(same(&found.text.replace('\n', ""), text), "{html}: {:?}", found.text);
            let found = paths(&found);
            assert_eq!(found.len(), links.len(), "{html}: {found:?}");
            assert!(links.iter().all(|link| found.iter().any(|path| same(path, link))), "{html}: {found:?}");
        }
    }
}
