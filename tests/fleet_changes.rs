//! Changes at one process of a fleet that another one cannot make at once.

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::harness::{PATIENCE, count};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A host of partition 2.
const BLOCKED: &str = "127.1.0.5";

/// Requests to hosts of partition 2, and those to the one that is blocked.
fn asked(fleet: &Fleet) -> [usize; 2] {
    let log = fleet.world.server.log(0).unwrap();
    let of = |is_meant: &dyn Fn(&str) -> bool| {
        log.iter().filter(|entry| is_meant(entry.host.split(':').next().unwrap())).count()
    };
    [of(&|host| host >= "127.1.0.4"), of(&|host| host == BLOCKED)]
}

/// A fleet of two, the owner of partition 2, the other one, and the first one's folder.
struct TwoOwners {
    fleet: Fleet,
    there: Daemon,
    here: Daemon,
    folder: PathBuf,
}

impl TwoOwners {
    fn start() -> TwoOwners {
        let fleet = Fleet::begin(&["127.1.0.4"]);
        let [a, b] = ["a", "b"].map(|name| Daemon::of(fleet.command(name)));
        [&a, &b].iter().for_each(|node| drop(node.until("visited", |s| count(s, "visited") > Some(20))));
        let owner = fleet.owners()[&2].1.clone().unwrap();
        let folder = fleet.world.folder.path().join(&owner).join("partition-2");
        let (there, here) = if owner == "a" { (a, b) } else { (b, a) };
        TwoOwners { fleet, there, here, folder }
    }

    /// Waits until a change waits there, and says why.
    fn until_waiting(&self) -> String {
        let status = self.there.until("it waits", |status| status["fleet"]["waiting"].is_string());
        status["fleet"]["waiting"].as_str().unwrap().to_owned()
    }

    /// Patterns that are blocked there, and formulas that were chosen.
    fn made(&self) -> (Option<u64>, usize) {
        let formulas = self.there.get("/api/v1/formulas");
        (count(&self.there.status(), "blocked"), formulas["history"].as_array().unwrap().len())
    }

    fn stop(self) {
        [self.there, self.here].into_iter().for_each(|node| drop(node.stop()));
    }
}

/// Its disk takes no file of decisions for a while. What was decided meanwhile is made then, in its order; until then it asks
/// nobody, since one of them is a block.
#[test]
fn a_block_that_a_process_cannot_store_keeps_it_from_asking_until_it_can() {
    let two = TwoOwners::start();
    // In place of the file that is written before it is renamed.
    let obstacle = two.folder.join("decisions.json.next");
    fs::create_dir(&obstacle).unwrap();
    two.here.change("PUT", &format!("/api/v1/blocks/{BLOCKED}"), None);
    two.here.change("PUT", "/api/v1/formula", Some(json!({ "text": "age" })));
    let why = two.until_waiting();
    assert!(why.contains("decisions.json"), "{why}");
    let (begun, mut before) = (Instant::now(), asked(&two.fleet));
    // Cycles follow each other without a pause.
    loop {
        thread::sleep(Duration::from_secs(2));
        let now = asked(&two.fleet);
        if now == before {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "hosts are asked on: {}", two.there.log.lock().unwrap());
        before = now;
    }
    assert_eq!(two.made(), (Some(0), 0));
    fs::remove_dir(&obstacle).unwrap();
    two.there
        .until("both are made", |status| status["fleet"]["waiting"].is_null() && two.made().0 == Some(1));
    assert!(two.made().1 > 0);
    let begun = Instant::now();
    while asked(&two.fleet)[0] < before[0] + 20 {
        assert!(begun.elapsed() < PATIENCE, "nobody is asked: {}", two.there.log.lock().unwrap());
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(asked(&two.fleet)[1], before[1], "the blocked host is not asked");
    two.stop();
}

/// A formula cannot be stored. What was decided behind it waits, but of pauses and blocks the last word counts, and the others are
/// asked on.
#[test]
fn the_last_word_of_pauses_and_blocks_is_in_force_although_a_change_before_it_waits() {
    let two = TwoOwners::start();
    let obstacle = two.folder.join("formula.toml.new");
    fs::create_dir(&obstacle).unwrap();
    two.here.change("PUT", "/api/v1/formula", Some(json!({ "text": "age" })));
    let why = two.until_waiting();
    assert!(why.contains("formula.toml"), "{why}");
    two.here.change("PUT", &format!("/api/v1/blocks/{BLOCKED}"), None);
    let until_blocked =
        |blocked| two.there.until("as decided", |status| count(status, "blocked") == Some(blocked));
    until_blocked(1);
    two.here.change("PUT", "/api/v1/pause", None);
    two.there.until("it is paused", |status| status["state"] == "paused");
    two.here.change("DELETE", "/api/v1/pause", None);
    two.there.until("it is resumed", |status| status["state"] != "paused");
    two.here.change("DELETE", &format!("/api/v1/blocks/{BLOCKED}"), None);
    until_blocked(0);
    for method in ["PUT", "DELETE"] {
        two.here.change(method, "/api/v1/pause", None);
        two.here.change(method, "/api/v1/blocks/127.1.0.6", None);
    }
    let (begun, before) = (Instant::now(), asked(&two.fleet)[0]);
    // It looks at them every 5 s.
    while begun.elapsed() < Duration::from_secs(11) || asked(&two.fleet)[0] < before + 20 {
        let status = two.there.status();
        assert!(status["state"] != "paused" && count(&status, "blocked") == Some(0), "{status}");
        assert!(begun.elapsed() < PATIENCE, "nobody is asked: {}", two.there.log.lock().unwrap());
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(two.made(), (Some(0), 0), "the formula waits");
    fs::remove_dir(&obstacle).unwrap();
    two.there.until("all is made", |status| {
        status["fleet"]["waiting"].is_null() && two.made().0 == Some(0) && two.made().1 > 0
    });
    two.there.until("it is not paused", |status| status["state"] != "paused");
    two.stop();
}

/// All go back to one formula, which the decision names.
#[test]
fn a_roll_back_in_a_fleet_names_its_formula() {
    let fleet = Fleet::begin(&["127.1.0.4"]);
    let nodes = ["a", "b"].map(|name| Daemon::of(fleet.command(name)));
    // The newest choice, and how many there are.
    let until = |name: Option<&str>, chosen: usize| {
        let is_so = |node: &Daemon| {
            let history = node.get("/api/v1/formulas")["history"].as_array().unwrap().clone();
            history.len() == chosen && name.is_none_or(|name| history[0]["name"] == name)
        };
        nodes.iter().for_each(|node| drop(node.until("as chosen", |_| is_so(node))));
    };
    for text in ["age", "change_probability"] {
        nodes[0].change("PUT", "/api/v1/formula", Some(json!({ "text": text })));
    }
    until(Some("change_probability"), 3);
    nodes[1].change("DELETE", "/api/v1/formula", None);
    until(Some("age"), 2);
    nodes[0].change("DELETE", "/api/v1/formula", None);
    until(None, 1);
    let last = fleet.world.folder.path().join("bucket/decisions/0000000003");
    assert!(String::from_utf8_lossy(&fs::read(last).unwrap()).contains("back_to"));
    nodes.into_iter().for_each(|node| drop(node.stop()));
}
