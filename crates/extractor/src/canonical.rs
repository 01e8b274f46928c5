//! The URL that a page declares as canonical (RFC 6596): `<link rel=canonical>` in its head, and
//! `Link` header fields.
//!
//! Claims that do not parse are ignored. If several claims differ, none is believed, as in search
//! engines: a page that contradicts itself is more often broken than a duplicate.

use recrawl_types::{Canonical, CanonicalUrl, UrlRules};

/// Collects the claims of one page.
#[derive(Debug)]
pub(crate) struct Claims<'p> {
    page: &'p CanonicalUrl,
    canonical: Canonical,
}

impl<'p> Claims<'p> {
    pub(crate) fn new(page: &'p CanonicalUrl) -> Claims<'p> {
        Claims { page, canonical: Canonical::Unclaimed }
    }

    /// Adds a resolved claim.
    pub(crate) fn add(&mut self, target: CanonicalUrl) {
        let claim = if target == *self.page { Canonical::Itself } else { Canonical::Other(target) };
        match &self.canonical {
            Canonical::Unclaimed => self.canonical = claim,
            before if *before == claim => {}
            _ => self.canonical = Canonical::Contradictory,
        }
    }

    /// Adds the claims of a `Link` field (RFC 8288).
    pub(crate) fn header(&mut self, value: &str, rules: &UrlRules) {
        let page = self.page;
        links_of_page(value, page, rules, |link| {
            if link.rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case("canonical"))
                && let Ok(target) = rules.join(&page.to_url(), link.target)
            {
                self.add(target);
            }
        });
    }

    pub(crate) fn decide(self) -> Canonical {
        self.canonical
    }
}

/// Gives each link of a `Link` field that is about this page. A link with another
/// context (§3.2) says nothing about it.
pub(crate) fn links_of_page(
    value: &str,
    page: &CanonicalUrl,
    rules: &UrlRules,
    mut take: impl FnMut(&HeaderLink<'_>),
) {
    links(value, |link| {
        let is_own = |anchor: &str| rules.join(&page.to_url(), anchor).ok().as_ref() == Some(page);
        if link.anchor.is_none_or(is_own) {
            take(&link);
        }
    });
}

/// A link of a `Link` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderLink<'v> {
    pub(crate) target: &'v str,
    /// The first `rel` (§3.3): relation types separated by spaces.
    pub(crate) rel: &'v str,
    /// Has it a `hreflang`?
    pub(crate) has_language: bool,
    /// `type`; empty if there is none.
    pub(crate) media_type: &'v str,
    anchor: Option<&'v str>,
}

/// Parses `<target>; parameter; parameter, <target>…` (RFC 8288, appendix B.2). Quoted values are
/// used without unescaping: no relation type and no URL needs a backslash.
fn links<'v>(value: &'v str, mut take: impl FnMut(HeaderLink<'v>)) {
    let mut rest = value;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        let Some(close) = rest.find('>') else { return };
        let target = rest[..close].trim();
        let mut link = HeaderLink { target, rel: "", has_language: false, media_type: "", anchor: None };
        rest = &rest[close + 1..];
        while let Some(behind) = rest.trim_start().strip_prefix(';') {
            let (name, value, after) = parameter(behind);
            if name.eq_ignore_ascii_case("rel") && link.rel.is_empty() {
                link.rel = value;
            } else if name.eq_ignore_ascii_case("anchor") {
                link.anchor = Some(value);
            } else if name.eq_ignore_ascii_case("hreflang") {
                link.has_language = true;
            } else if name.eq_ignore_ascii_case("type") {
                link.media_type = value;
            }
            rest = after;
        }
        take(link);
        // Text before the next comma belongs to no link.
        rest = rest.find(',').map_or("", |comma| &rest[comma + 1..]);
    }
}

/// Name, value and remaining text.
fn parameter(text: &str) -> (&str, &str, &str) {
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = (text[..end].trim(), &text[end..]);
    let Some(value) = rest.strip_prefix('=') else { return (name, "", rest) };
    let value = value.trim_start();
    if let Some(quoted) = value.strip_prefix('"') {
        let end = closing_quote(quoted);
        return (name, &quoted[..end], quoted.get(end + 1..).unwrap_or(""));
    }
    let end = value.find([';', ',']).unwrap_or(value.len());
    (name, value[..end].trim(), &value[end..])
}

/// Offset of the closing quote, which no backslash escapes.
fn closing_quote(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(url: &str) -> CanonicalUrl {
        UrlRules::default().canonicalize(url).unwrap()
    }

    /// The canonical URL that `Link` fields of https://a.example/dir/page claim, or a word.
    fn claimed(fields: &[&str]) -> String {
        let page = at("https://a.example/dir/page");
        let mut claims = Claims::new(&page);
        fields.iter().for_each(|value| claims.header(value, &UrlRules::default()));
        match claims.decide() {
            Canonical::Unclaimed => "-".into(),
            Canonical::Itself => "itself".into(),
            Canonical::Contradictory => "several".into(),
            Canonical::Other(url) => url.to_string(),
        }
    }

    #[test]
    fn rfc_8288_link_fields() {
        for (fields, expected) in [
            (&["<https://a.example/x>; rel=\"canonical\""][..], "https://a.example/x"),
            (&["<x?a=1,2>; rel=canonical"], "https://a.example/dir/x?a=1,2"),
            (&["<//b.example/>;REL=CANONICAL"], "https://b.example/"),
            (&["</x>; title=\"a, <y>; rel=\\\"\"; rel=\"next canonical\""], "https://a.example/x"),
            (&["</y>; rel=next, </x>; rel=canonical"], "https://a.example/x"),
            (&["</y>; rel=\"preload\"; as=style", "</x>; rel=canonical"], "https://a.example/x"),
            // The first rel counts.
            (&["</x>; rel=next; rel=canonical"], "-"),
            (&["</x>; anchor=\"/other\"; rel=canonical"], "-"),
            (&["</x>; anchor=\"#part\"; rel=canonical"], "https://a.example/x"),
            (&["<page>; rel=canonical"], "itself"),
            (&["<https://A.example:443/dir/page#part>; rel=canonical"], "itself"),
            (&["</x>; rel=canonical", "<https://a.example/x>; rel=canonical"], "https://a.example/x"),
            (&["</x>; rel=canonical, </y>; rel=canonical"], "several"),
            (&["</x>; rel=canonical, <page>; rel=canonical"], "several"),
            (&["<mailto:a@b.c>; rel=canonical, <http://[::1>; rel=canonical"], "-"),
            (&["mailto:a@b.c; rel=canonical", "</x", "<>", "", "</x>; rel"], "-"),
        ] {
            assert_eq!(claimed(fields), expected, "{fields:?}");
        }
    }

    proptest! {
        #[test]
        fn any_field_is_read(value in "[<>;,=\"\\\\a-z /]{0,60}") {
            let claim = claimed(&[&value, "</x>; rel=canonical"]);
            prop_assert!(claim != "-", "{}", value);
        }
    }
}
