//! The served pages equal the bundled recording, page by page and cycle by cycle.

use crate::client::{bundled, get};
use std::collections::HashMap;
use std::io::Read;

/// An independent reader of the bundled recording: for each page its original URL, the cycles at
/// which it exists, its version at each of them, and all its texts.
struct Page {
    path: String,
    versions: Vec<Option<u32>>,
    texts: HashMap<u32, String>,
}

fn read_plainly() -> Vec<Page> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recording");
    let cycles = std::fs::read_to_string(format!("{folder}/cycles.tsv")).unwrap().lines().count() - 1;
    let mut table = String::new();
    let file = std::fs::File::open(format!("{folder}/pages.tsv.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut table).unwrap();
    let mut pages: Vec<Page> = table
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let (first, last) = (columns[5].parse().unwrap(), columns[6].parse().unwrap());
            let changes: HashMap<usize, u32> = columns[7]
                .split_whitespace()
                .map(|pair| {
                    let (cycle, version) = pair.split_once(':').unwrap();
                    (cycle.parse().unwrap(), version.parse().unwrap())
                })
                .collect();
            let mut now = 0;
            let versions = (0..cycles)
                .map(|cycle| {
                    now = *changes.get(&cycle).unwrap_or(&now);
                    (first..=last).contains(&cycle).then_some(now)
                })
                .collect();
            Page { path: columns[2].to_string(), versions, texts: HashMap::new() }
        })
        .collect();
    let packed = std::fs::read(format!("{folder}/content.jsonl.zst")).unwrap();
    for line in String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap().lines() {
        let content: serde_json::Value = serde_json::from_str(line).unwrap();
        let page = &mut pages[content["page_id"].as_u64().unwrap() as usize];
        let version = content["version"].as_u64().unwrap() as u32;
        page.texts.insert(version, content["text"].as_str().unwrap().to_string());
    }
    pages
}

/// A text without the targets and titles of its links, which precede the link's text in HTML.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap().to_string();
    for part in parts {
        out.push(' ');
        out.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    out
}

/// Letters and digits only, which are independent of the markup.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric()).collect()
}

#[test]
fn the_truth_is_the_recording_at_every_cycle() {
    let server = bundled(|_| {});
    let pages = read_plainly();
    let last = server.info().last_cycle.unwrap();
    assert_eq!(server.info().pages as usize, pages.len());
    for (truth, page) in server.truth(0, last).zip(&pages) {
        assert!(truth.url.ends_with(&page.path) || truth.url.contains('%'), "{} {}", truth.url, page.path);
        let mut now = truth.version;
        for cycle in 0..=last {
            if truth.first == cycle {
                now = Some(0);
            }
            if let Some((_, version)) = truth.changes.iter().find(|change| change.0 == cycle) {
                now = Some(*version);
            }
            let expected = page.versions[cycle as usize];
            assert_eq!(now.filter(|_| cycle <= truth.last.unwrap()), expected, "{} at {cycle}", truth.url);
            assert_eq!(server.version(truth.page_id, cycle), expected);
        }
        assert_eq!(truth.fixed, page.versions.iter().all(Option::is_some));
    }
}

#[test]
fn what_is_served_at_every_cycle_is_the_text_recorded_for_it() {
    let server = bundled(|_| {});
    let pages = read_plainly();
    for cycle in 0..=server.info().last_cycle.unwrap() {
        server.set_clock(cycle).unwrap();
        // Other pages at other cycles, so that all are checked in the end.
        for (id, page) in pages.iter().enumerate().skip(cycle as usize % 31).step_by(31) {
            let reply = get(&server.url(id as u32));
            let Some(version) = page.versions[cycle as usize] else {
                assert_eq!(reply.status, 404);
                continue;
            };
            assert_eq!(reply.status, 200);
            assert_eq!(reply.field("etag"), Some(format!("\"{id:x}-{version:x}\"").as_str()));
            // The words of the recorded text are on the page in their order. Words that Markdown
            // might take for markup or URLs are skipped.
            let shown = bare(&reply.text());
            let mut at = 0;
            let text = without_targets(&page.texts[&version]);
            for word in text.split_whitespace().filter(|w| w.chars().all(char::is_alphanumeric)) {
                match shown[at..].find(&bare(word)) {
                    Some(found) => at += found,
                    None => panic!("{word:?} is missing from {} at cycle {cycle}", page.path),
                }
            }
        }
    }
}
