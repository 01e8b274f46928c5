//! `recrawl export wacz`: one file with all that a reader needs, and nothing that was taken away.

use crate::harness::{World, count, fails, host_of, misused, succeeds, warc_files, web};
use flate2::read::MultiGzDecoder;
use recrawl_mockweb::Validators;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use zip::{CompressionMethod, ZipArchive};

/// A crawl with first bodies, changed ones and revisits.
fn crawled() -> World {
    let mut config = web(40, 2);
    config.validators = Validators::None;
    let world = World::new(config, "[cycle]\npages = \"100%\"\n[storage]\narchive_requests = true");
    (0..3).for_each(|_| drop(world.next_cycle()));
    world
}

fn export(world: &World, words: &[&str]) -> PathBuf {
    let out = world.folder.path().join("archive.wacz");
    let mut all = vec!["export", "wacz", "--out", out.to_str().unwrap()];
    all.extend(words);
    let said = succeeds(world.run(&all));
    assert!(said.contains("captures in"), "{said}");
    out
}

/// The entries by path.
fn entries(wacz: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(File::open(wacz).unwrap()).unwrap();
    let mut entries = BTreeMap::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).unwrap();
        assert_eq!(entry.compression(), CompressionMethod::Stored, "{}", entry.name());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        entries.insert(entry.name().to_owned(), bytes);
    }
    entries
}

