//! What `recrawl status` tells: of a crawl at rest, beside a daemon, and of one in which something is broken.

use crate::daemon::{self, Daemon};
use crate::harness::*;
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, Validators, WebConfig};
use serde_json::{Value, json};
use std::fs;

/// The line of the text that begins with this word.
fn line(world: &World, word: &str) -> String {
    let text = succeeds(world.run(&["status"]));
    let line = text.lines().find(|line| line.starts_with(word));
    line.unwrap_or_else(|| panic!("no line {word:?} in:\n{text}")).to_owned()
}

#[test]
fn what_operators_decided_is_told_also_beside_a_daemon() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let none = json!({"paused": null, "paused_hosts": 0, "blocked": 0, "taken_down": 0});
    assert_eq!((&world.status()["controls"], &world.status()["controls_unknown"]), (&none, &Value::Null));
    assert!(line(&world, "control").contains("not paused; 0 hosts paused"));
    let daemon = Daemon::start(&world);
    daemon.change("PUT", "/api/v1/pause", None);
    daemon.change("PUT", "/api/v1/hosts/a.test/pause", None);
    daemon.change("PUT", "/api/v1/blocks/b.test", None);
    daemon.change("PUT", "/api/v1/blocks/*.c.test", None);
    let beside = world.status();
    assert_eq!((&beside["controls"]["blocked"], &beside["controls_unknown"]), (&2.into(), &Value::Null));
    assert!(line(&world, "control").contains("paused by anna at 20"));
    daemon.stop();
    let controls = world.status()["controls"].clone();
    assert_eq!((&controls["paused"]["who"], &controls["paused_hosts"]), (&"anna".into(), &1.into()));
    assert_eq!(controls["blocked"], 2);
    let told = line(&world, "control");
    assert!(told.contains("paused by anna at 20") && told.contains("2 patterns blocked"), "{told}");
    succeeds(world.run(&["takedown", "--page", "http://d.test/a"]));
    let text = succeeds(world.run(&["status"]));
    for line in ["crawl paused (by anna at 20", "host paused: a.test (by anna", "blocked: *.c.test (by anna"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.contains("taken down: http://d.test/a\n"), "{text}");
    let all = world.status()["decisions"].clone();
    let kinds: Vec<&str> = all.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["paused", "host_paused", "blocked", "blocked", "taken_down"]);
    for (host, own) in [("www.c.test", "blocked: *.c.test"), ("d.test", "taken down: http://d.test/a")] {
        let text = succeeds(world.run(&["status", "--host", host]));
        assert!(text.contains("no page of it is known") && text.contains(own), "{text}");
        assert!(text.contains("crawl paused") && !text.contains("a.test"), "{text}");
    }
}

/// The address guard is a part of the configuration that a new user does not know of.
#[test]
fn a_crawl_that_the_address_guard_keeps_from_all_its_hosts_has_failed_and_says_why() {
    let world = World::new(web(10, 1), "[fetch]\nallow_addresses = [\"10.0.0.0/8\"]");
    let line = fails(world.crawl_command(1).output().unwrap(), 1);
    assert!(
        line.contains("nothing was fetched in this round: 1 visit: the host has a private")
            && line.contains("fetch.allow_addresses"),
        "{line}"
    );
    let seed = world.server.seeds().remove(0);
    for words in [&["status"][..], &["status", "--host", "127.1.0.1"], &["explain", &seed]] {
        let text = succeeds(world.run(words));
        assert!(text.contains("fetch.allow_addresses"), "{words:?}: {text}");
        assert_eq!(
            text.contains("crawler.contact"),
            words == ["status"],
            "the other cause: {words:?}: {text}"
        );
    }
    let told: Value = serde_json::from_str(&succeeds(world.run(&["explain", &seed, "--json"]))).unwrap();
    assert!(told["stopped_by"].as_array().unwrap().iter().any(|by| by["gate"] == "address"), "{told}");
    // A cycle that visits nothing refuses nothing.
    world.configure("");
    let cycles = world.crawl(2);
    assert!(cycles.iter().any(|cycle| count(cycle, "fetched") > Some(0)), "{cycles:?}");
    let text = succeeds(world.run(&["explain", &seed]));
    assert!(!text.contains("allow_addresses"), "{text}");
}

