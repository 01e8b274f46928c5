//! What site owners are told of the requests to their hosts, beside the mock web's own log.

use crate::crash::most_in_flight;
use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, host_of, json_lines, succeeds, web};
use recrawl_mockweb::ledger::AccessEntry;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

const DELAY_MS: u64 = 120;
/// What a busy machine adds between the start of a request and its arrival, at most.
const SLACK_MS: u64 = 100;

fn keeping(delay_ms: u64) -> String {
    format!(
        "[storage]\nkeep_hosts = true\n[cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"{delay_ms} ms\"\n\
         delay_per_latency = 0.0\n"
    )
}

fn exported(world: &World) -> Vec<Value> {
    json_lines(&succeeds(world.run(&["export", "hosts", "--out", "-"])))
}

/// The web's log by cycle and host, by arrival.
fn asked(world: &World) -> BTreeMap<(u64, String), Vec<AccessEntry>> {
    let mut asked = BTreeMap::<(u64, String), Vec<AccessEntry>>::new();
    for access in world.server.log(0).unwrap() {
        let host = host_of(&format!("http://{}/", access.host));
        asked.entry((access.cycle.into(), host)).or_default().push(access);
    }
    asked.values_mut().for_each(|requests| requests.sort_by_key(|access| access.ms));
    asked
}

/// How an answer is counted; one that was cut off is none.
fn class(access: &AccessEntry) -> &'static str {
    match access.status {
        _ if !access.complete => "no_answer",
        200..=299 => "ok",
        304 => "not_modified",
        300..=399 => "redirects",
        429 | 503 => "overload",
        400..=499 => "client_errors",
        _ => "server_errors",
    }
}

const CLASSES: [&str; 7] =
    ["ok", "not_modified", "redirects", "client_errors", "overload", "server_errors", "no_answer"];

