//! Pages of one partition of a fleet, as consoles and commands of another tell of them.

use crate::daemon::{self, Daemon};
use crate::fleet::{Fleet, HOSTS, PAGES, SETTINGS};
use crate::harness::{PATIENCE, count, fails, succeeds};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

/// A command in the folder of a process.
fn within(fleet: &Fleet, folder: &PathBuf, words: &[&str]) -> Output {
    let mut command = fleet.program();
    command.args(words).arg("--config").arg(fleet.world.config_file()).arg("--data-dir").arg(folder);
    command.output().unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn any_console_and_command_tells_of_all_pages_and_says_whose_owner_is_away() {
    let index = format!("{SETTINGS}[[deliver]]\nname = \"search\"\nto = \"index\"\n");
    let fleet = Fleet::begin_in(daemon::world(PAGES, HOSTS, &index), &["127.1.0.4"]);
    let [a, b] = ["a", "b"].map(|name| Daemon::of(fleet.command(name)));
    a.until("both are seen", |status| {
        let partitions = status["fleet"]["partitions"].as_array().unwrap();
        partitions.iter().all(|one| one["owner"].is_string() && count(one, "cycle") > Some(2))
    });
    b.until("visited", |status| count(status, "visited") > Some(20));
    // So that pages have versions.
    for _ in 0..4 {
        let generation = count(&b.status(), "generation").unwrap();
        fleet.world.server.advance().unwrap();
        b.until("visited again", |status| count(status, "generation") > Some(generation + 1));
    }
    // So that both tell the same.
    a.change("PUT", "/api/v1/pause", None);
    for node in [&a, &b] {
        node.until("paused", |status| status["state"] == "paused");
    }
    let owners = fleet.owners();
    let of = |name: &str| *owners.iter().find(|(_, (_, owner))| owner.as_deref() == Some(name)).unwrap().0;
    let (of_a, of_b) = (of("a"), of("b"));
    let folder = |name: &str, id: u64| fleet.world.folder.path().join(name).join(format!("partition-{id}"));
    let (mine, theirs) = (folder("a", of_a), folder("b", of_b));
    let (page, _) = fleet.pages_of("b", of_b).into_iter().find(|(_, row)| count(row, "X") > Some(0)).unwrap();
    let url = page.replace(':', "%3A").replace('/', "%2F").replace('?', "%3F").replace('&', "%26");
    let version = b.get(&format!("/api/v1/version?url={url}"));
    let is_word = |word: &&str| word.len() > 3 && word.chars().all(|letter| letter.is_ascii_alphabetic());
    let word = version["text"].as_str().unwrap().split_whitespace().find(is_word).unwrap();
    let begun = Instant::now();
    while count(&b.ask("GET", &format!("/api/v1/search?q={word}"), None).1, "total") < Some(1) {
        assert!(begun.elapsed() < PATIENCE, "nobody finds {word}");
        thread::sleep(Duration::from_millis(100));
    }
    for path in [
        format!("/api/v1/page?url={url}"),
        format!("/api/v1/versions?url={url}"),
        format!("/api/v1/version-times?url={url}"),
        format!("/api/v1/version?url={url}"),
        format!("/api/v1/changes?partition={of_b}&changes=new,changed"),
        format!("/api/v1/search?q={word}&partition={of_b}"),
    ] {
        let (there, here) = (b.get(&path), a.get(&path));
        assert_eq!(here, there, "{path}");
    }
    let own = a.get(&format!("/api/v1/changes?partition={of_a}&changes=new"));
    assert_eq!(own, a.get("/api/v1/changes?changes=new"), "its own partition is answered here");
    let (status, unknown) = a.ask("GET", &format!("/api/v1/page?url={url}-unknown"), None);
    let told = b.ask("GET", &format!("/api/v1/page?url={url}-unknown"), None);
    assert_eq!((status, unknown), told, "what the owner does not know");
    assert_eq!(a.ask("GET", "/api/v1/changes?partition=9", None).0, 422);

    for words in [
        &["explain", &page][..],
        &["explain", &page, "--json"],
        &["show", &page],
        &["show", &page, "--json"],
        &["show", &page, "--headers"],
        &["show", &page, "--diff"],
        &["show", &page, "--version", "2"],
        &["show", &page, "--list", "--json"],
    ] {
        let [here, there] = [&mine, &theirs].map(|folder| succeeds(within(&fleet, folder, words)));
        match words.contains(&"--json") {
            // Fields have another order.
            true => assert_eq!(json(&here), json(&there), "{words:?}"),
            false => assert_eq!(here, there, "{words:?}"),
        }
    }
    let list = succeeds(within(&fleet, &mine, &["show", &page, "--list"]));
    assert!(list.starts_with("   1  ") && list.contains("WARC file"), "{list}");
    let refused = fails(within(&fleet, &mine, &["show", &page, "--html"]), 2);
    assert!(
        refused.contains(&format!("partition {of_b} of the fleet has this host, which b owns")),
        "{refused}"
    );
    let questions = fleet.world.folder.path().join(format!("bucket/p/{of_b:010}/questions"));
    assert!(!questions.exists(), "who asked has removed all");

    // Nobody takes the partition of one that is killed.
    b.kill();
    let path = format!("/api/v1/page?url={url}");
    let (status, problem) = a.ask("GET", &path, None);
    let told = problem["detail"].as_str().unwrap();
    let is_told =
        ["has not answered within 20 s", "has had no owner since"].iter().any(|why| told.contains(why));
    assert!(status == 503 && is_told, "{status} {problem}");
    a.until("b is missed", |status| {
        let partitions = status["fleet"]["partitions"].as_array().unwrap();
        partitions.iter().any(|one| count(one, "unowned_ms") > Some(12_000))
    });
    let (status, problem) = a.ask("GET", &path, None);
    let says = format!("partition {of_b} of the fleet has had no owner since 2");
    let told = problem["detail"].as_str().unwrap();
    assert!(status == 503 && told.contains(&says) && told.contains("start another process"), "{problem}");
    let told = fails(within(&fleet, &mine, &["explain", &page]), 1);
    assert!(told.contains(&says), "{told}");

    // A reader who waits for one that hangs delays no stop.
    let b = Daemon::of(fleet.command("b"));
    a.until("b is back", |status| {
        let partitions = status["fleet"]["partitions"].as_array().unwrap();
        partitions.iter().all(|one| one["owner"].is_string())
    });
    b.signal("-STOP");
    thread::scope(|threads| {
        let asked = threads.spawn(|| a.ask("GET", &path, None));
        let begun = Instant::now();
        while fs::read_dir(&questions).map_or(0, Iterator::count) == 0 {
            assert!(begun.elapsed() < PATIENCE, "nobody asks");
            thread::sleep(Duration::from_millis(5));
        }
        a.signal("-TERM");
        let (status, problem) = asked.join().unwrap();
        assert_eq!((status, &problem["detail"]), (503, &"this process stops; try again".into()));
    });
    a.ends();
    b.kill();
}
