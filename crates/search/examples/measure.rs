//! Measures an index of pages from standard input, a JSON object `{"url", "title", "text"}` a line, in the folder that is
//! named: documents a second, size, known items and times of queries. scripts/bench-search.py makes the lines.

use recrawl_search::{IndexWriter, IndexedPage, TextQuery, search};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, stdin};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of text of a commit, as `[[deliver]]` has them.
const COMMIT: usize = 5 << 20;
/// Queries that are timed.
const QUERIES: usize = 2000;

/// Processor time of this process.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a Linux system");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    (fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks")) / 100.0
}

/// Memory of this process that no file has, in MiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("name a folder"));
    let (empty, mut most) = (memory(), 0);
    let mut writer = IndexWriter::create(&folder).expect("a folder for the index");
    let (mut pages, mut bytes, mut waiting) = (0_u32, 0, 0);
    let (mut titles, mut asked) = (HashMap::<String, Vec<String>>::new(), Vec::new());
    let (mut spent, mut wall) = (0.0, Duration::ZERO);
    for line in stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line.expect("a line")).expect("a JSON object");
        let [url, title, text] = ["url", "title", "text"].map(|name| page[name].as_str().unwrap_or_default());
        let (before, since) = (processor(), Instant::now());
        let host = url.split('/').nth(2).unwrap_or_default();
        let title_given = Some(title).filter(|title| !title.is_empty());
        let page = IndexedPage {
            id: url,
            url,
            host,
            title: title_given,
            headings: "",
            language: None,
            text,
            fetched_at: 1,
        };
        writer.put(&page).expect("room");
        (pages, bytes, waiting) = (pages + 1, bytes + text.len(), waiting + text.len());
        if waiting > COMMIT {
            // Beside what the measurement itself keeps.
            let kept = asked.iter().map(String::capacity).sum::<usize>() + titles.len() * 200;
            most = most.max(memory().saturating_sub(empty + (kept >> 20) as u64));
            writer.commit().expect("room");
            waiting = 0;
        }
        (spent, wall) = (spent + processor() - before, wall + since.elapsed());
        titles.entry(title.to_owned()).or_default().push(url.to_owned());
        // One, two or three words of the text, at a place that differs with the page.
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.len() > 2).collect();
        if words.len() > 10 {
            let at = pages as usize * 7919 % (words.len() - 3);
            // As people ask: no word of a text is to be excluded.
            asked.push(words[at..at + 1 + pages as usize % 3].join(" ").replace(['"', '-'], " "));
        }
    }
    let (before, begun) = (processor(), Instant::now());
    writer.commit().expect("room");
    writer.settle(&|| false);
    (spent, wall) = (spent + processor() - before, wall + begun.elapsed());
    let size: u64 = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|file| file.expect("a file").metadata().expect("its size").len())
        .sum();
    println!(
        "{pages} pages, {} MB of text, at most {most} MiB of memory: {:.0} pages and {:.1} MB a second of processor time ({:.0} s of it, {:.0} s in all); \
         index {} MB, {:.2} of the text",
        bytes / 1_000_000,
        f64::from(pages) / spent,
        bytes as f64 / spent / 1e6,
        spent,
        wall.as_secs_f64(),
        size / 1_000_000,
        size as f64 / bytes as f64
    );
    known_items(&folder, &titles);
    times(&folder, &asked);
}

/// Is a page among the first three for its title? Of titles that one page has.
fn known_items(folder: &std::path::Path, titles: &HashMap<String, Vec<String>>) {
    let (mut tried, mut first, mut third) = (0, 0, 0);
    for (title, urls) in titles {
        let ([url], Ok(query)) = (&urls[..], TextQuery::parse(&title.replace(['"', '-'], " "))) else {
            continue;
        };
        let found = search(folder, &query, 3).expect("an index");
        let place = found.hits.iter().position(|hit| hit.url == *url);
        (tried, first, third) =
            (tried + 1, first + u32::from(place == Some(0)), third + u32::from(place.is_some()));
        if tried == 5000 {
            break;
        }
    }
    let share = |some: u32| f64::from(some) / f64::from(tried.max(1));
    println!(
        "known items: {tried} titles of one page; first {:.3}, among three {:.3}",
        share(first),
        share(third)
    );
}

fn times(folder: &std::path::Path, asked: &[String]) {
    let mut times = Vec::new();
    for text in asked.iter().step_by((asked.len() / QUERIES).max(1)) {
        let Ok(query) = TextQuery::parse(text) else { continue };
        let begun = Instant::now();
        search(folder, &query, 10).expect("an index");
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    println!(
        "{} queries: p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
    for text in ["a", "the", "the and of to in for is on that by"] {
        let begun = Instant::now();
        let found = search(folder, &TextQuery::parse(text).expect("a query"), 10).expect("an index");
        println!("{text:?}: {} pages, {:.1} ms", found.total, begun.elapsed().as_secs_f64() * 1000.0);
    }
}
