//! Documents that other readers of the field understand, although their authors did not write them by the book.

use super::*;

const HOST: &str = "https://example.com";

/// The paths of a document's entries.
fn paths(body: &str) -> Vec<String> {
    paths_of(&listing(body))
}

fn paths_of(listing: &Listing) -> Vec<String> {
    listing.entries.iter().map(|e| e.url.as_text().trim_start_matches(HOST).to_owned()).collect()
}

fn read_as(body: &str, content_type: &str) -> Option<Listing> {
    match extracted(body.as_bytes(), Some(content_type), &ExtractLimits::default()) {
        Extracted::Listing(listing, _) => Some(listing),
        _ => None,
    }
}

#[test]
fn a_prologue_may_be_long() {
    let map = "<urlset><url><loc>/1</loc></url></urlset>";
    let entities: String = (0..200).map(|n| format!("<!ENTITY e{n} \"&#{};\">\n", 192 + n)).collect();
    for body in [
        format!("<!--{}-->{map}", " free of charge".repeat(400)),
        format!("<?xml version='1.0'?>{}{map}", "\n".repeat(5_000)),
        format!("{}{map}", "\n".repeat(5_000)),
        format!("{}{map}", "<!-- 1 --><?x?>".repeat(100)),
        format!("<?xml-stylesheet href='data:text/xsl;base64,{}'?>{map}", "QUJD".repeat(2_000)),
        map.replace("<urlset", &format!("<urlset{}", " xmlns:x='https://a.example/'".repeat(300))),
    ] {
        assert_eq!(paths(&body), ["/1"], "{}", &body[..60]);
    }
    let body = format!("<!DOCTYPE urlset [{entities}]>{}", map.replace("/1", "/&e0;&e199;"));
    assert_eq!(paths(&body), ["/%C3%80%C6%87"]);
    let beyond = format!("<!--{}-->{map}", "x".repeat(256 << 10));
    assert!(read_as(&beyond, "application/xml").is_none(), "beyond the limit");
}

#[test]
fn an_atom_entry_is_a_page_that_can_be_requested() {
    let entry = |entry: &str| paths(&format!("<feed><entry>{entry}</entry></feed>"));
    for (inner, path) in [
        ("<id>https://example.com/id</id>", "/id"),
        ("<link rel='alternate' href='nostr:naddr1x'/><link href='/2'/>", "/2"),
        (
            "<link rel='alternate' type='application/json' href='/j'/><link type='text/html; x' href='/h'/>",
            "/h",
        ),
        ("<link rel='alternate' type='application/json' href='/j'/><id>https://example.com/id</id>", "/j"),
        ("<id>https://example.com/id</id><content type='text/html' src='/c'/>", "/c"),
        ("<id>https://example.com/id</id><link>/text</link>", "/text"),
        ("<id>https://example.com/id</id><link rel='alternate' href='/h'>A title</link>", "/h"),
        ("<ID>https://example.com/id</ID><LINK REL='self' HREF='/s'/>", "/id"),
        ("<x:link href='/wrong'/><link href='/1'/>", "/1"),
    ] {
        assert_eq!(entry(inner), [path], "{inner}");
    }
    for none in ["<id>tag:example.com,2002:1</id>", "<link rel='self' href='/s'/>", "<content>/c</content>"] {
        assert_eq!(entry(none), [""; 0], "{none}");
    }
    let atom_0_3 = "<feed><entry><link href='/1'/><issued>2001-01-01</issued><modified>2005-01-01</modified></entry></feed>";
    expect(&listing(atom_0_3), ListingKind::Atom, &[("https://example.com/1", 1_104_537_600)]);
}

