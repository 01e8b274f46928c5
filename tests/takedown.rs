//! What is taken down is nowhere any more, is not asked for again, and nothing else has moved.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, host_of, json_lines, succeeds, web};
use crate::outputs::is_what_other_programs_read;
use flate2::read::MultiGzDecoder;
use recrawl_mockweb::{Config, Validators};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

fn crawled() -> World {
    let mut config = web(40, 2);
    config.validators = Validators::None;
    let world = World::new(config, "[cycle]\npages = \"100%\"\n[storage]\narchive_requests = true");
    (0..4).for_each(|_| drop(world.next_cycle()));
    world
}

fn takedown(world: &World, words: &[&str]) -> Value {
    let mut all = vec!["takedown", "--json"];
    all.extend(words);
    serde_json::from_str(&succeeds(world.run(&all))).unwrap()
}

/// The host of the first seed, as a URL begins and as a name.
fn first_host(world: &World) -> (String, String) {
    let seed = world.server.seeds()[0].clone();
    let name = host_of(&seed);
    (seed, name)
}

fn visits(world: &World) -> Vec<Value> {
    json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])))
}

/// All that the archive holds, unpacked.
fn archive(world: &World) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(world.data_dir.join("warc")).unwrap() {
        MultiGzDecoder::new(File::open(entry.unwrap().path()).unwrap()).read_to_end(&mut all).unwrap();
    }
    all
}

/// Is this somewhere in the bytes?
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_host_that_is_taken_down_is_nowhere_and_is_asked_no_more() {
    let world = crawled();
    let (beginning, host) = first_host(&world);
    let (before, visits_before) = (world.pages(), visits(&world));
    let is_meant = |url: &str| url.starts_with(&beginning);
    let told = takedown(&world, &["--host", &host, "--dry-run"]);
    assert_eq!((world.pages(), visits(&world)), (before.clone(), visits_before.clone()), "only counted");
    let recorded = format!("WARC-Target-URI: {beginning}");
    assert!(holds(&archive(&world), recorded.as_bytes()));

    let done = takedown(&world, &["--host", &host]);
    assert_eq!((&done["removed"], &done["blocked"]), (&told["removed"], &true.into()));
    let visited = before.iter().filter(|(url, page)| is_meant(url) && !page["n"].is_null()).count() as u64;
    assert!(visited > 5, "{visited} pages");
    assert_eq!(count(&done["removed"], "emptied"), Some(visited));
    assert!(count(&done["removed"], "warc_records") >= Some(visited), "{done}");
    assert!(!holds(&archive(&world), recorded.as_bytes()), "nothing of it is left in the archive");
    let after = world.pages();
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "addresses stay known");
    for (url, page) in &after {
        if is_meant(url) {
            for name in ["n", "X", "digest", "simhash", "etag", "warc_file", "first"] {
                assert!(page[name].is_null(), "{url}: {page}");
            }
            assert_eq!(page["status"], "refused", "{url}: {page}");
        } else {
            assert_eq!(page, &before[url], "no other page has changed");
        }
    }
    let rest: Vec<Value> =
        visits_before.into_iter().filter(|v| !is_meant(v["url"].as_str().unwrap())).collect();
    assert_eq!(visits(&world), rest);
    world.is_sound();
    is_what_other_programs_read(&world);

    // Nor in a part of an older generation that is merely no longer used.
    let names = fs::read_dir(&world.data_dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let parts: Vec<String> = names.filter(|name| name.starts_with("generation-")).collect();
    assert!(parts.iter().all(|name| name.starts_with("generation-0000000005.")), "{parts:?}");

    let asked =
        || world.server.log(0).unwrap().iter().filter(|a| format!("http://{}/", a.host) == beginning).count();
    let before = asked();
    let skipped: Vec<Option<u64>> = (0..3).map(|_| count(&world.next_cycle(), "skipped")).collect();
    assert_eq!(skipped, [Some(0); 3], "nor has it a place of a cycle");
    assert_eq!(asked(), before, "nothing of it is asked for");
    let told = succeeds(world.run(&["explain", &beginning]));
    assert!(told.contains("taken down (recrawl takedown, "), "{told}");
    let again = takedown(&world, &["--host", &host]);
    assert_eq!(count(&again["removed"], "emptied"), Some(0));

    // The block ends, and the pages are seen for the first time.
    takedown(&world, &["--host", &host, "--keep-crawling"]);
    let is_seen = (0..20).any(|_| count(&world.next_cycle(), "first_visits") > Some(0));
    assert!(is_seen, "they come back once their back-off is over");
}

