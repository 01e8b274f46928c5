//! What is imported is known with its dates, all of it or nothing, and a crawl starts from it.

use crate::harness::{World, count, fails, succeeds, web};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn import(world: &World, kind: &str, text: &[u8], words: &[&str]) -> std::process::Output {
    let file = world.folder.path().join("known.txt");
    fs::write(&file, text).unwrap();
    let mut all = vec!["import", kind, file.to_str().unwrap()];
    all.extend(words);
    world.run(&all)
}

fn told(output: std::process::Output) -> Value {
    serde_json::from_str(&succeeds(output)).unwrap()
}

fn lastmod(world: &World, url: &str) -> Option<u64> {
    count(&world.pages()[url], "lastmod")
}

#[test]
fn a_crawl_starts_from_a_list() {
    let world = World::new(web(30, 2), "");
    let urls: Vec<String> = (0..30).map(|page| world.server.url(page)).collect();
    let mut list = String::from("url,lastmod\n# from elsewhere\n\n");
    urls.iter().take(20).for_each(|url| list.push_str(&format!("{url},2026-01-31\n")));
    list.push_str(&format!("{}\t2020-01-01T00:00:00Z\n{}\n{},2090-01-01\n", urls[0], urls[20], urls[21]));
    let said = told(import(&world, "list", list.as_bytes(), &["--json"]));
    assert_eq!(
        (count(&said, "new"), count(&said, "pages_known"), count(&said, "bad_lines")),
        (Some(22), Some(22), Some(0))
    );
    assert_eq!((count(&said["offered"], "taken"), count(&said["offered"], "dated")), (Some(23), Some(21)));
    assert_eq!(count(&said["offered"], "ahead"), Some(1));
    assert_eq!(said["sites_joined"], serde_json::json!(["127.1.0.1", "127.1.0.2"]));
    assert_eq!(lastmod(&world, &urls[0]), Some(1_769_817_600), "the newest counts");
    assert_eq!((lastmod(&world, &urls[20]), lastmod(&world, &urls[21])), (None, None));
    let status = world.status();
    assert!(status.to_string().contains("\"import\""), "the commit says what it was: {status}");
    // Without a seed: the sites of the list are the crawl's.
    let report = succeeds(world.run(&["crawl", "--cycles", "1", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((count(&report, "cycle"), count(&report, "first_visits")), (Some(2), Some(22)));
    // Again: nothing is new, and nothing is lost.
    let before = world.pages();
    let said = told(import(&world, "list", list.as_bytes(), &["--json"]));
    assert_eq!((count(&said, "new"), &said["sites_joined"]), (Some(0), &serde_json::json!([])));
    let after = world.pages();
    for (url, page) in &before {
        let same = |name: &str| assert_eq!(page[name], after[url][name], "{url}: {name}");
        ["n", "X", "first", "last", "lastmod", "announced", "digest", "warc_offset"]
            .into_iter()
            .for_each(same);
    }
    world.is_sound();
}

#[test]
fn an_index_gives_the_date_since_when_a_page_shows_the_same() {
    let world = World::new(web(5, 1), "");
    let cdx = " CDX N b a m s k r M S V g\n\
        com,example)/ 20200101000000 https://example.com/ text/html 200 AAAA - - 1 2 f\n\
        com,example)/ 20200201000000 https://example.com/ text/html 200 BBBB - - 1 2 f\n\
        com,example)/ 20200301000000 https://example.com/ warc/revisit - BBBB - - 1 2 f\n\
        com,example)/gone 20200101000000 https://example.com/gone text/html 200 AAAA - - 1 2 f\n\
        com,example)/gone 20200201000000 https://example.com/gone text/html 404 CCCC - - 1 2 f\n\
        com,example)/once 20200101000000 https://example.com/once text/html 200 AAAA - - 1 2 f\n";
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(cdx.as_bytes()).unwrap();
    let said = told(import(&world, "cdx", &packed.finish().unwrap(), &["--json"]));
    assert_eq!(count(&said, "new"), Some(2));
    assert_eq!(lastmod(&world, "https://example.com/"), Some(1_580_515_200));
    assert_eq!(lastmod(&world, "https://example.com/once"), Some(1_577_836_800));
    let cdxj = "com,example)/once 20200601000000 {\"url\": \"https://example.com/once\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"D\"}\n";
    let mut command = world.command(&["import", "cdx", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(cdxj.as_bytes()).unwrap();
    let said = succeeds(child.wait_with_output().unwrap());
    assert!(said.contains("imported 1 URL, 1 with a date; 0 new, 2 known in total"), "{said}");
    assert_eq!(lastmod(&world, "https://example.com/once"), Some(1_590_969_600));
}

#[test]
fn bad_lines_are_named_and_one_is_enough_to_import_nothing() {
    let world = World::new(web(5, 1), "[scope]\nhosts = [\"a.example\"]\n");
    let mut list =
        b"http://a.example/1\nnonsense\nhttp://a.example/2\tyesterday\n\xff\xfe\nhttp://b.example/\n"
            .to_vec();
    list.extend(vec![b'x'; 100_000]);
    list.extend(b"\nftp://a.example/\nhttp://\nhttp://a.example/3\n");
    let line = fails(import(&world, "list", &list, &[]), 1);
    for part in ["known.txt:2: \"nonsense\"", "known.txt:3: \"yesterday\"", "known.txt:4: not UTF-8"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.contains("known.txt:6: line longer") && line.contains("known.txt:7:"), "{line}");
    assert!(line.contains("and 1 more") && line.contains("--skip-bad"), "{line}");
    assert_eq!(world.pages().len(), 0, "nothing is half imported");
    let said = told(import(&world, "list", &list, &["--skip-bad", "--json"]));
    assert_eq!((count(&said, "new"), count(&said, "bad_lines")), (Some(2), Some(6)));
    assert_eq!(count(&said["offered"], "out_of_scope"), Some(1));
    let missing = world.run(&["import", "list", "no/such/file"]);
    assert!(fails(missing, 2).contains("no/such/file"));
    world.is_sound();
}

#[test]
fn nothing_is_imported_into_the_middle_of_a_cycle_or_beside_a_crawl() {
    let world = World::new(web(40, 2), "[politeness]\ndelay_per_host = \"50 ms\"");
    world.crawl(1);
    let mut child = world.spawn_crawl(3);
    let schedule: PathBuf = world.data_dir.join("cycle-0000000002.queues");
    while !schedule.exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    // It stays in this cycle, however slow the machine is.
    succeeds(Command::new("kill").args(["-STOP", &child.id().to_string()]).output().unwrap());
    let line = fails(import(&world, "list", b"http://a.example/\n", &[]), 1);
    assert!(line.contains("another process"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let line = fails(import(&world, "list", b"http://a.example/\n", &[]), 2);
    assert!(line.contains("in progress") && line.contains("recrawl crawl"), "{line}");
    world.crawl(1);
    succeeds(import(&world, "list", b"http://a.example/\n", &[]));
    assert!(world.pages().contains_key("http://a.example/"));
}
