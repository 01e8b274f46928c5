//! Changes: effects, idempotence and log.

use super::client::{ANNA, Served, served, served_with};
use super::crawl::{MadeUp, NOW};
use crate::config::{Audit, ChangeResult};
use crate::console::MAX_CHANGES;
use crate::view::Change;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::channel;

fn did(answer: &super::client::ClientResponse) -> String {
    answer.json()["did"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

#[test]
fn a_change_repeated_is_one_change() {
    let served = served();
    for (method, path, body, first) in [
        ("PUT", "/api/v1/pause", "", "done"),
        ("DELETE", "/api/v1/pause", "", "done"),
        ("PUT", "/api/v1/hosts/a.example/pause", "", "done"),
        ("DELETE", "/api/v1/hosts/a.example/pause", "", "done"),
        ("PUT", "/api/v1/blocks/a.example", "", "done"),
        ("DELETE", "/api/v1/blocks/a.example", "", "done"),
        ("POST", "/api/v1/seeds", r#"{"urls":["https://d.example/","https://e.example/"]}"#, "next_round"),
        ("POST", "/api/v1/recrawl", r#"{"url":"https://a.example/0007"}"#, "done"),
        ("PUT", "/api/v1/formula", r#"{"text":"cg * 2"}"#, "next_cycle"),
        ("DELETE", "/api/v1/formula", "", "next_cycle"),
        ("PUT", "/api/v1/improve/hold", "", "done"),
        ("DELETE", "/api/v1/improve/hold", "", "done"),
        ("POST", "/api/v1/improve/rollback", "", "next_cycle"),
        ("POST", "/api/v1/improve/run", "", "next_round"),
    ] {
        let once = served.change(method, path, body);
        let controls = served.get("/api/v1/controls").json();
        let twice = served.change(method, path, body);
        assert_eq!((did(&once).as_str(), did(&twice).as_str()), (first, "already"), "{method} {path}");
        assert_eq!(
            (once.status, twice.status),
            (if first == "done" { 200 } else { 202 }, 200),
            "{method} {path}"
        );
        assert_eq!(served.get("/api/v1/controls").json(), controls, "{method} {path}");
    }
}

#[test]
fn what_holds_is_shown_with_who_and_when() {
    let served = served();
    served.change("PUT", "/api/v1/pause", "");
    served.change("PUT", "/api/v1/blocks/https%3A%2F%2Fa.example%2Fx%2F", "");
    let decision = |what: &str| json!({"what": what, "who": "anna", "at": NOW});
    assert_eq!(
        served.get("/api/v1/controls").json(),
        json!({"paused": decision(""), "paused_hosts": [], "blocks": [decision("https://a.example/x/")],
               "taken_down": ["gone.example"], "seeds_waiting": 0, "recrawls_waiting": 0, "waiting": []})
    );
    assert_eq!(served.get("/api/v1/status").json()["state"], "paused");
}

#[test]
fn every_change_is_logged_with_who_when_from_where_and_what_came_of_it() {
    let served = served();
    served.change("PUT", "/api/v1/hosts/a.example/pause", "");
    served.change("PUT", "/api/v1/hosts/a.example/pause", "");
    served.change("PUT", "/api/v1/formula", r#"{"text":"nonsense"}"#);
    let log = served.log.lock().unwrap();
    let lines: Vec<Value> = log.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect();
    let results: Vec<&str> = lines.iter().map(|line| line["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["begun", "done", "begun", "already", "begun", "refused"]);
    assert_eq!(lines[1]["change"], json!({"kind": "pause", "host": "a.example"}));
    assert_eq!(lines[5]["change"], json!({"kind": "use_formula", "text": "nonsense"}));
    assert!(lines.chunks(2).all(|pair| pair[0]["change"] == pair[1]["change"]), "{lines:?}");
    for line in &lines {
        assert_eq!(
            (&line["name"], &line["from"], &line["at"]),
            (&json!("anna"), &json!("127.0.0.1"), &json!(NOW))
        );
        assert!(line["detail"].is_string());
    }
}

#[test]
fn what_came_of_a_change_is_one_word_wherever() {
    let words = [
        ChangeResult::Begun,
        ChangeResult::Done,
        ChangeResult::Already,
        ChangeResult::NextRound,
        ChangeResult::NextCycle,
    ];
    for outcome in words.into_iter().chain([ChangeResult::Refused]) {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.to_string());
    }
}

#[test]
fn no_change_is_in_force_without_a_line_whatever_breaks_off() {
    let served = served();
    assert_eq!(served.change("PUT", "/api/v1/hosts/panic.example/pause", "").status, 500);
    let kinds = |served: &Served| -> Vec<ChangeResult> {
        served.log.lock().unwrap().iter().map(|e| e.result).collect()
    };
    assert_eq!(kinds(&served), [ChangeResult::Begun], "it may be in force");
    assert_eq!(served.change("PUT", "/api/v1/pause", "").status, 200, "others go on");

    let full: Arc<Audit> = Arc::new(|_| Err(io::ErrorKind::StorageFull.into()));
    let served = served_with(MadeUp::new(), |config| config.audit = full);
    let refused = served.change("PUT", "/api/v1/pause", "");
    assert_eq!((refused.status, refused.problem().as_str()), (500, "failed"));
    assert_eq!(served.crawl.changes(), [], "what cannot be logged is not tried");
}

#[test]
fn a_change_whose_client_left_has_its_turn_and_its_line() {
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |_| ());
    std::thread::scope(|threads| {
        let first = threads.spawn(|| served.change("PUT", "/api/v1/hosts/gate.example/pause", ""));
        entered.recv().unwrap();
        let mut gone = served.connect();
        let head = format!(
            "PUT /api/v1/pause HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {ANNA}\r\n\r\n",
            served.address
        );
        gone.write_all(head.as_bytes()).unwrap();
        // A request that has not been read yet is lost with its client.
        served.until("two wait", || served.running.as_ref().unwrap().console.changes_waiting() == 2);
        drop(gone);
        // The same runtime answers this later, so by then the console has seen the disconnect.
        assert_eq!(served.get("/health").status, 200);
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap().status, 200);
    });
    served.until("it is logged", || served.log.lock().unwrap().len() == 4);
    let log = served.log.lock().unwrap();
    assert_eq!((&log[3].change, log[3].result), (&Change::Pause { host: None }, ChangeResult::Done));
}

#[test]
fn more_changes_than_may_wait_are_told_to_come_back() {
    const TOO_MANY: usize = 7;
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |config| config.connections = 2 * MAX_CHANGES);
    let (told, statuses) = channel();
    std::thread::scope(|threads| {
        let change = |path: &'static str| {
            let (served, told) = (&served, told.clone());
            threads.spawn(move || told.send(served.change("PUT", path, "").status).unwrap());
        };
        change("/api/v1/hosts/gate.example/pause");
        entered.recv().unwrap();
        (1..MAX_CHANGES + TOO_MANY).for_each(|_| change("/api/v1/pause"));
        // Queued changes get their response after the first one.
        for _ in 0..TOO_MANY {
            assert_eq!(statuses.recv().unwrap(), 503);
        }
        go_on.send(()).unwrap();
        for _ in 0..MAX_CHANGES {
            assert_eq!(statuses.recv().unwrap(), 200);
        }
    });
    assert_eq!(served.log.lock().unwrap().len(), 2 * MAX_CHANGES);
}

#[test]
fn a_second_comparison_is_told_to_come_back() {
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |_| ());
    let compare = || served.ask("POST", "/api/v1/formulas/compare", "", r#"{"text":"cg"}"#);
    std::thread::scope(|threads| {
        let first = threads.spawn(compare);
        entered.recv().unwrap();
        let second = compare();
        assert_eq!((second.status, second.problem().as_str()), (503, "busy"));
        assert_eq!(second.header("retry-after"), Some("1"));
        assert_eq!(served.get("/api/v1/pages").status, 200, "nobody else waits for it");
        go_on.send(()).unwrap();
        assert_eq!(first.join().unwrap().json()["overlap"], 0.75);
    });
}

#[test]
fn a_request_under_way_at_the_end_is_answered() {
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |_| ());
    std::thread::scope(|threads| {
        let request =
            threads.spawn(|| served.ask("POST", "/api/v1/formulas/compare", "", r#"{"text":"cg"}"#));
        entered.recv().unwrap();
        served.stop.cancel();
        go_on.send(()).unwrap();
        assert_eq!(request.join().unwrap().status, 200);
    });
}