#[test]
fn a_sitemap_may_be_loose() {
    let urlset = |inner: &str| paths(&format!("<urlset>{inner}</urlset>"));
    for (inner, expected) in [
        ("<url><loc>/1</loc><loc>/2</loc></url><url><loc>/3</loc></url>", &["/1", "/2", "/3"][..]),
        ("<url>\n https://example.com/1 \n</url><url>https://example.com/2</url>", &["/1", "/2"]),
        ("<url><loc>/1</loc> https://example.com/2</url>", &["/1"]),
        ("<sitemap><loc>/1</loc></sitemap><url><loc>/2</loc></url>", &["/1", "/2"]),
        ("<loc>/1</loc><loc>/2</loc>", &["/1", "/2"]),
        ("<loc>/1</loc><url><loc>/2</loc></url>", &["/1", "/2"]),
        ("<url><page><loc>/1</loc></page></url>", &[]),
        ("<url><loc>/caf&eacute;?a=1&amp;b</loc></url>", &["/caf%C3%A9?a=1&b"]),
        ("<url><loc>/&unknown;</loc></url><url><loc>/2</loc></url>", &["/2"]),
        ("<url><image:loc>/i.png</image:loc><loc>/1</loc></url>", &["/1"]),
    ] {
        assert_eq!(urlset(inner), expected, "{inner}");
        let index = format!("<sitemapindex>{inner}</sitemapindex>");
        assert_eq!((paths(&index), listing(&index).kind), (urlset(inner), ListingKind::Index));
        let loud =
            index.replace("loc>", "LOC>").replace("sitemapindex", "SiteMapIndex").replace("url>", "Url>");
        assert_eq!(paths(&loud), expected, "{loud}");
    }
    let dates = "<urlset><loc>/1</loc><lastmod>2005-01-01</lastmod><loc>/2</loc>\
        <url><news:news><news:publication_date>2005-01-01</news:publication_date><news:title>t</news:title></news:news><loc>/3</loc></url>\
        <url><lastmod>2005-01-01</lastmod><news:news><news:publication_date>1999-01-01</news:publication_date></news:news><loc>/4</loc></url>\
        <url><loc>/5</loc><lastmod>soon</lastmod><x:lastmod>2005-01-01</x:lastmod></url>\
        <url><video:video><video:publication_date>2005-01-01</video:publication_date></video:video><loc>/6</loc></url></urlset>";
    let dates: Vec<u32> = listing(dates).entries.iter().map(|entry| entry.lastmod).collect();
    assert_eq!(dates, [1_104_537_600, 0, 1_104_537_600, 1_104_537_600, 1_104_537_600, 0]);
}

#[test]
fn markup_that_was_not_escaped_costs_no_link() {
    for text in [
        "a<br>b<br>c<br>d",
        "<img src='a'><img src=b><hr>t",
        "<img src='a'></img><br></br></p>t",
        "<p>a<p>b<p>c",
        "<ul><li>a<li>b</ul>",
        "<b><i>a</b></i></u>",
        "a</b></i></p>c",
        "<input disabled><option selected>y",
        "<details><summary>s</summary>t</details>",
        "if a < b and b <3 or c <",
    ] {
        let feed = format!(
            "<rss><channel><item><description>{text}</description><media:description>{text}</media:description>\
             <link>/1</link></item><item><link>/2</link></item></channel></rss>"
        );
        let found = listing(&feed);
        assert_eq!(
            (paths_of(&found), found.refused, &found.damage),
            (vec!["/1".into(), "/2".into()], 0, &None),
            "{text}"
        );
    }
    let title =
        listing("<rss><channel><item><title>I <3 a < b</title><link>/1</link></item></channel></rss>");
    assert_eq!(title.text, "https://example.com/1\nI <3 a < b\n");
    // An element of the same name ends first.
    let nested = "<feed><entry><content type='xhtml'><div><content>x</content></div></content><link href='/1'/></entry></feed>";
    assert_eq!(paths(nested), ["/1"]);
}

/// A title that says that it is plain text has no markup, whatever it looks like.
#[test]
fn plain_texts_are_read_as_they_stand() {
    let text = "Use &lt;b&gt; &amp;amp; AT&amp;T&nbsp;now &unknown;";
    for (kind, read) in [
        ("type='text'", "Use <b> &amp; AT&T now &unknown;"),
        ("type='text/plain'", "Use <b> &amp; AT&T now &unknown;"),
        ("type='html'", "Use & AT&T now &unknown;"),
        ("", "Use & AT&T now &unknown;"),
    ] {
        let feed = format!(
            "<feed><entry><title {kind}>{text}</title><summary {kind}>{text}</summary><link href='/1'/></entry>\
             <entry><title>a &lt;i&gt;b&lt;/i&gt;</title><link href='/2'/></entry></feed>"
        );
        let expected = format!("https://example.com/1\n{read}\n{read}\nhttps://example.com/2\na b\n");
        assert_eq!(listing(&feed).text, expected, "{kind}");
    }
    let lines = |kind: &str| {
        format!(
            "<feed><entry><summary{kind}>\n one\r\n &amp; two\n</summary><link href='/1'/></entry></feed>"
        )
    };
    assert_eq!(listing(lines(" type='text'")).text, "https://example.com/1\none\n& two\n");
    assert_eq!(listing(lines("")).text, "https://example.com/1\none & two\n", "it may be HTML");
}

