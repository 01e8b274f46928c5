//! Applies the page directives that the configuration obeys. docs/consent.md has the table.

use crate::config;
use recrawl_extractor::{BodyFields, FoundLink};
use recrawl_fetcher::Response;
use recrawl_types::{Canonical, CanonicalUrl, Consent, Site};
use std::borrow::Cow;

/// The headers of a response that describe its body.
pub fn fields(response: &Response) -> BodyFields<'_> {
    let all = |name: &str| -> Vec<Cow<'_, str>> {
        response.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect()
    };
    BodyFields {
        content_type: response.content_type.as_deref(),
        nosniff: all("x-content-type-options")
            .first()
            .is_some_and(|v| v.trim().eq_ignore_ascii_case("nosniff")),
        robots_tags: all("x-robots-tag"),
        links: all("link"),
        refresh: response.headers.get("refresh").map(|value| isomorphic(value.as_bytes()).into()),
        queries: None,
    }
}

/// One character for each byte, as browsers read this field.
fn isomorphic(value: &[u8]) -> String {
    value.iter().map(|byte| char::from(*byte)).collect()
}

impl config::Consent {
    /// May the body be archived? `at` is when the page was visited, in milliseconds since 1970.
    pub fn admits_archive(&self, consent: &Consent, at: u64) -> bool {
        let kept_out =
            self.noindex && consent.forbids_index(at / 1000) || self.noarchive && consent.noarchive;
        !kept_out
    }

    /// May its links be followed?
    pub fn follows(&self, consent: &Consent) -> bool {
        !(self.nofollow && consent.nofollow)
    }

    /// The links of a page that may be followed, and its canonical URL.
    pub fn links(&self, found: Vec<FoundLink>, consent: &Consent) -> Vec<FoundLink> {
        let canonical = consent.canonical.other().filter(|_| self.canonical).cloned();
        let follows = |nofollow: bool| !(self.link_nofollow && nofollow);
        let mut links: Vec<FoundLink> = found.into_iter().filter(|link| follows(link.nofollow)).collect();
        if let Some(url) = canonical.filter(|url| links.iter().all(|link| link.url != *url)) {
            links.push(FoundLink { url, nofollow: false, anchor: String::new(), framed: false });
        }
        links
    }
}

/// A canonical claim in one word, for reports. Whether a page of another site agrees is unknown.
pub fn claim(canonical: &Canonical, page: &CanonicalUrl) -> Option<&'static str> {
    match canonical {
        Canonical::Unclaimed => None,
        Canonical::Itself => Some("itself"),
        Canonical::Contradictory => Some("contradictory"),
        Canonical::Other(url) if Site::from_url(url) == Site::from_url(page) => Some("other"),
        Canonical::Other(_) => Some("other_site"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_extractor::{ExtractOptions, Extracted, extract};
    use recrawl_types::UrlRules;

    fn at(url: &str) -> CanonicalUrl {
        UrlRules::default().canonicalize(url).unwrap()
    }

    fn links(obeyed: &config::Consent, html: &str) -> Vec<String> {
        let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
        let (rules, options) = (UrlRules::default(), ExtractOptions::default());
        let extracted = extract(html.as_bytes(), &fields, &at("http://a.example/p"), &rules, &options);
        let Extracted::Page(page) = extracted else { panic!("HTML is a page") };
        if !obeyed.follows(&page.consent) {
            return Vec::new();
        }
        let followed = obeyed.links(page.links, &page.consent);
        followed.iter().map(|link| link.url.path_and_query().to_owned()).collect()
    }

    #[test]
    fn links_are_followed_as_far_as_the_owner_and_the_configuration_say() {
        const PAGE: &str =
            "<link rel=canonical href=/c><a href=/1>1</a><a rel=ugc href=/2>2</a><a href=/c>c</a>";
        let obeys = config::Consent::default();
        assert_eq!(links(&obeys, PAGE), ["/1", "/c"]);
        assert_eq!(links(&obeys, "<link rel=canonical href=/c><a href=/1>1</a>"), ["/1", "/c"]);
        let closed = format!("<meta name=robots content=nofollow>{PAGE}");
        assert_eq!(links(&obeys, &closed), [""; 0]);
        let deaf = config::Consent { nofollow: false, link_nofollow: false, canonical: false, ..obeys };
        assert_eq!(links(&deaf, &closed), ["/1", "/2", "/c"]);
        assert_eq!(links(&deaf, "<link rel=canonical href=/c>"), [""; 0]);
    }

    #[test]
    fn a_body_is_archived_unless_its_owner_is_against_it_and_obeyed() {
        let none = Consent::default();
        let noindex = Consent { noindex: true, ..none.clone() };
        let noarchive = Consent { noarchive: true, ..none.clone() };
        let dated = Consent { unavailable_after: Some(10), ..none.clone() };
        let obeys = config::Consent::default();
        assert!(obeys.admits_archive(&none, 0) && obeys.admits_archive(&dated, 9_999));
        for consent in [&noindex, &noarchive, &dated] {
            assert!(!obeys.admits_archive(consent, 10_000), "{consent:?}");
        }
        let deaf = config::Consent { noindex: false, noarchive: false, ..obeys };
        assert!([noindex, noarchive, dated].iter().all(|consent| deaf.admits_archive(consent, 10_000)));
    }

    #[test]
    fn claims_in_a_word() {
        let page = at("http://www.a.example/p");
        let word = |url: &str| claim(&Canonical::Other(at(url)), &page);
        assert_eq!(word("https://a.example/p"), Some("other"));
        assert_eq!(word("https://b.example/p"), Some("other_site"));
        assert_eq!(claim(&Canonical::Unclaimed, &page), None);
        assert_eq!(claim(&Canonical::Itself, &page), Some("itself"));
    }
}
