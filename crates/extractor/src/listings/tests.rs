//! Handwritten sitemaps and feeds, valid and broken.

mod lenient;
mod sloppy;

use super::*;
use crate::{BodyFields, ExtractOptions, Extracted, extract};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use recrawl_types::Consent;
use std::io::Write;

const AT: &str = "https://example.com/maps/sitemap.xml";

fn extracted(body: &[u8], content_type: Option<&str>, limits: &ExtractLimits) -> Extracted {
    let rules = UrlRules::default();
    let fields = BodyFields { content_type, ..BodyFields::default() };
    let options = ExtractOptions { limits: limits.clone(), ..ExtractOptions::default() };
    extract(body, &fields, &rules.canonicalize(AT).unwrap(), &rules, &options)
}

fn listing(body: impl AsRef<[u8]>) -> Listing {
    match extracted(body.as_ref(), Some("application/xml"), &ExtractLimits::default()) {
        Extracted::Listing(listing, _) => listing,
        other => panic!("no listing: {other:?}"),
    }
}

/// URLs and dates.
fn entries(listing: &Listing) -> Vec<(String, u32)> {
    listing.entries.iter().map(|e| (e.url.as_text(), e.lastmod)).collect()
}

fn expect(listing: &Listing, kind: ListingKind, expected: &[(&str, u32)]) {
    let expected: Vec<(String, u32)> = expected.iter().map(|(u, l)| (u.to_string(), *l)).collect();
    assert_eq!((listing.kind, entries(listing)), (kind, expected), "{:?}", listing.damage);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const URLSET: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="s.xsl"?>
<!-- made by hand: <url><loc>/commented-out</loc></url> -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://example.com/a?x=1&amp;y=2</loc><lastmod>2005-01-01</lastmod><changefreq>monthly</changefreq></url>
<url>
  <loc>
    https://example.com/b&#x26;&#38;c
  </loc>
  <image:image><image:loc>https://example.com/image.png</image:loc></image:image>
  <lastmod> 2004-12-23T18:00:15+00:00 </lastmod>
</url>
<url><loc><![CDATA[https://example.com/c?x=1&y=2]]></loc><lastmod>yesterday</lastmod></url>
<url><lastmod>2005-01-01</lastmod></url>
<url><loc>https://example.com/maps/sitemap.xml</loc></url>
<url><loc>mailto:a@example.com</loc></url>
<url><loc>/d?raw=1&bare=2&amp</loc></url>
</urlset>
"#;

#[test]
fn sitemaps_org_xml_tag_definitions() {
    let found = listing(URLSET);
    expect(
        &found,
        ListingKind::Urlset,
        &[
            ("https://example.com/a?x=1&y=2", 1_104_537_600),
            ("https://example.com/b&&c", 1_103_824_815),
            ("https://example.com/c?x=1&y=2", 0),
            ("https://example.com/d?raw=1&bare=2&amp", 0),
        ],
    );
    assert_eq!((found.refused, found.over_limit, &found.damage), (2, 0, &None));
}

#[test]
fn sitemaps_org_using_sitemap_index_files() {
    let index = r#"<sm:sitemapindex xmlns:sm="http://www.google.com/schemas/sitemap/0.84">
        <sm:sitemap><sm:loc>http://example.com/s1.xml.gz</sm:loc><sm:lastmod>2004-10-01T18:23:17Z</sm:lastmod></sm:sitemap>
        <sm:sitemap><sm:loc>http://example.com/s2.xml.gz</sm:loc></sm:sitemap></sm:sitemapindex>"#;
    let expected = [("http://example.com/s1.xml.gz", 1_096_654_997), ("http://example.com/s2.xml.gz", 0)];
    expect(&listing(index), ListingKind::Index, &expected);
}

#[test]
fn sitemaps_org_text_file() {
    let head = "https://example.com/1\r\n\r\n  HTTPS://Example.com/2#x \nhttps://example.com/ü\n";
    let list = format!("\u{feff}{}nonsense\nhttp://[", head.repeat(7));
    for content_type in [Some("text/plain; charset=utf-8"), Some("application/octet-stream"), None] {
        let Extracted::Listing(found, _) =
            extracted(list.as_bytes(), content_type, &ExtractLimits::default())
        else {
            panic!("a list: {content_type:?}");
        };
        let expected = ["https://example.com/1", "https://example.com/2", "https://example.com/%C3%BC"];
        expect(&found, ListingKind::Text, &expected.map(|url| (url, 0)).repeat(7));
        assert_eq!(found.refused, 2);
    }
    let dated = "\"https://example.com/1\"\r\nhttps://example.com/2\t2005-01-01\u{2028}https://example.com/3 \t2005\n";
    let expected = [("/1", 0), ("/2", 1_104_537_600), ("/3", 1_104_537_600)];
    let expected = expected.map(|(path, date)| (format!("https://example.com{path}"), date));
    assert_eq!(entries(&listing(dated)), expected);
    for text in ["https://example.com/1\tname\n", "\"https://example.com/1\n"] {
        assert!(
            matches!(extracted(text.as_bytes(), None, &ExtractLimits::default()), Extracted::Page(_)),
            "{text}"
        );
    }
    for text in ["", "words\nhttps://example.com/\n", "https://example.com/ and words\n", "http://\n"] {
        let found = extracted(text.as_bytes(), Some("text/plain"), &ExtractLimits::default());
        assert!(matches!(found, Extracted::Page(_)), "{text:?}");
    }
}

#[test]
fn rss_2_0_and_its_forebears() {
    let feed = r#"<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">
        <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="x"><channel>
        <title>t</title><link>https://example.com/</link><lastBuildDate>Sat, 07 Sep 2002 00:00:01 GMT</lastBuildDate>
        <atom:link href="https://example.com/maps/sitemap.xml" rel="self"/>
        <item><title>A &eacute; title</title><atom:link href="https://example.com/not"/><link>https://example.com/1</link>
          <guid>tag:1</guid><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate>
          <description><![CDATA[<a href="https://example.com/in-text">x</a>]]></description>
          <source url="https://elsewhere.example/"><link>https://elsewhere.example/</link></source></item>
        <item><guid isPermaLink="true">https://example.com/2</guid><dc:date>2002-09-07</dc:date></item>
        <item><guid isPermaLink="false">https://example.com/none</guid></item>
        <item><guid>https://example.com/3</guid><link>https://example.com/4</link></item>
        <item><guid isPermaLink="false">5</guid><atom:link rel="edit" href="https://example.com/edit"/>
          <atom:link href="https://example.com/5"/></item>
        </channel></rss>"#;
    let found = listing(feed);
    expect(
        &found,
        ListingKind::Rss,
        &[
            ("https://example.com/1", 1_031_356_801),
            ("https://example.com/2", 1_031_356_800),
            ("https://example.com/4", 0),
            ("https://example.com/5", 0),
        ],
    );
    assert_eq!((found.refused, found.damage), (1, None));
    assert!(found.kind.is_feed());
}

#[test]
fn rss_1_0() {
    let feed = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <channel rdf:about="https://example.com/"><link>https://example.com/</link></channel>
        <item rdf:about="https://example.com/1"><link>https://example.com/1</link><dc:date>2002-09-07T00:00:01Z</dc:date></item>
        </rdf:RDF>"#;
    expect(&listing(feed), ListingKind::Rdf, &[("https://example.com/1", 1_031_356_801)]);
}

#[test]
fn rfc_4287_section_4_1_2_entries() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/maps/sitemap.xml"/><updated>2020-01-01T00:00:00Z</updated>
        <entry><link rel="edit" href="/edit"/><link rel="alternate" href="/1?a=1&amp;b=2"/><link href="/second"/>
          <updated>2002-09-07T00:00:01Z</updated><published>2001-01-01T00:00:00Z</published></entry>
        <entry><link href="2"></link><published>2002-09-07T00:00:01Z</published>
          <content type="xhtml"><div><link href="/in-content"/></div></content></entry>
        <entry><id>tag:example.com,2002:1</id></entry></feed>"#;
    let found = listing(feed);
    let expected =
        [("https://example.com/1?a=1&b=2", 1_031_356_801), ("https://example.com/maps/2", 1_031_356_801)];
    expect(&found, ListingKind::Atom, &expected);
    assert_eq!(found.refused, 1);
}

#[test]
fn whatever_the_content_type_says_and_pages_stay_pages() {
    for content_type in [
        Some("text/html"),
        Some("text/plain"),
        Some("text/xml; charset=utf-8"),
        Some("image/png"),
        Some("x"),
        None,
    ] {
        let found = extracted(URLSET.as_bytes(), content_type, &ExtractLimits::default());
        assert!(matches!(found, Extracted::Listing(h, _) if h.entries.len() == 4), "{content_type:?}");
    }
    for (body, is_page) in [
        ("<!DOCTYPE html><title>urlset</title><urlset><url><loc>/x</loc></url></urlset>", true),
        ("words, then <urlset></urlset>", true),
        ("<html xmlns='http://www.w3.org/1999/xhtml'><body><p>x</p></body></html>", true),
    ] {
        let found = extracted(body.as_bytes(), Some("text/html"), &ExtractLimits::default());
        assert_eq!(matches!(found, Extracted::Page(_)), is_page, "{body}");
    }
    for other in ["<svg/>", "<?xml version='1.0'?><root><item/></root>", "{}"] {
        let found = extracted(other.as_bytes(), Some("application/xml"), &ExtractLimits::default());
        assert!(matches!(found, Extracted::Page(page) if page.text == other), "{other}");
    }
}

#[test]
fn every_spelling_of_characters() {
    let xml = "<urlset><url><loc>https://example.com/ü</loc></url></urlset>";
    let utf_16 = |mark: [u8; 2], bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter().chain(xml.encode_utf16().flat_map(bytes)).collect()
    };
    let latin = |encoding: &str| {
        let mut bytes = format!("<?xml version='1.0' encoding=\"{encoding}\"?>").into_bytes();
        bytes.extend(xml.chars().map(|c| c as u32 as u8));
        bytes
    };
    for body in [
        xml.as_bytes().to_vec(),
        format!("\u{feff}  \n{xml}").into_bytes(),
        utf_16([0xff, 0xfe], u16::to_le_bytes),
        utf_16([0xfe, 0xff], u16::to_be_bytes),
        latin("ISO-8859-1"),
        latin("windows-1252"),
        format!("<?xml version='1.0' encoding='UTF-16'?>{xml}").into_bytes(),
        packed(&latin("latin1")),
    ] {
        expect(&listing(&body), ListingKind::Urlset, &[("https://example.com/%C3%BC", 0)]);
    }
}

#[test]
fn inside_gzip_once_or_twice_and_under_a_limit() {
    for content_type in [Some("application/gzip"), Some("application/x-gzip"), Some("text/xml"), None] {
        let found = extracted(&packed(URLSET.as_bytes()), content_type, &ExtractLimits::default());
        assert!(matches!(found, Extracted::Listing(h, _) if h.entries.len() == 4), "{content_type:?}");
    }
    let list = "https://example.com/1\nhttps://example.com/2\n";
    let found = extracted(&packed(list.as_bytes()), Some("application/gzip"), &ExtractLimits::default());
    assert!(matches!(found, Extracted::Listing(h, _) if h.kind == ListingKind::Text && h.entries.len() == 2));
    let limits = ExtractLimits { max_unpacked: list.len() - 2, ..ExtractLimits::default() };
    let found = extracted(&packed(list.as_bytes()), Some("application/gzip"), &limits);
    assert!(matches!(found, Extracted::Listing(h, _) if h.entries.len() == 1), "half an address is none");
    // Consecutive members are one document.
    let (one, two) = URLSET.split_at(400);
    let members = [packed(one.as_bytes()), packed(two.as_bytes())].concat();
    assert_eq!(listing(&members).entries.len(), 4);
    // Cut, broken, too large: the entries before the damage count.
    let whole = packed(URLSET.as_bytes());
    let cut = listing(&whole[..whole.len() - 12]);
    assert!(cut.damage.as_ref().is_some_and(|d| d.contains("end early")), "{:?}", cut.damage);
    let limits = ExtractLimits { max_unpacked: URLSET.len() - 200, ..ExtractLimits::default() };
    let Extracted::Listing(large, _) = extracted(&whole, None, &limits) else { panic!("a sitemap") };
    assert_eq!(large.entries.len(), 2);
    assert!(large.damage.as_ref().is_some_and(|d| d.contains("larger than the limit")), "{:?}", large.damage);
    // A decompression bomb costs the limit, and is no sitemap.
    let bomb = packed(&vec![0; 3 << 20]);
    let limits = ExtractLimits { max_unpacked: 1 << 20, ..ExtractLimits::default() };
    assert_eq!(
        extracted(&bomb, Some("application/gzip"), &limits),
        Extracted::Opaque(Consent::default(), Vec::new())
    );
    assert_eq!(listing(packed(&whole)).entries.len(), 4);
    let thrice = packed(&packed(&whole));
    assert_eq!(
        extracted(&thrice, Some("application/gzip"), &ExtractLimits::default()),
        Extracted::Opaque(Consent::default(), Vec::new())
    );
}

#[test]
fn what_stands_before_damage_counts_and_is_said_so() {
    let two = "<urlset><url><loc>/1</loc></url><url><loc>/2</loc><lastmod>2005-01-01</lastmod></url>";
    for (rest, says) in [
        ("", "ends within an element"),
        ("<url><loc>/3</loc>", "ends within an element"),
        ("<url><loc>/3", "ends within an element"),
        ("<url><loc>/3</lo", "at byte"),
        ("<url><loc>/3</loc><!-- ", "at byte"),
        ("<url attribute='", "at byte"),
        ("<![CDATA[ ", "at byte"),
    ] {
        let found = listing(format!("{two}{rest}"));
        assert_eq!(found.entries.len(), 2, "{rest}");
        assert!(found.damage.as_ref().is_some_and(|d| d.contains(says)), "{rest}: {:?}", found.damage);
    }
    // Wrong end tags close what is open.
    assert_eq!(listing("<urlset><url><loc>/1</link></url></b></urlset>").entries.len(), 1);
}

#[test]
fn hostile_documents_cost_what_they_weigh() {
    // Entities of entities: none is expanded, and fields that need them are refused.
    let mut laughs = String::from("<!DOCTYPE urlset [<!ENTITY l0 \"ha\">");
    for level in 1..20 {
        laughs += &format!("<!ENTITY l{level} \"{}\">", format!("&l{};", level - 1).repeat(10));
    }
    laughs += "<!ENTITY x SYSTEM \"file:///etc/passwd\">]><urlset><url><loc>/&l19;</loc></url><url><loc>/&x;</loc></url>\
               <url><loc>/sound</loc></url></urlset>";
    let found = listing(laughs);
    expect(&found, ListingKind::Urlset, &[("https://example.com/sound", 0)]);
    assert_eq!(found.refused, 2);
    // Two hundred thousand nested elements, with an entry after them.
    let deep = format!(
        "<urlset>{}{}<url><loc>/x</loc></url></urlset>",
        "<a>".repeat(200_000),
        "</a>".repeat(200_000)
    );
    assert_eq!(listing(deep).entries.len(), 1);
    let open = format!("<urlset><url><loc>/1</loc></url><url>{}", "<loc>".repeat(200_000));
    assert_eq!(listing(open).entries.len(), 1);
    // An attribute of megabytes, and a hundred thousand attributes.
    let huge = format!("<feed><entry><link x='{}' href='/1'/></entry></feed>", "y".repeat(5 << 20));
    assert_eq!(listing(huge).entries.len(), 1);
    let many: String = (0..100_000).map(|n| format!(" a{n}=''")).collect();
    assert_eq!(listing(format!("<feed><entry><link{many} href='/1'/></entry></feed>")).entries.len(), 1);
    // Endless texts.
    let long =
        format!("<urlset><url><loc>/{}</loc></url><url><loc>/2</loc></url></urlset>", "x".repeat(5 << 20));
    assert_eq!(listing(long).entries.len(), 1);
    // More entries than allowed.
    let entries: String = (0..200_000).map(|n| format!("<url><loc>/{n}</loc></url>")).collect();
    let found = listing(format!("<urlset>{entries}</urlset>"));
    assert_eq!((found.entries.len(), found.over_limit, &found.damage), (50_000, 150_000, &None));
    // Fifty thousand URLs of the maximum length exceed a record of the log.
    let tail = "x".repeat(1_900);
    let entries: String = (0..50_000).map(|n| format!("<url><loc>/{n}/{tail}</loc></url>")).collect();
    let found = listing(format!("<urlset>{entries}</urlset>"));
    let bytes: usize = found.entries.iter().map(|e| e.url.key().len()).sum();
    assert!((MAX_ADDRESSES..MAX_ADDRESSES + 2_000).contains(&bytes), "{bytes}");
    assert_eq!(found.entries.len() + found.over_limit as usize, 50_000);
}

#[test]
fn only_entries_and_dates_are_compared() {
    let feed = |built: &str, date: &str| {
        listing(format!(
            "<rss><channel><lastBuildDate>{built}</lastBuildDate><item><link>/1</link><pubDate>{date}</pubDate></item></channel></rss>"
        ))
        .comparable_bytes()
    };
    let (monday, tuesday) = ("Mon, 02 Sep 2002 00:00:00 GMT", "Tue, 03 Sep 2002 00:00:00 GMT");
    assert_eq!(feed(monday, monday), feed(tuesday, monday));
    assert_ne!(feed(monday, monday), feed(monday, tuesday));
}

proptest! {
    #[test]
    fn any_bytes_are_read_within_their_limits(
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            "(<(urlset|rss|feed|rdf:RDF|sitemapindex)>)?(</?(url|item|entry|loc|link|lastmod|!--|!\\[CDATA\\[|!DOCTYPE|\\?xml)[ >/'\"]{0,2}|&[a-z#0-9]{0,4};?|/[a-z]{0,3}|[ \n]){0,60}"
                .prop_map(String::into_bytes),
        ],
        is_packed: bool,
    ) {
        let body = if is_packed { packed(&body) } else { body };
        let limits = ExtractLimits { max_entries: 3, max_unpacked: 200, ..ExtractLimits::default() };
        if let Extracted::Listing(found, _) = extracted(&body, None, &limits) {
            prop_assert!(found.entries.len() <= 3);
        }
    }

    /// A well-formed document is read completely and in order.
    #[test]
    fn entries_come_out_in_their_order(
        paths in proptest::collection::vec(("[a-z0-9/]{1,12}", 1u32..4_291_747_199), 0..40), is_packed: bool,
    ) {
        let entry = |(path, date): &(String, u32)| {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(*date));
            format!("<item><link>https://example.com/p/{path}</link><pubDate>{}</pubDate></item>", http_date(at))
        };
        let feed = format!("<rss><channel>{}</channel></rss>", paths.iter().map(entry).collect::<String>());
        let feed = if is_packed { packed(feed.as_bytes()) } else { feed.into_bytes() };
        let found = listing(&feed);
        let expected: Vec<(String, u32)> = paths
            .iter()
            .map(|(path, date)| (UrlRules::default().canonicalize(&format!("https://example.com/p/{path}")).unwrap().as_text(), *date))
            .collect();
        prop_assert_eq!(entries(&found), expected);
        prop_assert_eq!((found.refused, found.over_limit, found.damage), (0, 0, None));
    }
}