/// The words of a video stand in a group of Media RSS.
#[test]
fn a_group_is_no_border_for_the_words_of_a_video() {
    let group = "<media:group><media:title>Video</media:title><media:content url='/v.swf' type='x/y'/>\
        <media:description>What is shown &amp; said</media:description></media:group>";
    let atom = format!(
        "<feed><entry><title>A video</title><link href='/1'/>{group}<updated>2005-01-01T00:00:00Z</updated></entry></feed>"
    );
    let read = "\nA video\nWhat is shown & said\n";
    assert_eq!(listing(&atom).text, format!("https://example.com/1 2005-01-01T00:00:00Z{read}"));
    let rss =
        format!("<rss><channel><item><title>A video</title>{group}<link>/1</link></item></channel></rss>");
    assert_eq!(listing(&rss).text, format!("https://example.com/1{read}"));
}

#[test]
fn a_name_with_another_prefix_stands_back() {
    let rss = "<rss><channel><item><media:title>Caption</media:title><foo:link>/wrong</foo:link>\
        <title>Headline</title><link>/1</link></item></channel></rss>";
    let found = listing(rss);
    assert_eq!(found.text, "https://example.com/1\nHeadline\n");
    let only = "<rss><channel><item><dc:title>T</dc:title><foo:link>/1</foo:link></item></channel></rss>";
    assert_eq!(listing(only).text, "https://example.com/1\nT\n");
    let atom = "<a:feed><a:entry><link href='/wrong'/><a:link href='/1'/></a:entry></a:feed>";
    assert_eq!(paths(atom), ["/1"]);
    let loud = "<RSS><CHANNEL><ITEM><LINK>/1</LINK><PUBDATE>1 Jan 2005</PUBDATE></ITEM></CHANNEL></RSS>";
    expect(&listing(loud), ListingKind::Rss, &[("https://example.com/1", 1_104_537_600)]);
    let about = "<rdf:RDF><item rdf:about='https://example.com/1'><title>t</title></item></rdf:RDF>";
    assert_eq!(paths(about), ["/1"]);
}

#[test]
fn other_words_may_stand_before_a_sitemap_but_a_page_is_none() {
    let map = "<?xml version='1.0'?><urlset><url><loc>/1</loc></url></urlset>\n";
    let notice = "<br />\n<b>Notice</b>:  Undefined index in <b>/x.php</b> on line <b>3</b><br />\n";
    for body in [format!("{notice}{map}"), format!("Warning: x\n{}", &map[21..])] {
        for content_type in ["text/html", "text/plain", "application/xml"] {
            let found = read_as(&body, content_type).unwrap_or_else(|| panic!("{content_type}: {body}"));
            assert_eq!((paths_of(&found), found.kind), (vec!["/1".into()], ListingKind::Urlset));
        }
    }
    let cut = format!("{notice}{}", &map[..60]);
    assert_eq!(read_as(&cut, "text/xml").map(|found| found.entries.len()), Some(1));
    for page in [
        format!("# Sitemaps\n\nWrite\n\n{map}\nand so on"),
        format!("<!doctype html><p>{map}"),
        format!("<p>x<BODY>{map}"),
        format!("{}{map}", "word ".repeat(1_000)),
        "Write <rss></rss>".into(),
        "Write <rss>...</rss>".into(),
    ] {
        assert!(read_as(&page, "text/html").is_none(), "{page}");
        assert!(read_as(&page, "text/plain").is_none(), "{page}");
    }
}

#[test]
fn a_list_may_have_comments_and_a_bad_line_and_any_type() {
    let lines = |count: usize| (0..count).map(|n| format!("https://example.com/{n}\n")).collect::<String>();
    for (body, many, refused) in [
        (format!("# my pages\n{}#x\n", lines(3)), 3, 0),
        (format!("Sitemap\n{}", lines(12)), 12, 1),
        (format!("{}one two\n{}", lines(10), lines(3)), 13, 1),
    ] {
        for content_type in ["text/plain", "text/html; charset=utf-8"] {
            let found = read_as(&body, content_type).expect("a list");
            assert_eq!(
                (found.kind, found.entries.len(), found.refused),
                (ListingKind::Text, many, refused),
                "{body}"
            );
        }
    }
    assert_eq!(read_as(&lines(1), "text/plain").expect("a list").entries.len(), 1);
    assert!(read_as(&lines(2), "text/html").is_none(), "the text of a page");
    let utf_16: Vec<u8> =
        [0xfe, 0xff].into_iter().chain(lines(2).encode_utf16().flat_map(u16::to_be_bytes)).collect();
    assert_eq!(listing(utf_16).entries.len(), 2);
    for text in [format!("Links:\n{}", lines(9)), format!("a\nb\n{}", lines(18)), "# a\n".into()] {
        assert!(read_as(&text, "text/plain").is_none(), "{text}");
    }
}

