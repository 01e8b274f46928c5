use super::*;

const NOW: u64 = 1_790_000_000_000;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// The cookies that a chain sends to the second URL after the first one set these.
fn sent(from: &str, set: &[&str], to: &str) -> String {
    let mut headers = HeaderMap::new();
    for field in set {
        headers.append(SET_COOKIE, HeaderValue::from_bytes(field.as_bytes()).unwrap());
    }
    let mut cookies = Cookies::default();
    cookies.take(&headers, &url(from), NOW);
    let field = cookies.field(&url(to));
    assert!(field.as_ref().is_none_or(HeaderValue::is_sensitive));
    field.map_or_else(String::new, |field| String::from_utf8(field.as_bytes().to_vec()).unwrap())
}

#[test]
fn rfc_6265_section_5_2_a_cookie_is_read_as_leniently_as_browsers_do() {
    for (set, expected) in [
        ("a=b", "a=b"),
        (" a = b c ; HttpOnly; SameSite=Lax", "a=b c"),
        ("a=b=c==", "a=b=c=="),
        ("a=", "a="),
        ("=b", "b"),
        ("alone", "alone"),
        ("a=\"q\"", "a=\"q\""),
        ("a=ü", "a=ü"),
        ("", ""),
        ("=", ""),
        (";a=b", ""),
    ] {
        assert_eq!(sent("http://a.test/", &[set], "http://a.test/"), expected, "{set:?}");
    }
}

#[test]
fn rfc_6265_section_5_3_and_5_4_a_cookie_goes_where_it_may() {
    for (from, set, to, goes) in [
        ("http://a.test/", "a=b", "http://a.test/x", true),
        ("http://a.test/", "a=b", "http://a.test:8080/", true),
        ("http://a.test/", "a=b", "http://b.a.test/", false),
        ("http://a.test/", "a=b", "http://b.test/", false),
        ("http://w.a.test/", "a=b; Domain=a.test", "http://b.a.test/", true),
        ("http://w.a.test/", "a=b; domain=.A.test", "http://a.test/", true),
        ("http://a.test/", "a=b; Domain=a.test", "http://xa.test/", false),
        ("http://a.test/", "a=b; Domain=b.test", "http://b.test/", false),
        ("http://a.test/", "a=b; Domain=b.a.test", "http://a.test/", false),
        ("http://a.test/", "a=b; Domain=", "http://a.test/", true),
        // For all sites of a public suffix.
        ("http://a.co.uk/", "a=b; Domain=co.uk", "http://b.co.uk/", false),
        ("http://a.test/", "a=b; Domain=test", "http://b.test/", false),
        ("http://127.0.0.1/", "a=b; Domain=0.0.1", "http://127.0.0.1/", false),
        ("http://127.0.0.1/", "a=b; Domain=127.0.0.1", "http://127.0.0.1:80/", true),
        ("http://[::1]/", "a=b", "http://[::1]/", true),
        // Paths.
        ("http://a.test/d/page", "a=b", "http://a.test/d/other", true),
        ("http://a.test/d/page", "a=b", "http://a.test/d", true),
        ("http://a.test/d/page", "a=b", "http://a.test/", false),
        ("http://a.test/d/page", "a=b", "http://a.test/dx", false),
        ("http://a.test/d/page", "a=b; Path=/", "http://a.test/x", true),
        ("http://a.test/d/page", "a=b; Path=relative", "http://a.test/d/x", true),
        ("http://a.test/", "a=b; Path=/e/", "http://a.test/e", false),
        ("http://a.test/", "a=b; Path=/e/", "http://a.test/e/x?y", true),
        // Secure ones.
        ("https://a.test/", "a=b; Secure", "https://a.test/", true),
        ("https://a.test/", "a=b; Secure", "http://a.test/", false),
        ("http://a.test/", "a=b; Secure", "https://a.test/", false),
        ("https://a.test/", "a=b", "http://a.test/", true),
        ("https://a.test/", "__Secure-a=b; Secure", "https://a.test/", true),
        ("https://a.test/", "__Secure-a=b", "https://a.test/", false),
        ("https://a.test/", "__Host-a=b; Secure; Path=/", "https://a.test/", true),
        ("https://a.test/", "__Host-a=b; Secure", "https://a.test/", false),
        ("https://w.a.test/", "__Host-a=b; Secure; Path=/; Domain=a.test", "https://a.test/", false),
        // Those that are past.
        ("http://a.test/", "a=b; Max-Age=1", "http://a.test/", true),
        ("http://a.test/", "a=b; Max-Age=0", "http://a.test/", false),
        ("http://a.test/", "a=b; Max-Age=-1", "http://a.test/", false),
        ("http://a.test/", "a=b; Max-Age=soon", "http://a.test/", true),
        ("http://a.test/", "a=b; Expires=Thu, 01-Jan-1970 00:00:01 GMT", "http://a.test/", false),
        ("http://a.test/", "a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "http://a.test/", false),
        ("http://a.test/", "a=b; Expires=Mon, 01-Jan-01 00:00:01 GMT", "http://a.test/", false),
        ("http://a.test/", "a=b; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "http://a.test/", true),
        ("http://a.test/", "a=b; Expires=Wed Jun  9 10:18:14 2100", "http://a.test/", true),
        ("http://a.test/", "a=b; Expires=0", "http://a.test/", true),
        ("http://a.test/", "a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=9", "http://a.test/", true),
    ] {
        let expected = if goes { set.split(';').next().unwrap() } else { "" };
        assert_eq!(sent(from, &[set], to), expected, "{set} of {from} to {to}");
    }
}

#[test]
fn later_cookies_replace_and_delete_earlier_ones_and_longer_paths_come_first() {
    let both = |set: &[&str]| sent("http://a.test/d/", set, "http://a.test/d/");
    assert_eq!(both(&["a=1", "b=2", "a=3"]), "a=3; b=2");
    assert_eq!(both(&["a=1", "b=2", "a=; Max-Age=0"]), "b=2");
    assert_eq!(both(&["a=1; Path=/", "b=2; Path=/d"]), "b=2; a=1");
    assert_eq!(both(&["a=1; Path=/", "a=2; Path=/d"]), "a=2; a=1", "two cookies");
}

#[test]
fn the_cookies_of_a_chain_are_bounded() {
    let many: Vec<String> = (0..200).map(|i| format!("n{i}=1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(sent("http://a.test/", &many, "http://a.test/").split("; ").count(), MAX_COOKIES);
    let long = format!("long={}", "x".repeat(MAX_COOKIE_BYTES));
    assert_eq!(sent("http://a.test/", &["a=b", &long], "http://a.test/"), "a=b");
}
