//! What `recrawl status` tells: of a crawl at rest, beside a daemon, and of one in which something is broken.

use crate::daemon::{self, Daemon};
use crate::harness::*;
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
    daemon.change("PUT", "/api/v1/blocks/c.test", None);
    let beside = world.status();
    assert_eq!((&beside["controls"]["blocked"], &beside["controls_unknown"]), (&2.into(), &Value::Null));
    assert!(line(&world, "control").contains("paused by anna at 20"));
    daemon.stop();
    let controls = world.status()["controls"].clone();
    assert_eq!((&controls["paused"]["who"], &controls["paused_hosts"]), (&"anna".into(), &1.into()));
    assert_eq!(controls["blocked"], 2);
    let told = line(&world, "control");
    assert!(told.contains("paused by anna at 20") && told.contains("2 patterns blocked"), "{told}");
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
fn what_needs_the_crawl_for_itself_says_beside_a_daemon_what_to_do() {
    let world = daemon::world(10, 1, "");
    let list = world.folder.path().join("list");
    fs::write(&list, world.server.seeds().join("\n")).unwrap();
    let list = list.to_str().unwrap();
    let daemon = Daemon::start(&world);
    for (words, told) in [
        (&["status", "--host", "127.1.0.1"][..], "`GET /api/v1/hosts/HOST`"),
        (&["takedown", "--host", "a.test"], "`PUT /api/v1/blocks/PATTERN`"),
        (&["import", "list", list], "`POST /api/v1/seeds`"),
    ] {
        let line = fails(world.run(words), 1);
        assert!(line.contains(told) && line.contains("in use by"), "{line}");
    }
    let line = fails(world.run(&["takedown", "--host", "a.test", "--keep-crawling"]), 1);
    assert!(line.contains("in use by") && !line.contains("blocks"), "{line}");
    daemon.stop();
}