#[test]
fn the_other_pages_of_a_feed_are_links() {
    let links = "<link rel='next' href='2'/><link rel='prev-archive' href='/old'/><link rel='next' href='2'/>\
        <link rel='next' href='ftp://x'/><link rel='first' href='/first'/><link rel='self' href='/maps/sitemap.xml'/>\
        <link rel='alternate' hreflang='de' href='/de'/><link rel='alternate' type='application/rss+xml' href='/rss'/>";
    let expected = ["https://example.com/maps/2", "https://example.com/old", "https://example.com/de"];
    let further = |body: &str| listing(body).further.iter().map(CanonicalUrl::as_text).collect::<Vec<_>>();
    assert_eq!(further(&format!("<feed>{links}<entry><link href='/1'/></entry></feed>")), expected);
    let rss = format!(
        "<rss><channel>{}<item><link>/1</link></item></channel></rss>",
        links.replace("<link", "<atom:link")
    );
    assert_eq!(further(&rss), expected);
    assert_eq!(further("<feed><entry><link href='/1'/><link rel='next' href='/2'/></entry></feed>"), [""; 0]);
    assert_eq!(further(&format!("<urlset>{links}</urlset>")), [""; 0]);
    let many: String = (0..100).map(|n| format!("<link rel='next' href='/{n}'/>")).collect();
    assert_eq!(further(&format!("<feed>{many}</feed>")).len(), MAX_FEEDS);
}

#[test]
fn link_fields_hold_for_what_is_no_page() {
    let rules = UrlRules::default();
    let field =
        "</2>; rel=next, </de>; rel=alternate; hreflang=de, </c>; rel=canonical, </s.css>; rel=preload";
    let read = |body: &[u8], content_type| {
        let fields = BodyFields {
            content_type: Some(content_type),
            links: vec![field.into()],
            ..BodyFields::default()
        };
        extract(body, &fields, &rules.canonicalize(AT).unwrap(), &rules, &ExtractOptions::default())
    };
    let expected = ["https://example.com/2", "https://example.com/de"];
    let pdf = read(b"%PDF-1.4", "application/pdf");
    let Extracted::Opaque(_, links) = &pdf else { panic!("a PDF") };
    assert_eq!(links.iter().map(|link| link.url.as_text()).collect::<Vec<_>>(), expected);
    let feed =
        read(b"<feed><link rel='next' href='/2'/><entry><link href='/1'/></entry></feed>", "application/xml");
    let Extracted::Listing(listing, _) = &feed else { panic!("a feed") };
    assert_eq!(listing.further.iter().map(CanonicalUrl::as_text).collect::<Vec<_>>(), expected);
    for found in [&pdf, &feed] {
        let canonical = rules.canonicalize("https://example.com/c").unwrap();
        assert_eq!(found.consent().canonical, recrawl_types::Canonical::Other(canonical));
    }
}