#[test]
fn a_round_that_fetched_nothing_names_the_cause_once() {
    let world = daemon::world(10, 1, "");
    let dead = "http://127.1.0.77:8999/";
    let output = world.run(&["crawl", "--cycles", "1", "--seed", dead]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = fails(output, 1);
    assert_eq!(printed.matches("nothing was fetched").count(), 1, "{printed}");
    assert!(
        printed.contains("1 visit: c") && printed.contains("when asked for robots.txt first"),
        "{printed}"
    );
    assert!(!line.contains("robots.txt") && line.contains("printed below the rounds"), "{line}");
    // A host that is down denied nothing, and a stopped crawl is judged as a running one.
    let status = world.status();
    let cycle = &status["cycles"][0];
    assert_eq!(
        (count(cycle, "robots_denied"), count(cycle, "robots_unreachable")),
        (Some(0), Some(1)),
        "{cycle}"
    );
    let health = "no page was fetched yet: 1 on hosts whose robots.txt could not be fetched; `recrawl explain URL` says why";
    assert_eq!((&status["health"]["level"], &status["health"]["reason"]), (&json!("red"), &json!(health)));
    assert!(succeeds(world.run(&["status"])).contains(&format!("health      red: {health}\n")));
    let told = succeeds(world.run(&["explain", dead]));
    assert_eq!(told.matches("which tries this seed again").count(), 1, "{told}");
    // Again at once: nothing is due, and that has a reason.
    let line = fails(world.run(&["crawl", "--cycles", "1", "--seed", dead]), 1);
    assert!(line.contains(&format!("nothing was fetched: {dead}: the host is skipped: ")), "{line}");
    assert!(
        line.contains("its robots.txt cannot be read: c")
            && line.contains("; to fetch it, wait for a round after "),
        "{line}"
    );
    let daemon = Daemon::start(&world);
    daemon.until("waiting", |s| s["state"] == "waiting" && s["last"].is_object());
    let told = succeeds(world.run(&["status"]));
    assert!(
        told.contains(&format!("health      red: {}", daemon.status()["health"]["reason"].as_str().unwrap())),
        "{told}"
    );
    daemon.seed(&[format!("{dead}2")]);
    daemon.until("tried", |_| daemon.log.lock().unwrap().contains("nothing was fetched in this round: "));
    daemon.stop();
}

/// A seed under a block becomes known, and its owner waits for visits that do not come.
#[test]
fn a_seed_under_a_block_is_told_and_a_page_out_of_scope_is_not_fetched_now() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let seed = world.server.seeds().remove(0);
    let blocked = format!("{seed}blocked/page");
    let daemon = Daemon::start(&world);
    let known = count(&daemon.status(), "pages");
    let pattern = format!("{seed}blocked/*").replace(':', "%3A").replace('/', "%2F");
    daemon.change("PUT", &format!("/api/v1/blocks/{pattern}"), None);
    let (_, told) = daemon.ask("POST", "/api/v1/seeds", Some(json!({"urls": [blocked]})));
    assert!(told["detail"].as_str().unwrap().contains("until you unblock"), "{told}");
    // Nor is a page that robots.txt forbids fetched now.
    let forbidden = format!("{seed}private/x");
    daemon.seed(std::slice::from_ref(&forbidden));
    daemon.until("known", |s| count(s, "pages") == known.map(|known| known + 2));
    let (status, refused) = daemon.ask("POST", "/api/v1/recrawl", Some(json!({"url": forbidden})));
    let [what, todo] = ["detail", "todo"].map(|name| refused[name].as_str().unwrap().to_owned());
    assert!(status == 422 && what.contains("robots.txt: forbidden by `Disallow: "), "{refused}");
    assert!(todo.starts_with("ask the site owner to remove `Disallow: "), "{refused}");
    daemon.stop();
    let output =
        world.command(&["crawl", "--cycles", "1", "--seed", &format!("{blocked}2")]).output().unwrap();
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    succeeds(output);
    assert!(
        warned.contains("not requested until you unblock") && warned.contains("blocked/page2"),
        "{warned}"
    );
    daemon::configure(&world, "[scope]\nrefuse_hosts = [\"127.1.0.1\"]");
    let daemon = Daemon::start(&world);
    let (status, refused) = daemon.ask("POST", "/api/v1/recrawl", Some(json!({"url": seed})));
    let detail = refused["detail"].as_str().unwrap();
    assert!(status == 422 && detail.contains("scope.refuse_hosts"), "{refused}");
    daemon.stop();
}