/// The SHA-256 of what a host of the web serves as robots.txt.
fn robots_digest(world: &World, host: &str) -> String {
    let port = world.server.port();
    let mut stream = TcpStream::connect((host, port)).unwrap();
    let request = "GET /robots.txt HTTP/1.1\r\nConnection: close\r\n";
    write!(stream, "{request}Host: {host}:{port}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").expect("there is a body");
    digest(&SHA256, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One row a cycle and host, with the numbers of the web's log.
fn rows_agree(world: &World, rows: &[Value], asked: &BTreeMap<(u64, String), Vec<AccessEntry>>) {
    assert_eq!(rows.len(), asked.len());
    for row in rows {
        let of = |name: &str| count(row, name).unwrap_or_else(|| panic!("{name}: {row}"));
        let host = row["host"].as_str().unwrap().to_owned();
        let requests = &asked[&(of("cycle"), host.clone())];
        assert_eq!(of("requests"), requests.len() as u64, "{row}");
        for name in CLASSES {
            let expected = requests.iter().filter(|access| class(access) == name).count() as u64;
            assert_eq!(of(name), expected, "{name}: {row}");
        }
        // The web counts the header too.
        let (ours, theirs) = (of("bytes"), requests.iter().map(|access| access.bytes).sum::<u64>());
        let heads = theirs - ours;
        assert!(heads >= of("ok") * 60 && heads <= requests.len() as u64 * 500, "{theirs} bytes: {row}");

        let gaps = requests.windows(2).map(|pair| pair[1].ms - pair[0].ms);
        let (shortest, told) = (gaps.min().unwrap(), of("shortest_gap_ms"));
        assert!(told.abs_diff(shortest) <= SLACK_MS, "{shortest} ms: {row}");
        assert!(told >= of("delay_at_gap_ms") && of("delay_at_gap_ms") >= DELAY_MS, "{row}");
        assert_eq!(of("early"), 0, "{row}");
        assert!(of("delay_ms") >= DELAY_MS && of("last") >= of("first"), "{row}");
        assert!(of("busiest_minute_requests") <= of("requests"), "{row}");
        let minutes = of("last") / 60 - of("first") / 60 + 1;
        assert!(of("busiest_minute_requests") * minutes >= of("requests"), "{row}");
        let robots = format!("http://{host}:{} {}", world.server.port(), robots_digest(world, &host));
        assert_eq!(row["robots"].as_str(), Some(robots.as_str()));
    }
}

#[test]
fn each_host_and_cycle_has_the_numbers_of_the_webs_own_log() {
    let world = World::new(web(24, 3), &keeping(DELAY_MS));
    world.warm_up_quickly();
    let lone = world.lone_pages();
    let kinds = [
        format!("redirect:{}", world.server.seeds()[0]),
        "status:500".into(),
        "busy".into(),
        "status:404".into(),
    ];
    // A page that answers 304 has no body to cut off; of many, some change.
    let kinds = kinds.into_iter().chain(std::iter::repeat("truncated".into()));
    let faults = lone.iter().zip(kinds).map(|(page, kind)| world.fault_on(*page, &kind));
    world.server.set_faults(faults.collect());
    (0..3).for_each(|_| drop(world.next_cycle()));
    // Before the digests are fetched, which the web logs too.
    let asked = asked(&world);
    let rows = exported(&world);
    for name in CLASSES {
        assert!(rows.iter().any(|row| count(row, name) > Some(0)), "{name} never occurred");
    }
    rows_agree(&world, &rows, &asked);
    world.is_sound();

    // The report of a host has the same numbers, newest cycle first.
    let host = host_of(&world.server.seeds()[0]);
    let told: Value =
        serde_json::from_str(&succeeds(world.run(&["report", &host, "--cycles", "2", "--json"]))).unwrap();
    let of_host: Vec<&Value> = rows.iter().rev().filter(|row| row["host"] == *host).take(2).collect();
    let cycles = told["cycles"].as_array().unwrap();
    assert_eq!(cycles.len(), 2);
    for (cycle, row) in cycles.iter().zip(of_host) {
        for name in
            [&CLASSES[..], &["cycle", "requests", "bytes", "shortest_gap_ms", "delay_ms", "early"]].concat()
        {
            assert_eq!(cycle[name], row[name], "{name}: {cycle}");
        }
        assert_eq!(
            cycle.pointer("/robots/0/sha256").unwrap().as_str().unwrap(),
            robots_digest(&world, &host)
        );
        assert_eq!(cycle.pointer("/busiest_minute/requests"), Some(&row["busiest_minute_requests"]));
    }
    let origin = &told["origins"][0];
    assert_eq!(origin.pointer("/robots/sha256").unwrap().as_str().unwrap(), robots_digest(&world, &host));
    let refused = origin["refused"].as_array().unwrap();
    assert!(refused.iter().any(|by| by["rule"] == "robots.txt: Disallow: /private/"), "{origin}");
    let text = succeeds(world.run(&["report", &host]));
    for part in ["User-agent: recrawl", "shortest gap", "busiest minute", "SHA-256", "Disallow: /private/"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let unknown = fails(world.run(&["report", "nowhere.example"]), 1);
    assert!(unknown.contains("unknown host"), "{unknown}");
}

impl World {
    /// Two cycles in which most pages become known and are visited.
    fn warm_up_quickly(&self) {
        (0..2).for_each(|_| drop(self.next_cycle()));
    }
}

fn files(world: &World) -> Vec<String> {
    let files = std::fs::read_dir(&world.data_dir).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn nothing_is_kept_unless_it_is_asked_for() {
    let world = World::new(web(20, 2), "");
    world.crawl(2);
    assert!(!files(&world).iter().any(|name| name.starts_with("hosts-") || name.ends_with(".requests")));
    let refused = fails(world.run(&["export", "hosts", "--out", "-"]), 1);
    assert!(refused.contains("storage.keep_hosts"), "{refused}");
    let host = host_of(&world.server.seeds()[0]);
    let told: Value = serde_json::from_str(&succeeds(world.run(&["report", &host, "--json"]))).unwrap();
    assert!(told["cycles"].is_null() && count(&told["origins"][0], "requests") > Some(0), "{told}");
    assert!(succeeds(world.run(&["report", &host])).contains("storage.keep_hosts"));

    // It can be switched on and off between two cycles; rows leave with the visits of their cycle.
    world.configure("[storage]\nkeep_hosts = true\nkeep_visits = 2\n");
    world.crawl(1);
    assert_eq!(exported(&world).len(), 2);
    assert!(!files(&world).iter().any(|name| name.ends_with(".requests")), "the commit removes the log");
    world.configure("[storage]\nkeep_visits = 2\n");
    world.crawl(1);
    assert_eq!(exported(&world).len(), 2);
    world.crawl(1);
    assert!(!files(&world).iter().any(|name| name.starts_with("hosts-")));
    world.configure("[storage]\nkeep_hosts = true\nkeep_visits = 0\n");
    let refused = fails(world.run(&["crawl", "--cycles", "1"]), 2);
    assert!(refused.contains("storage.keep_hosts needs storage.keep_visits"), "{refused}");
}

#[test]
fn a_killed_crawl_forgets_no_request_but_those_in_flight() {
    let world = World::new(web(300, 4), "[storage]\nkeep_hosts = true\n[cycle]\npages = \"100%\"\n");
    world.server.advance().unwrap();
    (0..2).for_each(|_| drop(world.crawl(1)));
    let before = world.server.log(0).unwrap().len();
    for more in [20, 60] {
        let mut child = world.spawn_crawl(1);
        while world.server.log(0).unwrap().len() < before + more && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    world.crawl(1);
    let rows = exported(&world);
    let told: u64 = rows.iter().filter_map(|row| count(row, "requests")).sum();
    let asked = world.server.log(0).unwrap().len() as u64;
    assert!(told <= asked && told + 2 * most_in_flight() >= asked, "{told} of {asked} requests");
    // The first cycles were not interrupted, and at most one request a host was under way at each kill.
    assert!(asked - told <= 2 * 4 * 2, "{told} of {asked} requests");
    world.is_sound();
}

#[test]
fn a_host_that_is_taken_down_has_no_rows() {
    let world = World::new(web(30, 3), "[storage]\nkeep_hosts = true\n");
    world.crawl(3);
    let host = host_of(&world.server.seeds()[0]);
    let before = exported(&world);
    let meant = before.iter().filter(|row| row["host"] == *host).count() as u64;
    let words = ["takedown", "--host", &host, "--json"];
    let dry: Value =
        serde_json::from_str(&succeeds(world.run(&[&words[..], &["--dry-run"]].concat()))).unwrap();
    assert_eq!(
        (count(&dry["removed"], "host_rows"), exported(&world)),
        (Some(meant), before.clone()),
        "{dry}"
    );
    let done: Value = serde_json::from_str(&succeeds(world.run(&words))).unwrap();
    assert_eq!(count(&done["removed"], "host_rows"), Some(meant), "{done}");
    let rest: Vec<Value> = before.into_iter().filter(|row| row["host"] != *host).collect();
    assert_eq!(exported(&world), rest);
    world.is_sound();
}

#[test]
fn a_daemon_reports_as_the_command_does() {
    let world =
        daemon::world(30, 2, "[storage]\nkeep_hosts = true\n[cycle]\nperiod = \"1 h\"\nfill = true\n");
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    daemon.until("filled", |status| status["visited"].as_u64() > Some(20) && status["state"] == "waiting");
    let host = host_of(&world.server.seeds()[0]);
    let told = daemon.get(&format!("/api/v1/hosts/{host}/report?cycles=3"));
    assert_eq!(told["host"], *host, "{told}");
    let by_command: Value = serde_json::from_str(&succeeds(world.run(&["report", &host, "--json"]))).unwrap();
    assert_eq!(by_command["cycles"], told["cycles"]);
    assert!(count(&told["cycles"][0], "rounds") > Some(1), "rounds of a cycle are added up: {told}");
    let sum: u64 =
        told["cycles"].as_array().unwrap().iter().filter_map(|cycle| count(cycle, "requests")).sum();
    let log = world.server.log(0).unwrap();
    let asked = log.iter().filter(|access| host_of(&format!("http://{}/", access.host)) == host);
    assert_eq!(sum, asked.count() as u64);
    let (status, problem) = daemon.ask("GET", &format!("/api/v1/hosts/{host}/report?cycles=0"), None);
    assert_eq!(status, 422, "{problem}");
    assert!(succeeds(world.run(&["report", &host])).contains("busiest minute"));
    daemon.stop();
}