#[test]
fn json_feed_1_1() {
    let feed = r#"{"title": "t", "next_url": "?page=2", "feed_url": "https://example.com/maps/sitemap.xml",
        "hubs": [{"type": "rssCloud"}, {"type": "WebSub", "url": "https://hub.example/"}], "icon": {"a": [1, 2]},
        "items": [
          {"id": "1", "url": "/1", "date_modified": "2005-01-01T00:00:00Z", "date_published": "2001-01-01", "title": "A < B",
           "content_text": "one & <b>\ntwo"},
          {"id": "https:\/\/example.com\/2", "url": null, "date_published": "2005-01-01", "content_html": "<p>caf\u00e9</p>", "tags": ["x"]},
          {"id": 3, "external_url": "https://other.example/"},
          {"url": ["https://example.com/no"], "id": {"x": 1}}, {"url": "https://other.example/4", "summary": "s"}],
        "version": "https:\/\/jsonfeed.org\/version\/1.1"}"#;
    let expected = [
        ("https://example.com/1", 1_104_537_600),
        ("https://example.com/2", 1_104_537_600),
        ("https://other.example/", 0),
        ("https://other.example/4", 0),
    ];
    for content_type in ["application/feed+json", "application/json", "text/html", "text/plain"] {
        let found = read_as(feed, content_type).expect("a feed");
        expect(&found, ListingKind::Json, &expected);
        assert!(found.kind.is_feed());
        assert_eq!((found.refused, &found.damage), (1, &None));
        assert_eq!(
            found.further.iter().map(CanonicalUrl::as_text).collect::<Vec<_>>(),
            ["https://example.com/maps/sitemap.xml?page=2"]
        );
        assert_eq!(found.hub.as_ref().map(|hub| hub.url.as_text()).as_deref(), Some("https://hub.example/"));
        assert_eq!(
            found.text,
            "https://example.com/1 2005-01-01T00:00:00Z\nA < B\none & <b>\ntwo\n\
             https://example.com/2 2005-01-01T00:00:00Z\ncaf\u{e9}\nhttps://other.example/\n\
             https://other.example/4\ns\n"
        );
    }
    // Entries before a cut count.
    let cut = r#"{"version": "https://jsonfeed.org/version/1", "items": [{"url": "/1"}, {"url": "/2"#;
    let found = listing(cut);
    assert_eq!((paths_of(&found), found.damage.is_some()), (vec!["/1".into()], true));
    let nulls = r#"{"version": "https://jsonfeed.org/version/1", "items": null, "hubs": null}"#;
    assert_eq!((listing(nulls).entries.len(), listing(nulls).damage), (0, None));
    for other in [
        "\"https://jsonfeed.org/version/1\"",
        r#"{"about": "https://jsonfeed.org/version/1", "items": [{"url": "/1"}]}"#,
        r#"{"version": "1", "see": "jsonfeed.org"}"#,
        r#"["https://jsonfeed.org/version/1"]"#,
    ] {
        assert!(read_as(other, "application/json").is_none(), "{other}");
    }
}

#[test]
fn an_odd_item_of_a_json_feed_costs_no_other() {
    for (odd, path) in [
        (r#"{"url": "/1", "title": "\ud83d"}"#, Some("/1")),
        (r#"{"url": "/1", "title": "\ud83d\u0041\q"}"#, Some("/1")),
        ("{\"url\": \"/1\", \"title\": \"a\tb\nc\"}", Some("/1")),
        (r#"{"url": "/0", "id": 1e400, "url": "/1"}"#, Some("/0")),
        (r#"{"id": "https://example.com/1", "id": "https://example.com/2"}"#, Some("/1")),
        (r#"{"external_url": "https://example.com/1", "id": "https://example.com/2"}"#, Some("/2")),
        (r#"{"url": "/1",}"#, Some("/1")),
        (r#""x""#, None),
        ("null", None),
        ("[[{}], 7]", None),
    ] {
        let expected: Vec<String> = path.into_iter().chain(["/last"]).map(String::from).collect();
        for items in [
            format!(r#"[{odd}, {{"url": "/last"}},]"#),
            format!(r#"{{"0": {odd}, "1": {{"url": "/last"}}}}"#),
        ] {
            for version in [
                "https://jsonfeed.org/version/1.1",
                "http://jsonfeed.org/version/1",
                "https://www.jsonfeed.org/version/1/",
            ] {
                let found = listing(format!(r#"{{"version": "{version}", "items": {items}}}"#));
                assert_eq!(
                    (paths_of(&found), found.kind, found.damage),
                    (expected.clone(), ListingKind::Json, None),
                    "{items}"
                );
            }
        }
    }
    let deep = format!(
        r#"{{"version": "https://jsonfeed.org/version/1", "items": [{{"url": "/1"}}], "x": {}"#,
        "[".repeat(100_000)
    );
    assert_eq!((paths_of(&listing(&deep)), listing(&deep).damage.is_some()), (vec!["/1".into()], true));
}

#[test]
fn an_item_without_a_usable_link_has_its_next_best_url() {
    for (item, path) in [
        ("<enclosure url='/1.mp3' type='audio/mpeg'/><guid isPermaLink='false'>B-1</guid>", "/1.mp3"),
        ("<enclosure url='/1.mp3'/><guid>https://example.com/1</guid>", "/1"),
        ("<enclosure url='/1.mp3'/><link>/1</link>", "/1"),
        ("<link>see our home page:</link><guid>https://example.com/1</guid>", "/1"),
        ("<link>my file.html</link>", "/maps/my%20file.html"),
        ("<link>/my file.html</link><guid>https://example.com/1</guid>", "/my%20file.html"),
    ] {
        let found = listing(format!("<rss><channel><item>{item}</item></channel></rss>"));
        assert_eq!(paths_of(&found), [path], "{item}");
    }
}
