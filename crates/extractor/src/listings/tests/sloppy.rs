//! Sitemaps and feeds as they are on the Web: bases, identifiers, missing tags and entities.

use super::*;

/// The URLs of a document's entries.
fn urls(body: &str) -> Vec<String> {
    listing(body).entries.iter().map(|entry| entry.url.as_text()).collect()
}

#[test]
fn rfc_4287_section_2_references_are_relative_to_xml_base() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/blog/">
        <link rel="hub" href="hub"/><link rel="self" href="atom.xml"/>
        <entry><link href="1"/></entry>
        <entry xml:base="2002/"><link href="2"/></entry>
        <entry xml:base="/news/"><link xml:base="deep/" href="3"/><link href="4"/></entry>
        <entry xml:base="http://other.example/a/b"><link href="5"/></entry>
        <entry><title xml:base="https://title.example/">t</title><link href="6"/></entry>
        <entry xml:base="https://other.example/"><link href="https://example.com/7"/></entry>
        <entry xml:base=" ../up/ "><link rel="Alternate" href="8"></link></entry>
        <entry xml:base="urn:nothing"><link href="none"/></entry>
        <entry xml:base=""><link href="9"/></entry>
        <entry><link rel="http://www.iana.org/assignments/relation/alternate" href="10?a=1&b=2"/></entry></feed>"#;
    let found = listing(feed);
    let expected = [
        "https://example.com/blog/1",
        "https://example.com/blog/2002/2",
        "https://example.com/news/deep/3",
        "http://other.example/a/5",
        "https://example.com/blog/6",
        "https://example.com/7",
        "https://example.com/up/8",
        "https://example.com/blog/9",
        "https://example.com/blog/10?a=1&b=2",
    ];
    expect(&found, ListingKind::Atom, &expected.map(|url| (url, 0)));
    assert_eq!(found.refused, 1);
    let hub = found.hub.unwrap();
    assert_eq!(
        (hub.url.as_text(), hub.topic),
        ("https://example.com/blog/hub".into(), "https://example.com/blog/atom.xml".into())
    );
    let rss = "<rss xml:base='/a/'><channel xml:base='b/'><item><link>c</link></item></channel></rss>";
    assert_eq!(urls(rss), ["https://example.com/a/b/c"]);
    // A relative base is one of the document, and ends with its element.
    let relative =
        "<feed><entry xml:base='x/'><link href='1'/></entry><entry><link href='2'/></entry></feed>";
    assert_eq!(urls(relative), ["https://example.com/maps/x/1", "https://example.com/maps/2"]);
}

#[test]
fn an_identifier_that_is_no_url_is_not_requested() {
    let item = |guid: &str| urls(&format!("<rss><channel><item>{guid}</item></channel></rss>"));
    assert_eq!(item("<guid>https://example.com/1</guid>"), ["https://example.com/1"]);
    assert_eq!(item("<guid isPermaLink='TRUE'> HTTP://example.com/1 </guid>"), ["http://example.com/1"]);
    for guid in [
        "<guid>tag:example.com,2002:1</guid>",
        "<guid>urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a</guid>",
        "<guid>1234 at https://example.com</guid>",
        "<guid isPermaLink='true'>post-17</guid>",
        "<guid>/17</guid>",
        "<guid>example.com/17</guid>",
        "<guid>ftp://example.com/17</guid>",
        "<guid isPermaLink='false'>https://example.com/1</guid>",
        "<guid isPermaLink=' False '>https://example.com/1</guid>",
    ] {
        assert_eq!(item(guid), [""; 0], "{guid}");
        assert_eq!(item(&format!("{guid}<link>/2</link>")), ["https://example.com/2"], "{guid}");
    }
}

#[test]
fn an_address_is_read_without_what_is_around_it_and_none_is_made_up() {
    let loc = |loc: &str| urls(&format!("<urlset><url><loc>{loc}</loc></url></urlset>"));
    for (text, url) in [
        ("\u{feff}https://example.com/1", "https://example.com/1"),
        ("&#xFEFF;\u{a0}https://example.com/1\u{200b}\u{3000}", "https://example.com/1"),
        ("\n\thttps://example.com/\n\t  1\n", "https://example.com/1"),
        ("<![CDATA[ https://example.com/1 ]]>", "https://example.com/1"),
        ("https://example.com/<!-- -->1<?x?>", "https://example.com/1"),
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("//other.example/1", "https://other.example/1"),
        ("/1", "https://example.com/1"),
        ("example.com/1", "https://example.com/1"),
        ("www.example.com", "https://www.example.com/"),
        ("EXAMPLE.com:8080/1?x", "https://example.com:8080/1?x"),
        ("www.other.example/1", "https://www.other.example/1"),
    ] {
        assert_eq!(loc(text), [url], "{text:?}");
    }
    for text in [
        "1",
        "page.html",
        "other.example/1",
        "../1",
        "?x",
        "#x",
        "",
        "\u{feff}",
        "ftp://example.com/",
        "mailto:a@example.com",
    ] {
        assert_eq!(loc(text), [""; 0], "{text:?}");
    }
    let list = "\u{feff}https://example.com/1 \u{feff}\r\n\u{feff} https://example.com/2\n";
    assert_eq!(urls(list), ["https://example.com/1", "https://example.com/2"]);
    // The links of a feed may be relative.
    assert_eq!(
        urls("<rss><channel><item><link>page.html</link></item></channel></rss>"),
        ["https://example.com/maps/page.html"]
    );
}

