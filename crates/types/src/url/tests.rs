//! Canonical form and order.

use super::*;
use proptest::prelude::*;

fn canonical(text: &str) -> String {
    UrlRules::default().canonicalize(text).unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
}

#[test]
fn every_normalisation_of_the_list_is_applied() {
    for (spelling, expected) in [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com/#top", "http://example.com/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
        ("http://example.com/%7euser/%e4", "http://example.com/~user/%E4"),
        ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
        ("http://example.com/100%", "http://example.com/100%"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?utm_source=x", "http://example.com/"),
        ("http://example.com/?UTM_Source=x&id=1", "http://example.com/?id=1"),
        ("http://example.com/?id=1&gclid=2&b=3", "http://example.com/?id=1&b=3"),
        ("http://example.com/a;jsessionid=12?x=1", "http://example.com/a?x=1"),
        ("http://example.com/a;v=1/b", "http://example.com/a;v=1/b"),
        ("http://example.com/?%75tm_source=x&a=1", "http://example.com/?a=1"),
        ("http://example.com/a;%73id=a1b2c3/b", "http://example.com/a/b"),
        (
            "http://example.com/?sid=7&SessionId=keynote2024",
            "http://example.com/?sid=7&SessionId=keynote2024",
        ),
        ("http://example.com/?sid=&session_id=0123456789abcdef&x=1", "http://example.com/?x=1"),
        ("http://example.com/a/..;cfid=1/b", "http://example.com/a/..;cfid=1/b"),
        ("http://example.com/%2%65/%%34%31", "http://example.com/%2%65/%%341"),
        ("http://example.com./", "http://example.com/"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[::FFFF:127.0.0.1]:8080/", "http://[::ffff:7f00:1]:8080/"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
    ] {
        assert_eq!(canonical(spelling), expected, "{spelling}");
    }
}

/// Programs write `;` between parameters, or escape `&` twice.
#[test]
fn parameters_end_at_a_semicolon_unless_the_rules_are_older() {
    let id = "0123456789abcdef0123456789abcdef";
    for (spelling, expected) in [
        ("/cgi?t=5;sid=ID", "/cgi?t=5"),
        ("/cgi?sid=ID;t=5", "/cgi?t=5"),
        ("/cgi?a=1;sid=ID&b=2;c=3", "/cgi?a=1&b=2;c=3"),
        ("/cgi?t=5&amp;sid=ID", "/cgi?t=5"),
        ("/cgi?t=5&amp;amp;sid=ID&amp;u=6", "/cgi?t=5&amp;u=6"),
        ("/cgi?a=1;b=2&amp;c;d", "/cgi?a=1;b=2&amp;c;d"),
        ("/cgi?to=/x;jsessionid=ID", "/cgi?to=/x"),
        ("/cgi?;&;", "/cgi?;&;"),
        // These are parts of values.
        ("/cgi?utm_source=a;b&c=1", "/cgi?c=1"),
        ("/cgi?a=1;sid", "/cgi?a=1;sid"),
        ("/a%3Bjsessionid=ID", "/a"),
        ("/a%3bv=1;jsessionid=ID/b", "/a%3Bv=1/b"),
    ] {
        let url = format!("http://example.com{}", spelling.replace("ID", id));
        assert_eq!(canonical(&url), format!("http://example.com{expected}"));
    }
    let earlier = UrlRules::earlier_defaults();
    for rules in &earlier {
        for (spelling, expected) in [
            ("/cgi?t=5;sid=ID", "/cgi?t=5;sid=ID"),
            ("/cgi?sid=ID;t=5", "/cgi"),
            ("/cgi?a=1&sid=ID&amp;b=2", "/cgi?a=1&amp;b=2"),
            ("/a%3Bjsessionid=ID;cfid=7", "/a%3Bjsessionid=ID"),
        ] {
            let [url, expected] =
                [spelling, expected].map(|path| format!("http://example.com{}", path.replace("ID", id)));
            assert_eq!(rules.canonicalize(&url).unwrap().to_string(), expected, "{url}");
        }
    }
    let names = |rules: &UrlRules| rules.drop_parameters.join(" ");
    assert!(
        names(&earlier[0]).contains(" sid sessionid session_id cfid")
            && !names(&earlier[0]).contains([';', '{'])
    );
    assert_eq!(format!("; {}", names(&earlier[1])), names(&UrlRules::default()));
}

#[test]
fn ports_of_other_protocols_are_refused_and_the_reason_is_told() {
    let rules = UrlRules::default();
    for port in [0, 1, 22, 25, 6000, 6379, 10080, 11211] {
        for text in [format!("http://example.com:{port}/"), format!("https://[::1]:{port}/x")] {
            let error = rules.canonicalize(&text).unwrap_err();
            assert_eq!(error, UrlError::Port(port), "{text}");
            assert!(error.to_string().contains(&format!("port {port} ")), "{error}");
        }
    }
    for port in [2, 80, 443, 8000, 8080, 8443, 65535] {
        assert!(rules.canonicalize(&format!("http://example.com:{port}/")).is_ok(), "{port}");
    }
    let base = ::url::Url::parse("http://example.com/").unwrap();
    assert_eq!(rules.join(&base, "//example.com:25/"), Err(UrlError::Port(25)), "links and redirects too");
}

#[test]
fn more_than_two_slashes_before_a_host_are_two() {
    let (rules, base) = (UrlRules::default(), ::url::Url::parse("https://example.com/a/b").unwrap());
    for href in
        ["//c.example/d", "///c.example/d", "////c.example/d", " \n\\\\\\c.example/d", "/\\/c.example/d"]
    {
        assert_eq!(rules.join(&base, href).unwrap().to_string(), "https://c.example/d", "{href:?}");
    }
    assert_eq!(rules.join(&base, "/c//d").unwrap().to_string(), "https://example.com/c//d");
}

#[test]
fn the_scheme_of_feed_readers_is_one_of_http() {
    let (rules, base) = (UrlRules::default(), ::url::Url::parse("https://example.com/a/b").unwrap());
    for (feed, url) in [
        ("feed://c.example/d", "http://c.example/d"),
        (" FEED:https://c.example/d", "https://c.example/d"),
        ("feed:http://c.example/d", "http://c.example/d"),
    ] {
        assert_eq!(rules.join(&base, feed).unwrap().to_string(), url, "{feed:?}");
        assert_eq!(rules.canonicalize(feed).unwrap().to_string(), url, "{feed:?}");
    }
    for other in ["feed:d", "feed:/d", "feed:ftp://c.example/d", "feed:feed://c.example/"] {
        assert_eq!(rules.join(&base, other), Err(UrlError::Scheme("feed".into())), "{other:?}");
    }
    assert_eq!(rules.join(&base, "feeds://c.example/d"), Err(UrlError::Scheme("feeds".into())));
    assert_eq!(rules.join(&base, "feed").unwrap().to_string(), "https://example.com/a/feed");
}

#[test]
fn what_servers_may_tell_apart_is_left_alone() {
    for text in [
        "http://example.com/A",
        "http://example.com/a/",
        "http://example.com/index.html",
        "http://example.com/?b=1&a=2",
        "http://www.example.com/",
        "http://example.com/?a=1&&b",
    ] {
        assert_eq!(canonical(text), text);
    }
}

#[test]
fn what_cannot_be_crawled_is_refused_with_a_reason() {
    let rules = UrlRules::default();
    let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
    let huge = format!("http://example.com/{}", "a".repeat(1 << 20));
    let long_host = format!("http://{}.com/", "a".repeat(250));
    for (text, want) in [
        ("ftp://example.com/", "scheme"),
        ("mailto:a@example.com", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("example.com", "not a URL"),
        ("http://", "not a URL"),
        ("http://./", "host"),
        ("http://a..b/", "host"),
        (long_host.as_str(), "host"),
        ("http://example.com:0/", "port 0"),
        (long.as_str(), "limit"),
        (huge.as_str(), "limit"),
    ] {
        let error = rules.canonicalize(text).expect_err(&text[..text.len().min(40)]).to_string();
        assert!(error.contains(want), "{}: {error}", &text[..text.len().min(40)]);
    }
}

#[test]
fn the_order_is_host_reversed_then_port_scheme_path() {
    let in_order = [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://example.com/",
        "http://example.com/a",
        "http://example.com/a?b",
        "http://example.com/b",
        "https://example.com:80/a",
        "https://example.com/a",
        "http://a.example.com/",
        "http://z.a.example.com/",
        "http://b.example.com/",
        "http://example-x.com/",
        "http://example.org/",
    ];
    let keys: Vec<_> = in_order.map(|t| UrlRules::default().canonicalize(t).unwrap()).to_vec();
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(keys, sorted);
}

#[test]
fn parts_of_a_key_come_back() {
    let url = UrlRules::default().canonicalize("https://a.b.example.com:8443/p/q?r=s").unwrap();
    assert_eq!(url.host(), "a.b.example.com");
    assert_eq!((url.port(), url.scheme(), url.path_and_query()), (8443, Scheme::Https, "/p/q?r=s"));
    let other = UrlRules::default().canonicalize("https://a.b.example.com:8443/").unwrap();
    assert!(url.same_origin(&other));
    let plain = UrlRules::default().canonicalize("http://a.b.example.com:8443/").unwrap();
    assert!(!url.same_origin(&plain));
}

#[test]
fn an_origin_has_a_home_page() {
    for url in ["http://a.example:8080/x", "https://www.a.example/", "http://[::1]/y?z", "http://127.0.0.1/"]
    {
        let url = UrlRules::keep_all().canonicalize(url).unwrap();
        let home = CanonicalUrl::home_of(&Origin::from_url(&url));
        assert_eq!(home, url.at_origin("/"), "{url}");
    }
}

#[test]
fn a_damaged_key_is_refused() {
    let good = UrlRules::default().canonicalize("http://example.com/a").unwrap();
    assert_eq!(CanonicalUrl::from_key(good.key()).unwrap(), good);
    for cut in 0..good.key().len() - 2 {
        assert!(CanonicalUrl::from_key(&good.key()[..cut]).is_err(), "cut at {cut}");
    }
    for rest in
        [&b"\x00\x50\x07/"[..], b"\x00\x50\x00a", b"\x00\x00\x00/", b"\x00\x50\x00/ ", b"\x00\x50\x00"]
    {
        assert!(CanonicalUrl::from_key(&[b"com\0", rest].concat()).is_err(), "{rest:?}");
    }
}

/// Bytes that look like a key, with a host that no URL has: the URL of such a key would not parse.
#[test]
fn a_key_with_a_host_that_no_parser_makes_is_refused() {
    let taken = |host: &str| CanonicalUrl::from_key(&[host.as_bytes(), b"\0\x00\x50\x00/"].concat());
    for host in [
        "",
        "\x01",
        "com\x01",
        "com\x01\x01a",
        "com.a",
        "COM",
        "a%",
        "a:b",
        "a@b",
        "a^b",
        "a|b",
        "a b",
        "a#",
        "a?",
        "a/",
        "a\\b",
        "a<",
        "[",
        "[]",
        "[::1",
        "[::1]x",
        "[x]",
        "[::1.2.3.4]",
        "1",
        "1\x01a",
        "0x\x01a",
        "0x1f",
        "1.2.3",
        "1.2.3.256",
        "01.2.3.4",
        "1.2.3.4\x01a",
        "xn--",
        "xn--a",
        "com\x01xn--0",
        "xn--ls8h=",
        "com\x01xn--A",
    ] {
        assert!(taken(host).is_err(), "{host:?}");
    }
    for host in
        ["a", "com\x01a", "1a", "com\x011", "0xg", "1.2.3.4", "[::1]", "com\x01a_b", "de\x01xn--bcher-kva"]
    {
        let url = taken(host).unwrap_or_else(|e| panic!("{host:?}: {e}"));
        assert_eq!(UrlRules::default().canonicalize(url.to_url().as_str()), Ok(url), "{host:?}");
    }
}

#[test]
fn another_path_of_an_origin_is_made_however_long_the_host_is() {
    // Such hosts are rejected now, but an older version may have stored one.
    let host = "a".repeat(MAX_URL_BYTES - 5);
    let page = CanonicalUrl::from_key(&[host.as_bytes(), b"\0\x00\x50\x00/"].concat()).unwrap();
    let robots = page.at_origin("/robots.txt");
    assert_eq!((robots.path_and_query(), robots.origin_key()), ("/robots.txt", page.origin_key()));
}

fn any_url() -> impl Strategy<Value = String> {
    let host = prop_oneof![
        "[a-zA-Z0-9]{1,8}(\\.[a-zA-Z0-9-]{1,6}){0,3}\\.?",
        "[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}",
        "\\[[0-9a-f]{1,4}::[0-9a-f]{1,4}\\]",
    ];
    let tail = "(:[0-9]{1,5})?(/([ -~äß%]{0,20}|[.%;][%.;sid=12eE6]{0,12})){0,4}(\\?([ -~é%&=]{0,30}|[%7369sid&=]{0,12}|(&|;|amp;|sid|=|0a1b2|x){0,9}))?(#[ -~]{0,5})?";
    ("https?://", host, tail).prop_map(|(a, b, c)| format!("{a}{b}{c}"))
}

proptest! {
    #[test]
    fn canonical_form_is_idempotent_and_the_key_is_lossless(text in any_url()) {
        let rules = UrlRules::default();
        if let Ok(url) = rules.canonicalize(&text) {
            let again = rules.canonicalize(&url.to_string()).unwrap();
            prop_assert_eq!(&again, &url, "{} -> {} -> {}", text, url, again);
            prop_assert_eq!(CanonicalUrl::from_key(url.key()).unwrap(), url.clone());
            prop_assert_eq!(String::from(url.to_url()), url.to_string());
        }
    }

    #[test]
    fn any_bytes_are_no_key_or_those_of_a_url_that_parses(
        host in "([a-c1-3A.:\\[\\]%_x-]|\\x01|xn--){1,8}", port in 0u16..3, path in "[ -~]{0,4}",
    ) {
        let key = [host.as_bytes(), &[0], &port.to_be_bytes(), &[0], path.as_bytes()].concat();
        if let Ok(url) = CanonicalUrl::from_key(&key) {
            let parsed = url.to_url();
            prop_assert_eq!(parsed.host_str(), Some(&*url.host()));
        }
    }

    #[test]
    fn any_text_is_refused_or_becomes_a_url_within_the_limit(text in "\\PC{0,200}") {
        let base = ::url::Url::parse("http://example.com/a/").unwrap();
        let rules = UrlRules::default();
        for url in [rules.canonicalize(&text), rules.join(&base, &text)].into_iter().flatten() {
            prop_assert!(url.as_text().len() <= MAX_URL_BYTES);
            prop_assert!(url.path_and_query().starts_with('/'));
        }
    }
}

#[test]
fn a_host_that_no_server_can_have_is_refused_before_its_punycode_is_decoded() {
    let rules = UrlRules::default();
    let base = ::url::Url::parse("https://example.com/a/").unwrap();
    let long = "a".repeat(800);
    for host in [
        format!("xn--{long}"),
        format!("user@%78n--{long}.com"),
        format!("www.xn--{long}.com:80"),
        long.clone(),
    ] {
        for (before, behind) in
            [("http://", ""), ("https:\\\\", "/x"), ("//", "?q"), ("/\t/", "#f"), (" ht\ntp:", "")]
        {
            let refused = rules.join(&base, &format!("{before}{host}{behind}"));
            assert!(matches!(refused, Err(UrlError::HostTooLong(_))), "{before}{host}{behind}: {refused:?}");
        }
        assert!(matches!(rules.canonicalize(&format!("http://{host}/")), Err(UrlError::HostTooLong(_))));
    }
    for path in [long.as_str(), &format!("/{long}"), &format!("?{long}"), &format!("//b.example/{long}")] {
        assert!(rules.join(&base, path).is_ok(), "{path}");
    }
}

#[test]
fn the_folders_of_a_key_are_its_prefixes_up_to_each_slash_of_the_path() {
    for (url, folders) in [
        ("http://a.test/", &["/"][..]),
        ("http://a.test/x?y=/z/", &["/"]),
        ("https://a.test:8443/x/y/z", &["/", "/x/", "/x/y/"]),
        ("http://[::1]/x//?", &["/", "/x/", "/x//"]),
    ] {
        let key = UrlRules::keep_all().canonicalize(url).unwrap();
        let origin = key.origin_key().len();
        let found: Vec<&[u8]> = CanonicalUrl::folders(key.key()).map(|end| &key.key()[origin..end]).collect();
        assert_eq!(found, folders.iter().map(|folder| folder.as_bytes()).collect::<Vec<_>>(), "{url}");
    }
    for odd in [&b""[..], b"a/b", b"a\0", b"a\0/"] {
        assert_eq!(CanonicalUrl::folders(odd).count(), 0);
    }
}
