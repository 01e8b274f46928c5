use super::*;
use crate::admission::blocks::Blocks;
use proptest::prelude::*;

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).unwrap()
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text, &UrlRules::default()).unwrap()
}

#[test]
fn a_prefix_without_a_path_says_how_to_write_it() {
    for text in ["https://example.com", "https://example.com:443", "http://127.0.0.1:9600", "http://[::1]:80"]
    {
        let why = Pattern::named_prefix(text).unwrap_err();
        assert!(why.contains("write the whole host and a /"), "{text}: {why}");
    }
    assert!(Pattern::named_prefix("https://example.com:443/a").is_ok());
    assert!(Pattern::named_prefix("https://example.com:x/").unwrap_err().contains("port"), "it is none");
}

/// Watching `/p/2` once told of `/p/20`.
#[test]
fn a_pattern_means_what_it_says() {
    for (text, pages, others) in [
        ("*", &["http://a.test/", "https://b.test:8443/x?y"][..], &[][..]),
        (
            "Example.com",
            &["http://example.com/", "https://example.com:8443/a"],
            &["http://www.example.com/", "http://example.org/"],
        ),
        (
            "*.example.com",
            &["http://example.com/", "http://a.b.example.com/"],
            &["http://notexample.com/", "http://example.com.test/"],
        ),
        (
            "HTTPS://Example.com/p/2",
            &["https://example.com/p/2", "https://example.com/p/2?utm_source=x"],
            &[
                "https://example.com/p/20",
                "https://example.com/p/2/",
                "https://example.com/p/2?a=1",
                "http://example.com/p/2",
                "https://example.com:8443/p/2",
            ],
        ),
        ("https://example.com", &["https://example.com/"], &["https://example.com/a"]),
        ("https://example.com/p/", &["https://example.com/p/"], &["https://example.com/p/2"]),
        (
            "https://example.com/p?a=1",
            &["https://example.com/p?a=1"],
            &["https://example.com/p", "https://example.com/p?a=12"],
        ),
        (
            "https://example.com/p/*",
            &["https://example.com/p/", "https://example.com/p/2?x"],
            &["https://example.com/p", "http://example.com/p/2"],
        ),
        (
            "https://example.com/p/2*",
            &["https://example.com/p/2", "https://example.com/p/20"],
            &["https://example.com/p/3"],
        ),
        (
            "https://example.com/p?*",
            &["https://example.com/p?a"],
            &["https://example.com/p", "https://example.com/pq"],
        ),
        ("https://example.com/.*", &["https://example.com/.well-known/x"], &["https://example.com/a"]),
        ("http://example.com:8080/*", &["http://example.com:8080/a"], &["http://example.com/a"]),
        (r"https://example.com/a\*b", &["https://example.com/a*b"], &["https://example.com/axb"]),
        (r"https://example.com/a\**", &["https://example.com/a*b"], &["https://example.com/ab"]),
    ] {
        let pattern = pattern(text);
        for page in pages {
            assert!(pattern.matches(&url(page)), "{text} {page}");
        }
        for other in others {
            assert!(!pattern.matches(&url(other)), "{text} {other}");
        }
        assert_eq!(Pattern::try_from(pattern.to_string()), Ok(pattern));
    }
}

#[test]
fn what_is_no_pattern_is_refused_with_the_forms() {
    for wrong in [
        "",
        "a/b",
        "a.example:80",
        "https://",
        "ftp://a.example/",
        "https://a.example*",
        "https://a.example/*/b",
        "https://*.a.example/",
        "https://a.example/x#*",
    ] {
        let error = Pattern::parse(wrong, &UrlRules::default()).unwrap_err().to_string();
        assert!(error.ends_with(FORMS), "{wrong}: {error}");
    }
    assert!(Pattern::of_some("*", &UrlRules::default()).is_err() && Pattern::host("*").is_err());
    let told = Pattern::host("a/b").unwrap_err();
    assert!(told.ends_with("or *.example.com"), "no `*`, which is refused: {told}");
    assert!(serde_json::from_str::<Pattern>("\"x y\"").is_err());
}

