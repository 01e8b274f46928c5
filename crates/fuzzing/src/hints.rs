//! Sitemaps and feeds. Input: as of pages.

use crate::FuzzTarget;
use crate::html::fields;
use flate2::Compression;
use flate2::write::GzEncoder;
use recrawl_extractor::{BodyFields, ExtractLimits, ExtractOptions, Extracted, Listing, extract};
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::io::Write;

/// Readers of sitemaps and feeds as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "hints", check };

/// Asserts that limits hold and a smaller one gives the first entries, that damage does not shake what stands
/// before it, and that gzip around a document changes nothing.
pub fn check(data: &[u8]) {
    let (fields, body) = fields(data);
    let rules = UrlRules::default();
    let url = rules.canonicalize("https://example.com/sitemap.xml").expect("a sound address");
    let read = |body: &[u8], fields: &BodyFields<'_>, limits: &ExtractLimits| {
        let options = ExtractOptions { limits: limits.clone(), ..ExtractOptions::default() };
        match extract(body, fields, &url, &rules, &options) {
            Extracted::Listing(hints, _) => Some(hints),
            _ => None,
        }
    };
    let all = ExtractLimits::default();
    let Some(hints) = read(body, &fields, &all) else { return };
    is_sound(&hints, &url, &all);
    let few = ExtractLimits { max_entries: 3, ..all.clone() };
    let part = read(body, &fields, &few).expect("a limit on entries does not decide what a body is");
    is_sound(&part, &url, &few);
    assert_eq!(part.kind, hints.kind);
    assert_eq!(part.entries, hints.entries[..hints.entries.len().min(few.max_entries)], "other entries");
    let bytes: usize = hints.entries.iter().map(|entry| entry.url.key().len() + 8).sum();
    assert_eq!(hints.comparable_bytes().len(), bytes + hints.text.len());
    assert!(hints.text.len() <= all.max_text && (hints.kind.is_feed() || hints.text.is_empty()));
    if fields.content_type.is_none() && !body.starts_with(&[0x1f, 0x8b]) {
        let packed = packed(body);
        assert_eq!(read(&packed, &fields, &all).as_ref(), Some(&hints), "inside gzip");
        let small = ExtractLimits { max_unpacked: body.len() / 2, ..all };
        if let Some(cut) = read(&packed, &fields, &small) {
            assert!(cut.damage.is_some(), "what was cut is not said to be");
            is_sound(&cut, &url, &small);
        }
    }
}

fn is_sound(hints: &Listing, own: &CanonicalUrl, limits: &ExtractLimits) {
    assert!(hints.entries.len() <= limits.max_entries);
    assert!(hints.over_limit == 0 || hints.entries.len() == limits.max_entries, "refused below the limit");
    assert!(hints.entries.iter().all(|entry| entry.url != *own), "the document lists itself");
    assert!(!hints.further.contains(own), "the document links to itself");
    if let Some(hub) = &hints.hub {
        assert!(hints.kind.is_feed(), "a sitemap has no hub");
        assert!(hub.topic.len() <= MAX_URL_BYTES);
        let topic = UrlRules::keep_all().canonicalize(&hub.topic).expect("a topic is a URL");
        assert_eq!(topic.host(), own.host(), "a topic of another host");
    }
    assert!(hints.damage.as_ref().is_none_or(|damage| !damage.is_empty()));
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::none());
    packer.write_all(body).expect("memory takes all");
    packer.finish().expect("memory takes all")
}
