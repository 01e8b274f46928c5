//! The control interface returns the same as the handle.

use crate::client::{Reply, ask, bundled, get, procedural};
use recrawl_mockweb::{ProceduralConfig, RecordingSource, ReplayConfig, Server, StartError, WebConfig};
use serde_json::{Value, json};

fn call(server: &Server, method: &str, path: &str, body: &str) -> Reply {
    ask(method, &format!("http://{}{path}", server.control()), &[], body)
}

fn document(server: &Server, method: &str, path: &str, body: &str) -> Value {
    let reply = call(server, method, path, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

fn lines(server: &Server, path: &str) -> Vec<Value> {
    call(server, "GET", path, "").text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn same(value: &Value, what: &impl serde::Serialize) {
    assert_eq!(*value, serde_json::to_value(what).unwrap());
}

#[test]
fn the_clock_is_read_set_and_advanced_up_to_the_end() {
    let server = bundled(|_| {});
    assert_eq!(document(&server, "GET", "/clock", ""), json!({"cycle": 0, "last_cycle": 76}));
    assert_eq!(document(&server, "POST", "/clock", "{\"cycle\":75}")["cycle"], 75);
    assert_eq!(document(&server, "POST", "/advance", "")["cycle"], 76);
    for (path, body) in [("/advance", ""), ("/clock", "{\"cycle\":77}"), ("/clock", "{}"), ("/clock", "x")] {
        let refused = call(&server, "POST", path, body);
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("error"), "{}", refused.text());
    }
    assert_eq!(server.clock(), 76);
}

#[test]
fn everything_the_handle_says_can_be_asked_for() {
    let server = procedural(1_200, 3, |_| {});
    get(&server.url(1));
    get(&format!("{}private/n1", server.seeds()[0]));
    same(&document(&server, "GET", "/info", ""), &server.info());
    let truth = lines(&server, "/truth?from=2&to=9");
    assert_eq!(truth.len(), 1_200);
    for (line, page) in truth.iter().zip(server.truth(2, 9)) {
        same(line, &page);
    }
    let held = document(&server, "GET", "/held", "");
    assert_eq!(held["all"], json!({"total": 1_200, "held": 1, "fresh": 1}));
    assert_eq!(lines(&server, "/held/pages").len(), 1_200);
    assert_eq!(lines(&server, "/log").len(), 2);
    same(&lines(&server, "/log?from=1")[0], &server.log(1).unwrap()[0]);
    same(&lines(&server, "/counts")[0], &server.counts()[0]);
    assert_eq!(document(&server, "GET", "/violations?delay_ms=5", "")["forbidden"], 1);
    document(&server, "POST", "/reset-log", "");
    assert!(lines(&server, "/log").is_empty());
    assert_eq!(call(&server, "GET", "/nothing", "").status, 404);
    assert_eq!(call(&server, "GET", "/log?from=x", "").status, 400);
}

#[test]
fn changes_that_nobody_saw_are_counted() {
    let server = procedural(300, 3, |_| {});
    (0..300).for_each(|page| drop(get(&server.url(page))));
    let changed = |from: u32, to: u32| -> Vec<u64> {
        server.truth(from, to).map(|page| page.changes.len() as u64).collect()
    };
    let sums = |changes: &[u64]| {
        let changed = changes.iter().filter(|count| **count > 0).count() as u64;
        (changed, changes.iter().sum::<u64>() - changed)
    };
    let missed = || document(&server, "GET", "/missed", "");
    document(&server, "POST", "/clock", "{\"cycle\":30}");
    let (waiting, lost) = sums(&changed(0, 30));
    assert!(waiting > 50 && lost > 50, "{waiting} pages changed, {lost} changes overwritten");
    assert_eq!(missed()["all"], json!({"seen": 0, "missed": 0, "waiting": waiting, "lost": lost}));
    (0..300).for_each(|page| drop(get(&server.url(page))));
    assert_eq!(missed()["all"], json!({"seen": waiting, "missed": lost, "waiting": 0, "lost": 0}));
    document(&server, "POST", "/clock", "{\"cycle\":33}");
    (0..300).for_each(|page| drop(get(&server.url(page))));
    let (seen, overwritten) = sums(&changed(30, 33));
    let found = missed();
    assert_eq!(
        (&found["all"]["seen"], &found["all"]["missed"]),
        (&json!(waiting + seen), &json!(lost + overwritten))
    );
    let hosts = found["hosts"].as_array().unwrap();
    let of_hosts: u64 = hosts.iter().map(|host| host["missed"].as_u64().unwrap()).sum();
    assert_eq!((hosts.len(), of_hosts), (3, lost + overwritten));
    document(&server, "POST", "/reset-log", "");
    assert_eq!(missed()["all"]["missed"], 0);
}

#[test]
fn faults_are_set_and_taken_back() {
    let server = procedural(20, 2, |_| {});
    document(&server, "POST", "/faults", "[\"/=status:500\"]");
    assert_eq!(get(&server.url(0)).status, 500);
    let faults = document(&server, "GET", "/faults", "");
    assert_eq!(faults["rules"], json!(["/=status:500"]));
    assert!(faults["kinds"].as_array().unwrap().len() >= 8);
    let refused = call(&server, "POST", "/faults", "[\"/=drought\"]");
    assert_eq!(refused.status, 400);
    assert_eq!(get(&server.url(0)).status, 500, "a wrong rule changes nothing");
    document(&server, "POST", "/faults", "[]");
    assert_eq!(get(&server.url(0)).status, 200);
}

#[test]
fn a_server_that_cannot_be_says_why() {
    let refused = |change: &dyn Fn(&mut recrawl_mockweb::Config)| {
        let web = ProceduralConfig { pages: 10, hosts: 2, ..ProceduralConfig::default() };
        let mut config = recrawl_mockweb::Config::new(WebConfig::Procedural(web));
        change(&mut config);
        Server::start(config).err().expect("it cannot start")
    };
    assert!(matches!(refused(&|c| c.addresses = Some(1)), StartError::NoDomain));
    assert!(matches!(refused(&|c| c.addresses = Some(3)), StartError::Hosts(3)));
    let nowhere =
        ReplayConfig { sources: vec![RecordingSource::Folder("/nowhere".into())], ..ReplayConfig::default() };
    let why = refused(&|c| c.web = WebConfig::Replay(nowhere.clone())).to_string();
    assert!(why.contains("/nowhere/cycles.tsv"), "{why}");
    let late = refused(&|c| {
        c.web = WebConfig::Replay(ReplayConfig::default());
        c.cycle = 77;
    });
    assert!(late.to_string().contains("no cycle 77: the last one is 76"), "{late}");
    let running = procedural(20, 2, |_| {});
    let taken = refused(&|c| c.port = running.port()).to_string();
    assert!(taken.contains("cannot listen on 127.1.0.1:"), "{taken}");
}

#[tokio::test]
async fn a_server_can_be_started_and_ended_inside_a_runtime() {
    let server = procedural(20, 2, |_| {});
    let web = ProceduralConfig { pages: 10, hosts: 2, ..ProceduralConfig::default() };
    let mut config = recrawl_mockweb::Config::new(WebConfig::Procedural(web));
    config.port = server.port();
    assert!(matches!(Server::start(config), Err(StartError::Listen { .. })));
    let url = server.url(0);
    assert_eq!(tokio::task::spawn_blocking(move || get(&url).status).await.unwrap(), 200);
    assert_eq!(server.counts().len(), 1);
    drop(server);
}
