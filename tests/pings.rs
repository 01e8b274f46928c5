//! Pings: site owners tell which pages have changed. A ping counts when the host shows its key; it is obeyed
//! when the host's pings have proved right.

use crate::daemon::{self, Daemon};
use crate::harness::*;
use recrawl_mockweb::Config;
use serde_json::{Value, json};
use std::time::Duration;

const KEY: &str = "a1b2c3d4e5f6a7b8";
const PINGS: &str =
    "[cycle]\npages = \"100%\"\nfill = true\nwarmup = 0\n[pings]\nindexnow = true\nmax_per_host = 100\n";

/// A daemon that knows its web of one host, and waits a day for the next cycle.
fn filled() -> (World, Daemon) {
    let world = daemon::world_of(Config { ping_key: Some(KEY.into()), ..web(120, 1) }, PINGS);
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    daemon.until("filled", |status| status["state"] == "waiting" && status["visited"].as_u64() > Some(120));
    (world, daemon)
}

fn ping(daemon: &Daemon, urls: &[String], key: &str) -> (u16, Value) {
    daemon.ask("POST", "/indexnow", Some(json!({ "urlList": urls, "key": key })))
}

fn pings(status: &Value, name: &str) -> u64 {
    count(&status["pings"], name).unwrap_or_else(|| panic!("no {name}: {status}"))
}

/// Asks for these pages and waits for their visits.
fn visit(world: &World, daemon: &Daemon, urls: &[String]) {
    let before: Vec<usize> = urls.iter().map(|url| world.asked(url)).collect();
    urls.iter().for_each(|url| _ = daemon.change("POST", "/api/v1/recrawl", Some(json!({ "url": url }))));
    daemon.until("visited and committed", |status| {
        status["state"] == "waiting"
            && urls.iter().zip(&before).all(|(url, before)| world.asked(url) > *before)
    });
}

#[test]
fn a_ping_is_taken_from_a_host_that_shows_its_key_and_from_nobody_else() {
    let (world, daemon) = filled();
    let page = world.server.url(7);
    let key_file = world.server.seeds()[0].clone() + KEY + ".txt";
    assert_eq!(ping(&daemon, std::slice::from_ref(&page), KEY).0, 202, "the key is checked first");
    let status = daemon.until("checked", |status| pings(status, "waiting") == 1);
    assert_eq!((world.asked(&key_file), pings(&status, "trusted")), (1, 0), "{status}");
    assert_eq!(ping(&daemon, std::slice::from_ref(&page), KEY).0, 200);
    assert_eq!(world.asked(&key_file), 1, "once a day");
    // A forged key, by a client that does not know the real one.
    assert_eq!(ping(&daemon, std::slice::from_ref(&page), "forged-key").0, 202);
    daemon.until("checked", |status| pings(status, "checking") == 0);
    let (status, problem) = ping(&daemon, std::slice::from_ref(&page), "forged-key");
    assert_eq!((status, problem["type"].as_str()), (403, Some("/problems/wrong-key")), "{problem}");
    // A ping for another host, for one outside the crawl, and for too many pages.
    for (urls, expected) in [
        (vec![page.clone(), "http://127.1.0.9:1/".into()], 422),
        (vec!["http://nowhere.example/".into()], 422),
        (vec!["not a URL".into()], 422),
        ((0..101).map(|number| format!("{}{number}", world.server.seeds()[0])).collect(), 429),
    ] {
        let (status, problem) = ping(&daemon, &urls, KEY);
        assert_eq!(status, expected, "{problem}");
    }
    // Nobody visited the page: its host is not trusted yet. The key file is no page of the crawl.
    assert_eq!(world.asked(&page), 1);
    daemon.stop();
    assert!(!world.pages().contains_key(&key_file));
    let violations = world.server.violations(Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0), "{violations:?}");
    // The ping waits for its visit, over restarts; with pings off, none is taken.
    daemon::configure(&world, "[cycle]\nfill = true\n");
    let daemon = Daemon::start(&world);
    assert_eq!(pings(&daemon.status(), "waiting"), 1);
    assert_eq!(ping(&daemon, &[page], KEY).0, 404);
    daemon.stop();
    world.is_sound();
}

#[test]
fn pinged_pages_of_a_host_that_proved_right_are_visited_within_seconds() {
    let (world, daemon) = filled();
    // A changed page is pinged, and pages that stay as they are are not.
    world.server.set_clock(10).expect("a clock");
    let (mut changed, mut quiet) = (Vec::new(), Vec::new());
    for truth in world.server.truth(0, 10) {
        match truth.changes.is_empty() {
            true => quiet.push(truth.url),
            false => changed.push(truth.url),
        }
    }
    assert!(changed.len() > 20 && quiet.len() > 20, "{} {}", changed.len(), quiet.len());
    ping(&daemon, &changed[..4], KEY);
    daemon.until("noted", |status| pings(status, "waiting") == 4 && status["state"] == "waiting");
    visit(&world, &daemon, &[&changed[..4], &quiet[..4]].concat());
    let status = daemon.until("learned", |status| pings(status, "trusted") == 1);
    assert_eq!(pings(&status, "waiting"), 0, "all are answered");
    let asked = world.asked(&changed[5]);
    assert_eq!(ping(&daemon, &changed[5..6], KEY).0, 200);
    daemon.until("visited", |_| world.asked(&changed[5]) > asked);
    let status = daemon.until("answered", |status| pings(status, "waiting") == 0);
    assert_eq!(status["last"]["cycle"], 1, "not a cycle of its own");
    // A flood: a tenth of k of it is visited in this cycle.
    let answer = ping(&daemon, &changed[6..], KEY);
    assert_eq!(answer.0, 200, "{answer:?}");
    let most = count(&daemon.status(), "pages").unwrap().div_ceil(10);
    assert!((changed.len() - 6) as u64 > most);
    let pinged = || count(&daemon.get("/api/v1/cycles?last=1")[0], "pinged").unwrap_or(0);
    daemon.until("visited", |status| status["state"] == "waiting" && pinged() >= most);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(pinged(), most);
    daemon.stop();
    let report = &world.status()["cycles"][0];
    assert_eq!(count(report, "pinged"), Some(most), "{report}");
    assert!(count(report, "changed") >= Some(most), "{report}");
    world.is_sound();
}
