//! Hostile sitemaps.

use super::{Action, FaultKind, FaultRequest};
use std::fmt::Write;

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SPACE: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

/// A sitemap.
pub const SITEMAP: FaultKind = FaultKind {
    name: "sitemap",
    help: "a hostile sitemap; value: loop (an index of itself), deep (an endless chain of indexes), wide (an index \
           of 50,000), huge (100,000 pages), laughs (nested entities), cut (in the middle of an entry) or \
           elsewhere (pages of other hosts), default loop",
    parse: |value| {
        let shape = value.unwrap_or("loop").to_string();
        if !["loop", "deep", "wide", "huge", "laughs", "cut", "elsewhere"].contains(&shape.as_str()) {
            return Err(format!("unknown sitemap {shape:?}"));
        }
        Ok(Box::new(move |request: &FaultRequest| Action::Page {
            fields: vec![("content-type", "application/xml".into())],
            body: body(&shape, request).into(),
        }))
    },
};

/// URLs are relative: a fault does not know the name of its host.
fn body(shape: &str, request: &FaultRequest) -> String {
    let (path, level) = request.target.split_once("?level=").unwrap_or((request.target, "0"));
    let next = level.parse::<u64>().unwrap_or(0) + 1;
    match shape {
        "loop" => index([path.to_string()]),
        "deep" => index([format!("{path}?level={next}"), format!("{path}?level={next}&b")]),
        "wide" => index((0..50_000).map(|n| format!("/sitemap-{n}.xml"))),
        "huge" => pages((0..100_000).map(|n| format!("/listed/{n}"))),
        "elsewhere" => pages(["http://169.254.169.254/latest".into(), "http://mock.invalid/".into()]),
        "cut" => {
            let whole = pages(["/private/open-a".to_string(), "/private/open-b".to_string()]);
            whole[..whole.len() - 40].to_string()
        }
        _ => {
            let mut text = String::from("<?xml version=\"1.0\"?>\n<!DOCTYPE urlset [<!ENTITY l0 \"ha\">\n");
            for level in 1..20 {
                let below = level - 1;
                writeln!(text, "<!ENTITY l{level} \"{}\">", format!("&l{below};").repeat(10))
                    .expect("memory takes every byte");
            }
            text + &format!("]>\n<urlset {SPACE}><url><loc>/&l19;</loc></url></urlset>\n")
        }
    }
}

fn index(addresses: impl IntoIterator<Item = String>) -> String {
    let entry = |a: String| format!("<sitemap><loc>{}</loc></sitemap>\n", a.replace('&', "&amp;"));
    let entries: String = addresses.into_iter().map(entry).collect();
    format!("{XML}<sitemapindex {SPACE}>\n{entries}</sitemapindex>\n")
}

fn pages(addresses: impl IntoIterator<Item = String>) -> String {
    let entries: String = addresses.into_iter().map(|a| format!("<url><loc>{a}</loc></url>\n")).collect();
    format!("{XML}<urlset {SPACE}>\n{entries}</urlset>\n")
}