#[test]
fn a_tag_that_is_not_closed_costs_no_entry() {
    for (sitemap, many) in [
        ("<urlset><url><loc>/1</loc><lastmod>2005-01-01</url><url><loc>/2</loc></url></urlset>", 2),
        ("<urlset><url><loc>/1</loc><lastmod></url><url><loc>/2</loc></url></urlset>", 2),
        (
            "<urlset><url><loc>/1<lastmod>2005-01-01</lastmod></url><url><loc>/2</url><url><loc>/3</loc></url></urlset>",
            3,
        ),
        ("<urlset><url><loc>/1</loc><url><loc>/2</loc></url><url><loc>/3</loc></urlset>", 3),
        (
            "<urlset><url><loc>/1</loc></lastmod></b><lastmod>2005-01-01</lastmod></url></url></foo><url><loc>/2</loc></url></urlset>",
            2,
        ),
        ("<urlset><url><changefreq><loc>/1</loc></changefreq></url><url><loc>/2</loc></url></urlset>", 1),
        ("<urlset></br></p><url><loc>/1</loc></url></urlset>", 1),
        ("<urlset><url><priority><b><loc>/0</loc></url><url><loc>/1</loc></url></urlset>", 1),
    ] {
        let found = listing(sitemap);
        assert_eq!((found.entries.len(), &found.damage), (many, &None), "{sitemap}: {:?}", entries(&found));
    }
    let dated = listing("<urlset><url><loc>/1<lastmod>2005-01-01<url><loc>/2</loc></urlset>");
    expect(
        &dated,
        ListingKind::Urlset,
        &[("https://example.com/1", 1_104_537_600), ("https://example.com/2", 0)],
    );
    let feed = "<rss><channel><p><item><link>/1</link><description>a <b> b</description></item>\
                <item><link>/2</link><pubDate>07 Sep 2002</item><item><link>/3</link></item></channel></rss>";
    assert_eq!(urls(feed), ["https://example.com/1", "https://example.com/2", "https://example.com/3"]);
}

#[test]
fn the_other_languages_of_a_sitemap_entry_are_entries_behind_the_others() {
    let link = |language: &str, href: &str| {
        format!("<xhtml:link rel='alternate' hreflang='{language}' href='{href}'/>")
    };
    let all = link("de", "https://example.com/de")
        + &link("en", "https://example.com/en")
        + &link("fr", "/fr?a=1&amp;b=2");
    let sitemap = format!(
        "<urlset><url><loc>https://example.com/en</loc>{all}<lastmod>2005-01-01</lastmod></url>\
         <url>{all}<loc>https://example.com/last</loc>{}{}<xhtml:link rel='canonical' href='/c'/></url></urlset>",
        link("it", "/it").replace("alternate", "x Alternate"),
        link("es", "es"),
    );
    let expected = [
        ("https://example.com/en", 1_104_537_600),
        ("https://example.com/last", 0),
        ("https://example.com/de", 0),
        ("https://example.com/fr?a=1&b=2", 0),
        ("https://example.com/it", 0),
    ];
    let found = listing(&sitemap);
    expect(&found, ListingKind::Urlset, &expected);
    assert_eq!((found.refused, found.over_limit), (0, 0));
    // They take no place of an entry.
    let limits = ExtractLimits { max_entries: 3, ..ExtractLimits::default() };
    let Extracted::Listing(few, _) = extracted(sitemap.as_bytes(), None, &limits) else {
        panic!("a sitemap")
    };
    expect(&few, ListingKind::Urlset, &expected[..3]);
}

#[test]
fn entities_of_the_document_are_expanded_within_limits() {
    let entities = r#"<!DOCTYPE urlset [ <!-- <!ENTITY site "https://comment.example"> --> <!ENTITY % p "x"> <!ELEMENT url ANY>
        <!ENTITY site "https://example.com"> <!ENTITY site 'https://second.example'> <!ENTITY blog "&site;/blog&#47;">
        <!ENTITY out SYSTEM "out.xml"> <!ENTITY tag "<b>"> <!ENTITY self "&self;"> ]>"#;
    let locs = ["&site;/1", "&blog;2?a&amp;b", "/&out;", "/&tag;", "/&self;", "/&unknown;", "/&#x33;&lt;"];
    let entries: String = locs.iter().map(|loc| format!("<url><loc>{loc}</loc></url>")).collect();
    let found = listing(format!("{entities}<urlset>{entries}</urlset>"));
    let expected = ["https://example.com/1", "https://example.com/blog/2?a&b", "https://example.com/3%3C"];
    expect(&found, ListingKind::Urlset, &expected.map(|url| (url, 0)));
    let feed = format!("{entities}<feed><entry><link href='&blog;1?a=1&b=2&amp;c'/></entry></feed>")
        .replace("urlset [", "feed [");
    assert_eq!(urls(&feed), ["https://example.com/blog/1?a=1&b=2&c"]);
}

#[test]
fn utf_16_is_known_by_its_first_bytes() {
    let xml =
        "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>https://example.com/ü</loc></url></urlset>";
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let body: Vec<u8> = xml.encode_utf16().flat_map(order).collect();
        expect(&listing(&body), ListingKind::Urlset, &[("https://example.com/%C3%BC", 0)]);
    }
}