#[test]
fn sites_and_hosts_of_patterns() {
    for (text, sites) in
        [("www.a.co.uk", ["a.co.uk"].as_slice()), ("*.a.co.uk", &["a.co.uk"]), ("*.uk", &["a.co.uk"])]
    {
        let pattern = pattern(text);
        assert!(sites.iter().all(|site| pattern.touches_site(site)), "{text}");
        assert!(!pattern.touches_site("b.example") && !pattern.covers_host("a.example"), "{text}");
    }
    assert!(!pattern("http://a.example/*").covers_host("a.example"));
    for (host, expected) in [
        ("a.example.com", [true, true, true, true]),
        ("www.a.example.com", [false, true, false, false]),
        ("example.com", [false, false, false, false]),
    ] {
        let patterns =
            ["a.example.com", "*.a.example.com", "https://a.example.com/x/*", "https://a.example.com/x/"];
        assert_eq!(patterns.map(|text| pattern(text).meets_host(host)), expected, "{host}");
    }
}

/// Texts of patterns that often meet.
fn texts() -> impl Strategy<Value = String> {
    let host =
        prop::sample::select(vec!["a.test", "b.a.test", "c.b.a.test", "ba.test", "127.0.0.1", "[::1]"]);
    let url = ("https?", host.clone(), "(:81)?", "/[ab/]{0,3}(\\?[ab]{0,2})?");
    let url = url.prop_map(|(scheme, host, port, rest)| format!("{scheme}://{host}{port}{rest}"));
    prop_oneof![
        1 => Just("*".to_owned()),
        2 => host.clone().prop_map(str::to_owned),
        2 => host.prop_map(|host| format!("*.{host}")),
        4 => url.clone(),
        4 => url.prop_map(|url| format!("{url}*")),
    ]
}

fn pages() -> impl Strategy<Value = CanonicalUrl> {
    let host =
        prop::sample::select(vec!["a.test", "b.a.test", "c.b.a.test", "ba.test", "127.0.0.1", "[::1]"]);
    ("https?", host, "(:81)?", "/[ab/]{0,4}(\\?[ab]{1,2})?")
        .prop_map(|(scheme, host, port, rest)| url(&format!("{scheme}://{host}{port}{rest}")))
}

proptest! {
    /// Every place asks `matches`, or an index or a relation that must not differ from it.
    #[test]
    fn all_places_that_match_agree(one in texts(), other in texts(), page in pages()) {
        let (one, other) = (pattern(&one), pattern(&other));
        let matches = [one.matches(&page), other.matches(&page)];
        for (pattern, matches) in [(&one, matches[0]), (&other, matches[1])] {
            prop_assert_eq!(&Pattern::try_from(pattern.to_string()).unwrap(), pattern, "stored and read");
            let by_key = match pattern.key_prefixes() {
                Some(prefixes) => prefixes.iter().any(|prefix| page.key().starts_with(prefix)),
                None => *pattern == Pattern::Page(page.clone()),
            };
            prop_assert_eq!(by_key, matches, "walks by key: promises");
            prop_assert_eq!(Blocks::from_patterns([pattern].into_iter()).cover(&page).is_some(), matches, "blocks");
            let host = page.host();
            prop_assert!(!pattern.covers_host(&host) || matches, "a takedown of all that a host has");
            prop_assert!(!matches || pattern.meets_host(&host), "what concerns a host");
            prop_assert_eq!(Blocks::from_patterns([pattern].into_iter()).cover_host(&host).is_some(), pattern.covers_host(&host));
        }
        let both = Blocks::from_patterns([&one, &other].into_iter());
        prop_assert_eq!(both.cover(&page).is_some(), matches[0] || matches[1]);
        prop_assert!(both.cover(&page).is_none_or(|found| found.matches(&page)));
        prop_assert!(!one.covers(&other) || !matches[1] || matches[0], "a rule that never applies");
        prop_assert!(!(matches[0] && matches[1]) || one.meets(&other), "what stays in force");
    }
}