/// A round hands the pages that it did not reach on to the next, each with its record.
#[test]
fn pages_that_a_slow_host_left_for_the_next_round_are_taken_down_with_their_records() {
    let settings = "[cycle]\npages = \"100%\"\nfill = true\nwarmup = 0\n[round]\nlinger = \"300 ms\"\n";
    let world = World::new(Config { validators: Validators::None, ..web(200, 4) }, settings);
    let crawl = |words: [&str; 2]| {
        let mut command = world.command(&["crawl"]);
        succeeds(
            command.args(words).arg("--seeds").arg(world.seed_file()).output().expect("the program runs"),
        )
    };
    crawl(["--until", "filled"]);
    world.server.set_faults(vec!["1/=slow:20000".parse().expect("a rule")]);
    world.server.advance().expect("a clock");
    crawl(["--rounds", "1"]);
    let names = || fs::read_dir(&world.data_dir).unwrap().map(|entry| entry.unwrap().file_name());
    let carried = || names().filter(|name| name.to_str().unwrap().ends_with(".carried")).count();
    assert_eq!(carried(), 1, "the slow host left pages");
    let (_, host) = first_host(&world);
    takedown(&world, &["--host", &host, "--dry-run"]);
    assert_eq!(carried(), 1, "only counted");
    takedown(&world, &["--host", &host]);
    assert_eq!(carried(), 0, "their records are nowhere");
    world.is_sound();
    crawl(["--rounds", "1"]);
    world.is_sound();
}

/// Files in which these bytes are, by their path in the data directory.
fn files_with(folder: &Path, part: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_with(&path, part)),
            false if holds(&fs::read(&path).unwrap(), part) => found.push(path.display().to_string()),
            false => {}
        }
    }
    found
}

/// Tables remember what was removed from them until somebody writes them anew.
#[test]
fn the_name_of_a_host_that_is_taken_down_is_left_only_where_it_is_said_to_be() {
    let world = World::new(web(30, 2), "");
    let (_, host) = first_host(&world);
    // With a limit of bytes, a round hands on to the next of its cycle what each host has spent.
    world.configure(
        "[cycle]\npages = \"100%\"\nrounds = 2\n[scope]\nhosts = [\"127.1.0.1\", \"127.1.0.2\"]\n[budget]\nbytes_per_host = \"1 GiB\"",
    );
    (0..4).for_each(|_| drop(world.next_cycle()));
    let in_tables = |host: &str| files_with(&world.data_dir.join("hosts.sled"), host.as_bytes());
    assert!(!in_tables(&host).is_empty());
    let told = takedown(&world, &["--host", &host, "--keep-crawling", "--dry-run"]);
    assert!(!in_tables(&host).is_empty(), "only counted");
    let done = takedown(&world, &["--host", &host, "--keep-crawling"]);
    assert_eq!(done["removed"], told["removed"]);
    assert_eq!(
        (count(&done["removed"], "hosts"), count(&done["removed"], "asked")),
        (Some(1), Some(0)),
        "{done}"
    );
    assert!(done["stays"].as_array().unwrap().iter().any(|what| what.as_str().unwrap().contains("exports")));
    let left = files_with(&world.data_dir, host.as_bytes());
    // Addresses stay known, and the log of changes names what was taken down.
    let is_said = |file: &String| file.contains("/generation-") || file.ends_with("/control.jsonl");
    assert!(left.iter().all(is_said), "{left:?}");
    assert!(!in_tables("127.1.0.2").is_empty(), "of the other host nothing is lost");
    takedown(&world, &["--host", &host]);
    let naming = files_with(&world.data_dir, host.as_bytes());
    assert!(
        in_tables(&host).is_empty() && naming.iter().any(|file| file.ends_with("decisions.json")),
        "{naming:?}"
    );
    let said = succeeds(world.run(&["takedown", "--host", &host, "--dry-run"]));
    assert!(
        said.contains(", data of 0 would be removed")
            && !said.contains("0 hosts")
            && !said.contains("kept: existing copies"),
        "{said}"
    );
    world.is_sound();
    world.next_cycle();
}