#[test]
fn what_the_archive_takes_is_told() {
    let world = World::new(web(20, 2), "");
    world.crawl(2);
    let folder = world.data_dir.join("warc");
    fs::write(folder.join("index.cdxj"), "somebody else's").unwrap();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let lengths: Vec<u64> = files
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".warc.gz"))
        .map(|entry| entry.metadata().unwrap().len())
        .collect();
    let bytes: u64 = lengths.iter().sum();
    assert!(bytes > 0);
    assert_eq!(world.status()["archive"], json!({"files": lengths.len(), "bytes": bytes}));
    assert!(line(&world, "archive").contains(&format!("in {} WARC file", lengths.len())));
    fs::remove_dir_all(folder).unwrap();
    assert_eq!(world.status()["archive"], json!({"files": 0, "bytes": 0}));
}

#[test]
fn a_formula_that_cannot_be_read_keeps_nothing_else_from_being_told() {
    let world = World::new(web(20, 2), "");
    world.crawl(1);
    fs::write(world.data_dir.join("formula.toml"), "nonsense").unwrap();
    let output = world.run(&["status"]);
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warned.contains("WARN") && warned.contains("formula.toml"), "{warned}");
    let text = succeeds(output);
    assert!(text.contains("formula     unreadable: ") && text.contains("largest hosts"), "{text}");
    let status = world.status();
    assert!(status["formula"].is_null() && count(&status, "pages") > Some(0), "{status}");
    assert!(status["formula_error"].as_str().unwrap().contains("formula.toml"), "{status}");
}

#[test]
fn the_room_of_the_archive_is_told_before_anything_goes() {
    let procedural =
        ProceduralConfig { pages: 40, hosts: 2, seed: 7, page_bytes: 250_000, ..Default::default() };
    let mut config = Config::new(WebConfig::Procedural(procedural));
    (config.noise, config.validators) = (1.0, Validators::None);
    let world = World::new(config, "[cycle]\npages = \"100%\"\n[storage]\narchive_file = \"1 MiB\"\n");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let room = |more: &[&str]| -> Value {
        let told = succeeds(world.run(&[&["status", "--room", "--json"], more].concat()));
        serde_json::from_str(&told).unwrap()
    };
    let lengths = || -> u64 {
        warc_files(&world.data_dir).values().map(|path| std::fs::metadata(path).unwrap().len()).sum()
    };
    let told = room(&[]);
    assert_eq!(told["bytes"], lengths());
    let pages = world.pages();
    let archived = pages.values().filter(|page| page["body"] == "archived").count() as u64;
    assert!(told["versions"].as_u64() > Some(archived), "{told}");
    assert_eq!((&told["keep_versions"], &told["older_than"]), (&Value::Null, &(31 * 86_400).into()));
    assert_eq!(told["would_go"]["versions"], 0, "nothing is so old");
    // Whole months go, and this one is not over.
    assert_eq!(room(&["--older-than", "0 s"])["would_go"]["versions"], 0);
    assert_eq!(room(&[])["bytes"], lengths(), "it only counts");
    world.configure("[storage]\nkeep_versions = \"30 d\"\n");
    let refused = world.run(&["status", "--room"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("at least \"31 d\""), "{said}");
}
