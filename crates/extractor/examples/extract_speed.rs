//! Time to extract one page: `cargo run --release -p recrawl-extractor --example extract_speed
//! [FILE.html]…`
//!
//! Without files, it uses two pages of 10 kB with 25 links each: a plain one, like rendered
//! Markdown, and one with the nesting and attributes of a template. Each page is read whole, with a rule
//! of patterns, and with one of selectors; then written as Markdown, and read as a document is made of it.

use recrawl_extractor::{
    BodyFields, CountedPart, DocumentParts, ExtractOptions, Extracted, PageExtent, PageFields,
    extract_document, extract_part, markdown,
};
use recrawl_types::UrlRules;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZE: usize = 10_000;
const LINKS: usize = 25;

fn main() -> std::io::Result<()> {
    let mut pages = Vec::new();
    for file in std::env::args().skip(1) {
        let body = std::fs::read(&file)?;
        pages.push((file, body));
    }
    if pages.is_empty() {
        pages.push(("plain markup".into(), plain().into_bytes()));
        pages.push(("heavy markup".into(), heavy().into_bytes()));
    }
    let rules = UrlRules::default();
    let options = ExtractOptions::default();
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    let url = rules.canonicalize("https://docs.example.com/guide/page-1.html").expect("a sound URL");
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
    let part = |include: &[&str], ignore: &[&str], ignore_text: &[&str]| {
        CountedPart::new(&list(include), &list(ignore), &list(ignore_text)).map(Some).expect("a sound rule")
    };
    let parts = [
        ("", None),
        (", 2 patterns", part(&[], &[], &["^Seen [0-9]+ times$", "the schedule"])),
        (", 4 selectors", part(&["body"], &[".card__text", "#none", "div p:nth-of-type(2)"], &[])),
    ];
    println!("{:>12} {:>6} {:>8}  {:>9} {:>7}  page", "bytes", "links", "text", "µs", "MB/s");
    for ((name, body), (what, part)) in
        pages.iter().flat_map(|page| parts.iter().map(move |part| (page, part)))
    {
        let read = || extract_part(black_box(body), &fields, &url, &rules, &options, part.as_ref());
        let Extracted::Page(page) = read() else { continue };
        let best = best_of(|| {
            black_box(read());
        });
        let (links, text) = (page.links.len(), page.text.len());
        let speed = body.len() as f64 / best.as_secs_f64() / 1e6;
        println!(
            "{:>12} {links:>6} {text:>8}  {:>9.1} {speed:>7.1}  {name}{what}",
            body.len(),
            best.as_secs_f64() * 1e6
        );
    }
    for ((name, body), extent) in
        pages.iter().flat_map(|page| [PageExtent::Main, PageExtent::Whole].map(|e| (page, e)))
    {
        let write = || markdown(black_box(body), &fields, &url, &rules, &options, None, extent);
        let best = best_of(|| {
            black_box(write());
        });
        let (micros, speed) = (best.as_secs_f64() * 1e6, body.len() as f64 / best.as_secs_f64() / 1e6);
        println!("{:>12} {:>15}  {micros:>9.1} {speed:>7.1}  {name}, {extent:?} as Markdown", body.len(), "");
    }
    let headings =
        PageFields::new(&[("headings".into(), "h1, h2, h3[]".into())].into()).expect("a sound field");
    for (name, body) in &pages {
        let parts = DocumentParts { markdown: Some(PageExtent::Main), fields: &headings };
        let best = best_of(|| {
            black_box(extract_document(black_box(body), &fields, &url, &rules, &options, None, parts));
        });
        let (micros, speed) = (best.as_secs_f64() * 1e6, body.len() as f64 / best.as_secs_f64() / 1e6);
        println!(
            "{:>12} {:>15}  {micros:>9.1} {speed:>7.1}  {name}, page, Markdown and a field",
            body.len(),
            ""
        );
    }
    Ok(())
}

/// The mean of the best of 20 rounds of 50 ms: other work on the machine only adds time.
fn best_of(mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let mut runs = 0;
        while start.elapsed() < Duration::from_millis(50) {
            work();
            runs += 1;
        }
        best = best.min(start.elapsed() / runs);
    }
    best
}

/// Endless words, always the same.
fn words() -> impl FnMut(usize) -> String {
    const STEMS: [&str; 12] = [
        "crawl",
        "page",
        "the",
        "schedule",
        "of",
        "changes",
        "a",
        "formula",
        "visit",
        "estimates",
        "and",
        "cycle",
    ];
    let mut state = 1u32;
    move |n| {
        let word = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            STEMS[state as usize / 1_024 % STEMS.len()]
        };
        (0..n).map(word).collect::<Vec<_>>().join(" ")
    }
}

fn link(i: usize) -> String {
    match i % 5 {
        0 => format!("/guide/page-{i}.html"),
        1 => format!("page-{i}.html#part"),
        2 => format!("https://docs.example.com/reference/item_{i}"),
        3 => format!("https://www.other-{i}.example/some/path?id={i}&amp;lang=en"),
        _ => format!("../images/{i}?utm_source=page&amp;v=2"),
    }
}

fn plain() -> String {
    let mut words = words();
    let mut html =
        String::from("<!DOCTYPE html>\n<html><head><title>Page</title></head>\n<body>\n<h1>Page</h1>\n");
    for i in 0..LINKS {
        html.push_str(&format!(
            "<p>{} <a href=\"{}\">{}</a> {}</p>\n",
            words(20),
            link(i),
            words(2),
            words(25)
        ));
    }
    while html.len() < SIZE {
        html.push_str(&format!("<p>{}</p>\n", words(12)));
    }
    html
}

fn heavy() -> String {
    let mut words = words();
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page</title>\n\
         <link rel=\"stylesheet\" href=\"/site.css\"><script src=\"/site.js\"></script></head>\n<body class=\"docs\">\n",
    );
    for i in 0..LINKS {
        html.push_str(&format!(
            "<div class=\"card card--wide\" data-id=\"{i}\"><div class=\"card__body\"><span class=\"label\">{}</span> \
             <a class=\"card__link link\" href=\"{}\" title=\"{}\"><b>{}</b></a><p class=\"card__text\">{} &amp; {}</p>\
             </div></div>\n",
            words(1),
            link(i),
            words(2),
            words(2),
            words(6),
            words(8)
        ));
    }
    while html.len() < SIZE {
        html.push_str(&format!("<li class=\"item\"><span>{}</span></li>\n", words(5)));
    }
    html
}