fn unpacked(bytes: &[u8]) -> String {
    let mut all = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

/// The fields of all lines of the index.
fn captures(entries: &BTreeMap<String, Vec<u8>>) -> Vec<Value> {
    let index = unpacked(&entries["indexes/index.cdx.gz"]);
    let lines: Vec<&str> = index.lines().collect();
    assert!(lines.is_sorted(), "{lines:#?}");
    lines.iter().map(|line| serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap()).collect()
}

/// The lines of the list of pages, by URL.
fn pages(entries: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Value> {
    let text = String::from_utf8(entries["pages/pages.jsonl"].clone()).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["format"], "json-pages-1.0");
    lines.map(|line| (line["url"].as_str().unwrap().to_owned(), line)).collect()
}

#[test]
fn every_part_is_listed_with_its_digest_and_every_line_leads_to_its_record() {
    let world = crawled();
    let entries = entries(&export(&world, &[]));
    let list: Value = serde_json::from_slice(&entries["datapackage.json"]).unwrap();
    let hash = |bytes: &[u8]| -> String {
        digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let listed = list["resources"].as_array().unwrap();
    assert_eq!(listed.len() + 2, entries.len(), "all but the list and its digest");
    for resource in listed {
        let bytes = &entries[resource["path"].as_str().unwrap()];
        assert_eq!(resource["hash"], format!("sha256:{}", hash(bytes)), "{resource}");
        assert_eq!(count(resource, "bytes"), Some(bytes.len() as u64), "{resource}");
    }
    let told: Value = serde_json::from_slice(&entries["datapackage-digest.json"]).unwrap();
    assert_eq!(told["hash"], format!("sha256:{}", hash(&entries["datapackage.json"])));
    let (mut bodies, mut revisits) = (0, 0);
    for capture in captures(&entries) {
        let number = |name: &str| capture[name].as_str().unwrap().parse::<usize>().unwrap();
        let file = &entries[&format!("archive/{}", capture["filename"].as_str().unwrap())];
        let record = unpacked(&file[number("offset")..number("offset") + number("length")]);
        let url = format!("\r\nWARC-Target-URI: {}\r\n", capture["url"].as_str().unwrap());
        assert!(record.starts_with("WARC/1.1\r\n") && record.contains(&url), "{capture}: {record}");
        match capture["mime"] == "warc/revisit" {
            true => revisits += 1,
            false => bodies += 1,
        }
    }
    assert!(bodies > 40 && revisits > 10, "{bodies} bodies, {revisits} revisits");
    // Each file is whole: a warcinfo record first, and a request behind each response.
    let names: Vec<&String> = entries.keys().filter(|name| name.starts_with("archive/")).collect();
    assert_eq!(names.len(), warc_files(&world.data_dir).len());
    for name in names {
        let text = unpacked(&entries[name]);
        assert!(text.starts_with("WARC/1.1\r\nWARC-Type: warcinfo\r\n"), "{name}");
        let of = |kind: &str| text.matches(&format!("\r\nWARC-Type: {kind}\r\n")).count();
        assert_eq!(of("request"), of("response") + of("revisit"), "{name}");
    }
    // The list has the pages that show and contents know, with their titles.
    let listed = pages(&entries);
    assert!(listed.len() > 20 && listed.values().all(|page| page["text"].is_null()), "{listed:?}");
    let texts = pages(&self::entries(&export(&world, &["--text"])));
    assert_eq!(texts.len(), listed.len());
    for (url, page) in &texts {
        assert_eq!(page["title"], listed[url]["title"], "{url}");
        assert_eq!(succeeds(world.run(&["show", url])).trim_end(), page["text"].as_str().unwrap().trim_end());
    }
}

#[test]
fn only_what_is_meant_goes_in_and_nothing_that_was_taken_away() {
    let world = crawled();
    let seeds = world.server.seeds();
    let (first, second) = (host_of(&seeds[0]), host_of(&seeds[1]));
    let urls = |words: &[&str]| -> Vec<String> {
        let entries = entries(&export(&world, words));
        let listed = pages(&entries).into_keys();
        listed.chain(captures(&entries).iter().map(|c| c["url"].as_str().unwrap().to_owned())).collect()
    };
    let whole = urls(&[]);
    let of = |host: &str| whole.iter().filter(|url| host_of(url) == host).count();
    assert!(of(&first) > 10 && of(&second) > 10, "{whole:?}");
    assert_eq!(urls(&["--host", &first]).len(), of(&first));
    let page = whole.iter().find(|url| host_of(url) == second && !url.ends_with('/')).unwrap();
    let page_alone = urls(&["--prefix", page]);
    assert!(page_alone.len() > 1 && page_alone.iter().all(|url| url.starts_with(page)), "{page_alone:?}");
    assert_eq!(urls(&["--since", "2020-01-01"]), whole);
    // Nothing is left of the file where there is nothing to put into it.
    let out = world.folder.path().join("none.wacz");
    let line =
        fails(world.run(&["export", "wacz", "--out", out.to_str().unwrap(), "--since", "9999-01-01"]), 1);
    assert!(line.contains("nothing to export") && !out.exists(), "{line}");

    succeeds(world.run(&["takedown", "--host", &first]));
    succeeds(world.run(&["block", page]));
    let wacz = export(&world, &[]);
    let left = entries(&wacz);
    assert!(captures(&left).len() > 5);
    let all: String =
        left.iter().filter(|(name, _)| name.ends_with(".gz")).map(|(_, b)| unpacked(b)).collect();
    for gone in
        [format!("WARC-Target-URI: {}", seeds[0]), format!("WARC-Target-URI: {page}"), format!("\"{page}")]
    {
        assert!(!all.contains(&gone), "{gone}");
    }
    assert!(pages(&left).keys().all(|url| host_of(url) == second && !url.starts_with(page)));
    let leftovers = fs::read_dir(world.folder.path()).unwrap();
    assert!(
        leftovers.into_iter().all(|entry| !entry.unwrap().file_name().to_str().unwrap().contains(".part"))
    );
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let world = World::new(web(5, 1), "");
    world.crawl(1);
    let out = world.folder.path().join("a.wacz");
    let out = out.to_str().unwrap();
    for (words, told) in [
        (&["wacz", "--out", "-"][..], "standard output"),
        (&["wacz", "--out", out, "--format", "csv"], "take no --format"),
        (&["wacz", "--out", out, "--host", "a b"], "host"),
        (&["wacz", "--out", out, "--host", "http://a.test/"], "use --prefix"),
        (&["pages", "--out", out, "--since", "2026-01-31"], "only for recrawl export wacz"),
    ] {
        let mut all = vec!["export"];
        all.extend(words);
        let line = fails(world.run(&all), 2);
        assert!(line.contains(told), "{words:?}: {line}");
    }
    let week = misused(world.run(&["export", "wacz", "--out", out, "--since", "last week"]));
    assert!(week.contains("2026-01-31"), "{week}");
    let line = fails(world.run(&["export", "wacz", "--out", "no/such/folder.wacz"]), 1);
    assert!(line.contains("no/such/folder.wacz"), "{line}");
}