/// A date as HTTP and RSS write it, from another implementation.
fn http_date(at: std::time::SystemTime) -> String {
    httpdate::fmt_http_date(at)
}

/// Hub and topic of a feed with these `Link` fields.
fn hub(fields: &[&str], body: &str) -> Option<(String, String)> {
    let rules = UrlRules::default();
    let links = fields.iter().map(|field| (*field).into()).collect();
    let fields = BodyFields { content_type: Some("application/xml"), links, ..BodyFields::default() };
    match extract(
        body.as_bytes(),
        &fields,
        &rules.canonicalize(AT).unwrap(),
        &rules,
        &ExtractOptions::default(),
    ) {
        Extracted::Listing(listing, _) => listing.hub.map(|hub| (hub.url.as_text(), hub.topic)),
        other => panic!("no listing: {other:?}"),
    }
}

#[test]
fn the_hub_of_a_feed_is_its_first_usable_one() {
    let hub_link = "<atom:link rel='hub' href='https://hub.example/?utm_source=x'/>";
    let own = |href: &str| format!("<link rel='self' href='{href}'/>");
    let rss = |links: &str| {
        format!("<rss><channel><link>/</link>{links}<item><link>/a</link></item></channel></rss>")
    };
    let atom = |links: &str| format!("<feed>{links}<entry><link href='/a'/></entry></feed>");
    let rdf =
        |links: &str| format!("<rdf:RDF><channel>{links}</channel><item><link>/a</link></item></rdf:RDF>");
    let is_it = Some(("https://hub.example/?utm_source=x".to_owned(), AT.to_owned()));
    for feed in [rss(hub_link), atom(hub_link), rdf(hub_link)] {
        assert_eq!(hub(&[], &feed), is_it, "{feed}");
    }
    let field = "<https://hub.example/?utm_source=x>; rel=hub";
    assert_eq!(hub(&[field], &atom("")), is_it);
    assert_eq!(
        hub(&[field], &atom("<link rel='hub' href='https://other.example/'/>")),
        is_it,
        "fields first"
    );
    assert_eq!(hub(&["</a>; rel=next", field, "<https://third.example/>; rel=hub"], &rss("")), is_it);
    let unusable = "<link rel='hub' href='mailto:a@b.example'/><link rel='hub'/>";
    assert_eq!(hub(&[], &atom(&format!("{unusable}{hub_link}"))), is_it);
    // Another page's hub, a hub of an entry, no feed.
    assert_eq!(hub(&["<https://hub.example/>; rel=hub; anchor=\"/other\""], &atom("")), None);
    assert_eq!(hub(&[], &format!("<feed><entry>{hub_link}</entry></feed>")), None);
    assert_eq!(hub(&[field], "<urlset/>"), None);
    // The topic is as written, but on the feed's host.
    for (href, topic) in [
        ("https://example.com", "https://example.com"),
        ("http://EXAMPLE.com:80/feed/?utm_medium=rss", "http://EXAMPLE.com:80/feed/?utm_medium=rss"),
        ("feed.atom", "https://example.com/maps/feed.atom"),
        ("https://other.example/feed", AT),
        ("javascript:alert(1)", AT),
    ] {
        let found = hub(&[], &atom(&(own(href) + hub_link))).unwrap();
        assert_eq!(found.1, topic, "{href}");
    }
    let fields = [field, "<https://example.com/f>; rel=self"];
    assert_eq!(hub(&fields, &atom(&own("/g"))).unwrap().1, "https://example.com/f");
}

