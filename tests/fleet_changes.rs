//! Changes at one process of a fleet that another one cannot make at once.

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::harness::{PATIENCE, count};
use serde_json::json;
use std::fs;
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

/// Its disk takes no file of decisions for a while. What was decided meanwhile is made then, in its order; until then it asks
/// nobody, since one of them is a block.
#[test]
fn a_block_that_a_process_cannot_store_keeps_it_from_asking_until_it_can() {
    let fleet = Fleet::begin(&["127.1.0.4"]);
    let nodes = ["a", "b"].map(|name| Daemon::of(fleet.command(name)));
    nodes.iter().for_each(|node| drop(node.until("visited", |status| count(status, "visited") > Some(20))));
    let owner = fleet.owners()[&2].1.clone().unwrap();
    let [there, here] = if owner == "a" { [&nodes[0], &nodes[1]] } else { [&nodes[1], &nodes[0]] };
    let folder = fleet.world.folder.path().join(owner).join("partition-2");
    // In place of the file that is written before it is renamed.
    let obstacle = folder.join("decisions.json.next");
    fs::create_dir(&obstacle).unwrap();
    here.change("PUT", &format!("/api/v1/blocks/{BLOCKED}"), None);
    here.change("PUT", "/api/v1/formula", Some(json!({ "text": "age" })));
    let status = there.until("it waits", |status| status["fleet"]["waiting"].is_string());
    assert!(status["fleet"]["waiting"].as_str().unwrap().contains("decisions.json"), "{status}");
    let (begun, mut before) = (Instant::now(), asked(&fleet));
    // Cycles follow each other without a pause.
    loop {
        thread::sleep(Duration::from_secs(2));
        let now = asked(&fleet);
        if now == before {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "hosts are asked on: {}", there.log.lock().unwrap());
        before = now;
    }
    let in_force = |node: &Daemon| node.get("/api/v1/formulas")["history"].as_array().unwrap().len();
    assert_eq!((count(&there.status(), "blocked"), in_force(there)), (Some(0), 0));
    fs::remove_dir(&obstacle).unwrap();
    there.until("both are made", |status| {
        status["fleet"]["waiting"].is_null() && count(status, "blocked") == Some(1) && in_force(there) > 0
    });
    let begun = Instant::now();
    while asked(&fleet)[0] < before[0] + 20 {
        assert!(begun.elapsed() < PATIENCE, "nobody is asked: {}", there.log.lock().unwrap());
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(asked(&fleet)[1], before[1], "the blocked host is not asked");
    nodes.into_iter().for_each(|node| drop(node.stop()));
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
