//! The URL canonicaliser. Input: a line with the address of a page, and a reference on that page.

use crate::{FuzzTarget, first_line};
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, Scheme, Site, UrlRules};
use std::cmp::Ordering;

/// The canonicaliser as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "url", check };

/// Asserts that a canonical URL is the canonical form of itself, that key and spelling are one another's
/// inverse, that keys sort as their parts do, and that limits hold.
pub fn check(data: &[u8]) {
    let (page, reference) = first_line(data);
    let (page, reference) = (String::from_utf8_lossy(page), String::from_utf8_lossy(reference));
    for rules in [UrlRules::default(), UrlRules::keep_all()] {
        let page = rules.canonicalize(&page).ok();
        let target = match &page {
            Some(page) => rules.join(&page.to_url(), &reference).ok(),
            None => rules.canonicalize(&reference).ok(),
        };
        for url in [&page, &target].into_iter().flatten() {
            is_canonical(url, &rules);
        }
        if let (Some(page), Some(target)) = (&page, &target) {
            assert_eq!(page.cmp(target), by_parts(page, target), "{page} and {target}: their order");
            assert_eq!(page.same_origin(target), page.origin_key() == target.origin_key());
            // Wherever it stands, an absolute reference means itself.
            let again = rules.join(&page.to_url(), &target.as_text());
            assert_eq!(again.as_ref(), Ok(target), "{target} on {page}");
        }
    }
    if let Ok(url) = CanonicalUrl::from_key(data) {
        assert_eq!(url.key(), data, "a key that was taken is another");
        assert!(url.path_and_query().starts_with('/') && !url.host().is_empty());
        assert_eq!(url.to_url().host_str(), Some(&*url.host()), "a key whose URL is another host's");
    }
}

fn is_canonical(url: &CanonicalUrl, rules: &UrlRules) {
    let text = url.as_text();
    assert_eq!(rules.canonicalize(&text).as_ref(), Ok(url), "{text} is not canonical itself");
    assert_eq!(CanonicalUrl::from_key(url.key()).as_ref(), Ok(url), "the key of {text}");
    let parsed = url.to_url();
    assert_eq!(parsed.as_str(), text, "the parser's spelling");
    assert!(text.len() <= MAX_URL_BYTES && url.key().len() <= MAX_URL_BYTES, "{text} is too long");
    assert!(
        text.bytes().all(|b| (0x21..0x7f).contains(&b)),
        "{text} has bytes that no request line may have"
    );
    assert!(url.port() > 0 && !url.host().is_empty() && url.path_and_query().starts_with('/'), "{text}");
    assert!(url.key().starts_with(url.origin_key()) && url.key().ends_with(url.path_and_query().as_bytes()));
    assert!(url.host().ends_with(Site::from_url(url).as_str()), "{text}: its site");
    for same in ["", "#", "#top"] {
        assert_eq!(rules.join(&parsed, same).as_ref(), Ok(url), "{same:?} on {text}");
    }
}

/// The one order as the documentation puts it: host with its labels reversed, port, scheme, path and query.
fn by_parts(a: &CanonicalUrl, b: &CanonicalUrl) -> Ordering {
    fn parts(url: &CanonicalUrl) -> (Vec<String>, u16, Scheme, &str) {
        let host = url.host();
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        let labels = match is_address {
            true => vec![host.to_string()],
            false => host.rsplit('.').map(str::to_owned).collect(),
        };
        (labels, url.port(), url.scheme(), url.path_and_query())
    }
    parts(a).cmp(&parts(b))
}