#[test]
fn a_prefix_is_taken_down_and_a_crawl_or_a_cycle_in_progress_is_in_the_way() {
    let world = crawled();
    let lone = world.lone_pages().into_iter().map(|page| world.server.url(page));
    let pages = world.pages();
    let url = lone.into_iter().find(|url| pages.get(url).is_some_and(|page| !page["n"].is_null())).unwrap();
    let done = takedown(&world, &["--prefix", &url, "--keep-crawling"]);
    assert_eq!((count(&done["removed"], "pages"), count(&done["removed"], "emptied")), (Some(1), Some(1)));
    assert!(!holds(&archive(&world), format!("WARC-Target-URI: {url}\r\n").as_bytes()));
    let report = world.next_cycle();
    assert_eq!(count(&report, "first_visits"), Some(1), "it is seen for the first time again");

    for words in
        [&["--host", "*"][..], &["--prefix", "nonsense"], &[], &["--host", "a", "--prefix", "http://a/"]]
    {
        let mut all = vec!["takedown"];
        all.extend(words);
        assert_eq!(world.run(&all).status.code(), Some(2), "{words:?}");
    }
    world.configure("[cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"400 ms\"");
    let schedule = world.data_dir.join(format!("cycle-{:010}.queues", count(&report, "cycle").unwrap() + 1));
    let mut child = world.spawn_crawl(1);
    while !schedule.exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let line = fails(world.run(&["takedown", "--prefix", &url]), 1);
    assert!(line.contains("another process"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let line = fails(world.run(&["takedown", "--prefix", &url]), 1);
    assert!(line.contains("in progress") && line.contains("they are already blocked"), "{line}");
    let told = succeeds(world.run(&["takedown", "--prefix", &url, "--dry-run"]));
    let cycle = count(&report, "cycle").unwrap() + 1;
    assert!(told.contains(&format!("in progress: cycle {cycle}, ")), "{told}");
    let told = succeeds(world.run(&["status"]));
    assert!(told.contains(&format!("in progress cycle {cycle}, ")), "{told}");
    assert_eq!(count(&world.status()["cycle_in_progress"], "cycle"), Some(cycle));
    let asked = world.asked(&url);
    world.crawl(1);
    assert!(world.status()["cycle_in_progress"].is_null());
    takedown(&world, &["--prefix", &url]);
    assert_eq!(world.asked(&url), asked, "it was blocked before the cycle went on");
    let empty = World::new(web(5, 1), "");
    assert_eq!(empty.run(&["takedown", "--host", "a.example"]).status.code(), Some(2));
}

/// The URL of a host's first page is a prefix of all its others.
#[test]
fn one_page_is_taken_down_and_none_that_begins_like_it() {
    let world = crawled();
    let (first, _) = first_host(&world);
    let before = world.pages();
    let like_it = before.keys().filter(|url| url.starts_with(&first)).count();
    assert!(like_it > 10, "{like_it}");
    let all = takedown(&world, &["--prefix", &first, "--dry-run"]);
    let listed: Vec<&str> =
        all["pages"].as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect();
    assert_eq!(count(&all["removed"], "pages"), Some(like_it as u64));
    assert!(listed.len() == like_it.min(20) && listed.iter().all(|url| url.starts_with(&first)), "{all}");
    let said = succeeds(world.run(&["takedown", "--prefix", &first, "--dry-run"]));
    assert!(said.contains(&format!("page: {first}\n")), "{said}");
    let one = takedown(&world, &["--page", &first]);
    assert_eq!((count(&one["removed"], "pages"), &one["pages"]), (Some(1), &json!([first])));
    for (url, page) in world.pages() {
        let is_down = page["status"] == "refused" && before[&url]["status"] != "refused";
        assert_eq!(is_down, url == first, "{url}: {page}");
    }
    let told = succeeds(world.run(&["explain", &first]));
    assert!(told.contains(&format!("taken down (recrawl takedown, {first})")), "{told}");
    world.is_sound();
}

/// A takedown is an operator's decision like those of the console, and its log outlives
/// `decisions.json`.
#[test]
fn a_takedown_is_logged_with_the_other_decisions() {
    let world = World::new(web(20, 2), "");
    world.crawl(1);
    let (_, host) = first_host(&world);
    let log = || fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap_or_default();
    takedown(&world, &["--host", &host, "--dry-run"]);
    assert_eq!(log(), "", "a dry run decides nothing");
    takedown(&world, &["--host", &host]);
    takedown(&world, &["--host", &host, "--keep-crawling"]);
    let rows = json_lines(&log());
    let results: Vec<&str> = rows.iter().map(|row| row["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["begun", "done", "begun", "done"]);
    let change = |keep| json!({"kind": "takedown", "pattern": host, "keep_crawling": keep});
    assert_eq!((&rows[1]["change"], &rows[3]["change"]), (&change(false), &change(true)));
    assert_eq!(rows[1]["name"], "command line");
}

#[test]
fn the_end_of_a_takedown_says_what_still_forbids_the_pages() {
    let world = World::new(web(20, 2), "");
    world.crawl(2);
    let (page, host) = first_host(&world);
    takedown(&world, &["--host", &host]);
    let end = || succeeds(world.run(&["takedown", "--host", &host, "--keep-crawling", "--dry-run"]));
    assert!(end().contains("recrawl may fetch them again"), "{}", end());
    world.configure(&format!("[scope]\nrefuse_hosts = [\"{host}\"]"));
    takedown(&world, &["--page", &page]);
    let said = end();
    assert!(said.contains(": its host is in scope.refuse_hosts"), "{said}");
    assert!(!said.contains("may fetch them again") && !said.contains(&format!("takedown, {host}")), "{said}");
    let one = succeeds(world.run(&["takedown", "--page", &page, "--keep-crawling", "--dry-run"]));
    assert!(one.contains(&format!("1 page: taken down (recrawl takedown, {host})")), "{one}");
    let unknown = succeeds(world.run(&["takedown", "--host", "nobody.test", "--dry-run"]));
    assert!(unknown.contains("no page of it is known") && !unknown.contains("kept: the URLs"), "{unknown}");
}

/// The way back from a mistake: it takes exactly the pattern, and removes no data.
#[test]
fn the_end_of_a_takedown_alone_removes_nothing() {
    let world = World::new(web(20, 2), "");
    world.crawl(2);
    let takedown = |words: &[&str]| succeeds(world.run(&[&["takedown"], words].concat()));
    let (page, host) = first_host(&world);
    let mistyped = format!("{page}-mistyped");
    let told = takedown(&["--page", &mistyped]);
    let end = format!("`recrawl takedown --page '{mistyped}' --end`");
    assert!(told.contains("no page of it is known") && told.contains(&end), "{told}");
    takedown(&["--host", "nobody.test"]);
    let before = world.pages();
    let refused = fails(world.run(&["takedown", "--prefix", &page, "--end"]), 2);
    let in_force = format!("takedowns in force: {mistyped}, nobody.test");
    assert!(refused.contains("is not taken down") && refused.contains(&in_force), "{refused}");
    let told = takedown(&["--page", &mistyped, "--end"]);
    assert!(told.starts_with(&format!("ended the takedown of {mistyped}: 0 known pages")), "{told}");
    assert!(!told.contains("removed") && !told.contains("kept:"), "{told}");
    takedown(&["--host", &host]);
    let empty = world.pages();
    let told = takedown(&["--host", &host, "--end"]);
    assert!(told.contains("recrawl may fetch them again"), "{told}");
    assert_eq!(world.pages(), empty);
    assert!(before.iter().all(|(url, page)| url.contains(&host) || *page == empty[url]));
    let controls: Value = serde_json::from_str(&succeeds(world.run(&["status", "--json"]))).unwrap();
    assert_eq!(controls["controls"]["taken_down"], 1, "nobody.test");
}

/// A pattern is named as all commands show it.
#[test]
fn a_takedown_takes_the_patterns_that_are_shown() {
    let world = World::new(web(20, 2), "");
    world.crawl(2);
    let (page, _) = first_host(&world);
    let known = |words: &[&str]| {
        let said = takedown(&world, &[words, &["--dry-run"]].concat());
        said["removed"]["pages"].as_u64().unwrap()
    };
    let pages = known(&["--prefix", &page]);
    assert!(pages > 0 && known(&["--prefix", &format!("{page}*")]) == pages, "with its star or without");
    for (option, pattern) in [("--prefix", format!("{page}a\\*b*")), ("--page", format!("{page}a\\*b"))] {
        takedown(&world, &[option, &pattern]);
        let status: Value = serde_json::from_str(&succeeds(world.run(&["status", "--json"]))).unwrap();
        let shown = status["decisions"].as_array().unwrap().last().unwrap()["what"].as_str().unwrap();
        assert_eq!(shown, pattern, "{status}");
        takedown(&world, &[option, shown, "--end"]);
    }
    let several = fails(world.run(&["takedown", "--page", &format!("{page}*")]), 2);
    assert!(several.contains("is not one page"), "{several}");
}

#[test]
fn the_console_lists_what_was_taken_down_and_ends_none_of_it() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let (page, host) = first_host(&world);
    takedown(&world, &["--host", &host]);
    takedown(&world, &["--prefix", "https://b.test/private/"]);
    let daemon = Daemon::start(&world);
    assert_eq!(daemon.get("/api/v1/controls")["taken_down"], json!([host, "https://b.test/private/*"]));
    let (status, refused) = daemon.ask("POST", "/api/v1/recrawl", Some(json!({"url": page})));
    let (what, todo) = (refused["detail"].as_str().unwrap(), refused["todo"].as_str().unwrap());
    assert!(status == 422 && what.contains(&format!("taken down (recrawl takedown, {host})")), "{refused}");
    assert!(todo.contains(&format!("`recrawl takedown --host '{host}' --end`")), "{refused}");
    let (status, refused) = daemon.ask("POST", "/api/v1/seeds", Some(json!({"urls": [page]})));
    assert!(status == 422 && refused["todo"].as_str().unwrap().contains("--end`"), "{refused}");
    daemon.change("PUT", "/api/v1/blocks/b.test", None);
    for (pattern, down) in [(host.as_str(), host.as_str()), ("b.test", "https://b.test/private/")] {
        let (_, told) = daemon.ask("DELETE", &format!("/api/v1/blocks/{pattern}"), None);
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.contains(down) && detail.contains("stay taken down"), "{told}");
    }
    let (_, told) = daemon.ask("DELETE", "/api/v1/blocks/*.c.test", None);
    assert!(
        told["detail"].as_str().unwrap().ends_with("not blocked: the pages of c.test and its subdomains"),
        "{told}"
    );
    daemon.stop();
    assert_eq!(count(&world.status()["controls"], "taken_down"), Some(2));
}
