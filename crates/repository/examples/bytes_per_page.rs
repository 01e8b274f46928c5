//! Bytes on disk of a known URL and of a visited page, part by part, and of a kept visit.
//!
//! 200,000 URLs of some 60 characters on 200 hosts; every tenth visited, some ten times. Run with
//! `cargo run --example bytes_per_page -p recrawl-repository`; with the word `dated` behind it, every URL has a
//! lastmod, some second of eight years.

use recrawl_repository::storage::MemoryStorage;
use recrawl_repository::{Repository, StoredVisit};
use recrawl_types::{
    ArchivePosition, CanonicalUrl, Change, Consent, Content, Cycle, Fingerprint, History, Outcome,
    PageRecord, Share, UrlRules, Validators, Visited,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

const PAGES: u64 = 200_000;
const HOSTS: u64 = 200;

/// SplitMix64 (Steele, Lea, Flood 2014): numbers without a pattern that packing could use.
fn mixed(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn url(i: u64, rules: &UrlRules) -> Result<CanonicalUrl, Box<dyn Error>> {
    const WORDS: [&str; 16] = [
        "report", "summer", "market", "city", "council", "player", "energy", "price", "school", "train",
        "garden", "museum", "border", "minister", "record", "storm",
    ];
    let dice = mixed(i);
    let word = |n: u32| WORDS[(dice >> (4 * n)) as usize % WORDS.len()];
    let text = format!(
        "https://www.site{:03}.example/{}/{}/{}-{}-{}-{}",
        i % HOSTS,
        ["news", "blog", "shop", "wiki"][(dice >> 40) as usize % 4],
        2015 + (dice >> 44) % 12,
        word(0),
        word(1),
        word(2),
        i,
    );
    Ok(rules.canonicalize(&text)?)
}

fn record(i: u64, is_dated: bool) -> PageRecord {
    let dice = mixed(i ^ 0xffff_0000);
    let mut record = PageRecord::discovered(Cycle(1 + (dice % 60) as u32), 1 + (dice >> 8) as u16 % 6);
    record.known.in_links = 1 + ((dice >> 16) as u32 % 4000) / (1 + (dice >> 28) as u32 % 400);
    if is_dated {
        record.known.lastmod = 1_500_000_000 + (mixed(dice) % (8 * 365 * 86_400)) as u32;
        record.known.is_announced = mixed(!dice).is_multiple_of(20);
    }
    if dice >> 40 & 0xff < 26 {
        let mut history = History::first_fetch(record.known.discovered);
        for visit in 1..=dice >> 50 & 15 {
            history.record(Cycle(history.first.0 + 4 * visit as u32), mixed(dice ^ visit).is_multiple_of(3));
        }
        record.known.last_attempt = history.last;
        let digest = u128::from(mixed(i)) << 64 | u128::from(mixed(dice));
        let etag =
            dice.is_multiple_of(2).then(|| format!("\"{:x}-{:x}\"", mixed(i) >> 32, dice >> 20 & 0xffff));
        let date = dice.is_multiple_of(3).then(|| {
            format!("Tue, {:02} Sep 2025 {:02}:{:02}:07 GMT", 1 + dice % 28, dice / 3 % 24, dice / 9 % 60)
        });
        let content = Content {
            fingerprint: Fingerprint { simhash: mixed(!i), digest },
            payload: mixed(i ^ 7),
            validators: Validators::new(etag.as_deref(), date.as_deref()),
            archive: Some(ArchivePosition { file: 1 + (i / 9000) as u32, offset: (dice >> 12) % (1 << 30) }),
            consent: Consent::default(),
            ..Content::default()
        };
        record.visited = Some(Visited { history, content });
    }
    record
}

fn main() -> Result<(), Box<dyn Error>> {
    let rules = UrlRules::keep_all();
    let is_dated = std::env::args().nth(1).is_some_and(|word| word == "dated");
    let mut pages = BTreeMap::new();
    for i in 0..PAGES {
        pages.insert(url(i, &rules)?, record(i, is_dated));
    }
    let characters: usize = pages.keys().map(|url| url.as_text().len()).sum();
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone())?.keeping_visits(1);
    let empty = recrawl_repository::Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next())?;
    // One visit of each visited page, in a cycle of a day.
    for (i, (url, record)) in (0..).zip(&pages) {
        writer.push(url.key(), record)?;
        if let Some(visited) = &record.visited {
            let changed =
                if visited.history.last_visit_changed() { Change::Changed } else { Change::Unchanged };
            let (at, outcome) = (1_700_000_000 + mixed(i) % 86_400, Outcome::Fetched(changed));
            writer.keep_visit(&StoredVisit {
                url: url.clone(),
                at,
                share: Share::Score,
                outcome,
                confirmed: 0,
                missed: 0,
                learned: None,
            })?;
        }
    }
    repository.commit(writer, b"")?;
    let generation = repository.current();
    let (known, visited) = (generation.pages() as f64, generation.visited() as f64);
    println!("{known} known URLs of {:.1} characters, {visited} of them visited", characters as f64 / known);
    let (mut of_known, mut of_visited) = (0.0, 0.0);
    for (name, bytes) in generation.files() {
        let only_visited = name.ends_with(".history") || name.ends_with(".content");
        let (pages, unit) = if only_visited { (visited, "visited page") } else { (known, "known URL") };
        let each = bytes as f64 / pages;
        *(if only_visited { &mut of_visited } else { &mut of_known }) += each;
        println!("{name:<30} {bytes:>10} bytes {each:>8.2} a {unit}");
    }
    let kept = storage.image()["visits-0000000001.kept"].len();
    println!("{:<30} {kept:>10} bytes {:>8.2} a visit", "visits-0000000001.kept", kept as f64 / visited);
    println!("a known URL: {of_known:.1} bytes; a visited page: {of_visited:.1} more");
    Ok(())
}