#[test]
fn what_the_items_of_a_feed_say_is_text() {
    let rss = |item: &str| {
        format!("<rss version='2.0'><channel><title>now</title><item>{item}</item></channel></rss>")
    };
    for (item, text) in [
        ("<link>/a</link><title>A &amp;amp; B</title>", "https://example.com/a\nA & B\n"),
        (
            "<title>T</title><description><![CDATA[<p>one</p><p>two<img src=x></p>]]></description>",
            "T\none\ntwo\n",
        ),
        ("<description>&lt;b&gt;bold&lt;/b&gt;&nbsp;and caf&eacute;</description>", "bold and caf\u{e9}\n"),
        ("<description>a</description><encoded>whole</encoded><comments>7</comments>", "a\nwhole\n"),
        (
            "<link>/a</link><pubDate>Sat, 01 Jan 2005 00:00:00 GMT</pubDate><title>T</title>",
            "https://example.com/a 2005-01-01T00:00:00Z\nT\n",
        ),
    ] {
        assert_eq!(listing(rss(item)).text, text, "{item}");
    }
    let atom = "<feed><entry><link href='/a'/><title>T</title><content type='xhtml'><div>one<br/>two</div></content></entry></feed>";
    assert_eq!(listing(atom).text, "https://example.com/a\nT\none two\n");
    let rdf = "<RDF><item><link>/a</link><title>T</title><description>d</description></item></RDF>";
    assert_eq!(listing(rdf).text, "https://example.com/a\nT\nd\n");
    assert_eq!(listing(URLSET).text, "");
    // Cut at a limit, between characters.
    let long = rss(&format!("<title>{}</title>", "\u{e9}".repeat(100)));
    let limits = ExtractLimits { max_text: 21, ..ExtractLimits::default() };
    let Extracted::Listing(cut, _) = extracted(long.as_bytes(), None, &limits) else { panic!("a feed") };
    assert_eq!(cut.text, format!("{}\n", "\u{e9}".repeat(10)));
}

#[test]
fn an_edited_item_is_another_content_and_the_time_of_the_feed_is_none() {
    let bytes = |feed: &str, title: &str, text: &str| {
        let feed = format!(
            "<rss><channel><lastBuildDate>{feed}</lastBuildDate><item><link>/a</link><title>{title}</title><description>{text}</description></item></channel></rss>"
        );
        listing(feed).comparable_bytes()
    };
    assert_eq!(bytes("now", "T", "d"), bytes("later", "T", "d"));
    assert_ne!(bytes("now", "T", "d"), bytes("now", "U", "d"));
    assert_ne!(bytes("now", "T", "d"), bytes("now", "T", "e"));
}
