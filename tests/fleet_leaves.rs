//! A fleet that shrinks, and goes back to one machine.

use crate::fleet::{Fleet, StandBy};
use crate::harness::{PATIENCE, Pages, fails, json_lines, succeeds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Nodes = BTreeMap<&'static str, StandBy>;

fn nodes(fleet: &Fleet) -> Nodes {
    ["a", "b", "c"].into_iter().map(|name| (name, StandBy::start(fleet.command(name)))).collect()
}

/// A command of the fleet that changes its map.
fn change(fleet: &Fleet, words: &[&str]) -> Command {
    let mut command = crate::harness::program();
    command.args(["fleet", words[0], &fleet.address]).args(&words[1..]);
    command.arg("--config").arg(fleet.world.config_file()).current_dir(&fleet.world.folder);
    command
}

/// Kills it some time after an owner was asked.
fn kill_on_the_way(mut command: Command, wait: Duration) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(told.contains("up after its round"), "{told}");
    thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A command in a data directory.
fn within(fleet: &Fleet, folder: &Path, words: &[&str]) -> std::process::Output {
    let mut command = crate::harness::program();
    command.args(words).arg("--config").arg(fleet.world.config_file()).arg("--data-dir").arg(folder);
    command.output().unwrap()
}

fn pages_in(fleet: &Fleet, folder: &Path) -> Pages {
    let lines = json_lines(&succeeds(within(fleet, folder, &["export", "pages", "--out", "-"])));
    lines.into_iter().map(|line| (line["url"].as_str().unwrap().to_owned(), line)).collect()
}

/// `kill -9` of either command: the fleet goes on as it was, or what the command does is done; the same command does the rest. At last
/// all processes have ended, and the folder is one crawl.
#[test]
fn a_fleet_shrinks_and_goes_back_to_one_machine_whatever_kills_the_commands() {
    let fleet = Fleet::begin(&["127.1.0.3", "127.1.0.5"]);
    for (left, right, says) in [
        ("1", "3", "are no neighbours"),
        ("3", "4", "the fleet has no partition 4"),
        ("1", "2", "has no pages yet"),
    ] {
        let told = fails(change(&fleet, &["merge", left, right]).output().unwrap(), 2);
        assert!(told.contains(says), "{told}");
    }
    let whole = fleet.world.folder.path().join("whole");
    let (out, aside) = (whole.display().to_string(), whole.with_extension("leaving"));
    let told = fails(change(&fleet, &["leave", &out]).output().unwrap(), 2);
    assert!(told.contains("has no pages yet") && !aside.exists(), "{told}");
    let mut nodes = nodes(&fleet);
    fleet.until_owned(3, 5, &nodes);
    let mut rng = StdRng::seed_from_u64(7);
    kill_on_the_way(change(&fleet, &["merge", "1", "2"]), Duration::from_millis(rng.random_range(0..4_000)));
    let partitions = fleet.owners().len();
    fleet.until_owned(partitions, 5, &nodes);
    if partitions == 3 {
        let told = succeeds(change(&fleet, &["merge", "1", "2"]).output().unwrap());
        assert!(told.contains("partitions 1 and 2 are partition") && told.contains("takes it"), "{told}");
    }
    fleet.until_owned(2, 20, &nodes);
    assert!(!fleet.owners().contains_key(&1) && !fleet.owners().contains_key(&2));
    let is_cached = |name: &str| fleet.world.folder.path().join(name).join("partition-1").exists();
    let begun = Instant::now();
    while nodes.keys().any(|name| is_cached(name)) {
        let logs = || nodes.values().map(|node| node.log.lock().unwrap().clone()).collect::<Vec<_>>();
        assert!(
            begun.elapsed() < PATIENCE,
            "the pages of a partition that ended stay: {}",
            logs().join("\n\n")
        );
        thread::sleep(Duration::from_millis(200));
    }

    kill_on_the_way(change(&fleet, &["leave", &out]), Duration::from_millis(rng.random_range(0..4_000)));
    if fleet.status()["ended"] == false {
        assert!(!whole.exists(), "nothing has the name before the fleet has ended");
        fleet.until_owned(2, 5, &nodes);
    }
    if !whole.exists() {
        let told = succeeds(change(&fleet, &["leave", &out]).output().unwrap());
        assert!(told.contains("the fleet has ended"), "{told}");
    }
    assert!(!aside.exists(), "nothing is left beside it");
    let told = succeeds(change(&fleet, &["leave", &out]).output().unwrap());
    assert!(
        told.contains("the fleet has ended") && told.contains("recrawl serve --data-dir"),
        "again: {told}"
    );
    let begun = Instant::now();
    for (name, node) in &mut nodes {
        let status = loop {
            match node.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begun.elapsed() < PATIENCE, "{name}: {}", node.log.lock().unwrap()),
            }
            thread::sleep(Duration::from_millis(100));
        };
        assert_eq!(status.code(), Some(2), "{name}: {}", node.log.lock().unwrap());
        node.until("this fleet has ended");
    }
    let status = fleet.status();
    assert_eq!((&status["ended"], &status["partitions"][0]["state"]), (&true.into(), &"left".into()));
    assert_eq!(status["partitions"][0]["owner"], serde_json::Value::Null);
    let told = fails(fleet.command("d").output().unwrap(), 2);
    assert!(told.contains("this fleet has ended"), "{told}");
    let told = fails(change(&fleet, &["merge", "3", "4"]).output().unwrap(), 2);
    assert!(told.contains("this fleet has ended"), "{told}");

    succeeds(within(&fleet, &whole, &["repository", "verify"]));
    let before = pages_in(&fleet, &whole);
    // A page of each host, whose bodies were in archives of three partitions.
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let shown: BTreeMap<String, &String> = before
        .iter()
        .filter(|(_, page)| page["body"] == "archived")
        .map(|(url, _)| (host(url), url))
        .collect();
    assert!(shown.len() > 3, "{shown:?}");
    for url in shown.values() {
        succeeds(within(&fleet, &whole, &["show", url]));
    }
    succeeds(within(&fleet, &whole, &["crawl", "--json", "--cycles", "4"]));
    succeeds(within(&fleet, &whole, &["repository", "verify"]));
    fleet.world.crawl(12);
    let known = fleet.world.pages();
    let after = pages_in(&fleet, &whole);
    assert!(before.len() > 100 && before.keys().all(|url| after.contains_key(url)));
    assert_eq!(after.keys().collect::<Vec<_>>(), known.keys().collect::<Vec<_>>());
    for (url, page) in &after {
        assert_eq!(page["in_links"], known[url]["in_links"], "{url}");
        assert!(page["n"].is_null() == known[url]["n"].is_null(), "{url}: visited by both or none");
    }
}
