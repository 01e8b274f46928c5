//! Reads of other partitions of a fleet, on both ends.

use super::client::{config, served, served_with};
use super::crawl::MadeUp;
use crate::console::{MAX_ELSEWHERE, MAX_RELAYED};
use crate::view::{FleetAnswer, FleetQuestion};
use serde_json::json;
use std::thread;
use tokio_util::sync::CancellationToken;

#[test]
fn what_is_elsewhere_is_asked_there_and_given_on_with_its_partition_node_and_age() {
    let served = served();
    for path in [
        "/api/v1/page?url=https://elsewhere.example/a",
        "/archived?url=https%3A%2F%2Felsewhere.example%2Fa&at=7",
        "/api/v1/search?q=a&partition=2",
        "/api/v1/changes?partition=2&limit=3",
        "/feed.atom?partition=2",
    ] {
        let answer = served.ask("GET", path, "Accept: text/plain\r\n", "");
        assert_eq!((answer.status, answer.body.as_str()), (203, &*format!("{path} as text/plain")), "{path}");
        let told = ["recrawl-partition", "recrawl-node", "content-type"].map(|name| answer.header(name));
        assert_eq!(told, [Some("2"), Some("b"), Some("text/html")], "{path}");
        let age: u64 = answer.header("age").unwrap().parse().unwrap();
        assert!(age < 300, "{age}");
        let policy = answer.header("content-security-policy").unwrap();
        assert_eq!(policy.starts_with("sandbox; "), path.starts_with("/archived"), "{path}: {policy}");
    }
    let known = "If-None-Match: \"tag\"\r\n";
    for (method, headers, status, kind) in
        [("HEAD", "", 203, Some("text/html")), ("GET", known, 304, None), ("HEAD", known, 304, None)]
    {
        let answer = served.ask(method, "/feed.atom?partition=2", headers, "");
        let told = (answer.status, answer.header("content-type"), &*answer.body);
        assert_eq!(told, (status, kind, ""), "{method} {headers}");
        let told = (answer.header("recrawl-partition"), answer.header("etag"));
        assert_eq!(told, (Some("2"), Some("\"tag\"")), "{method} {headers}");
    }
    // Its own is answered here.
    for path in [
        "/api/v1/page?url=https://a.example/0007",
        "/api/v1/search?q=a&partition=1",
        "/api/v1/changes?partition=1",
        "/feed.atom?partition=1",
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.header("recrawl-partition")), (200, None), "{path}");
    }
    for (path, status) in [
        ("/api/v1/search?q=a&partition=9", 422),
        ("/api/v1/search?q=a&partition=x", 422),
        ("/api/v1/page?url=https://elsewhere.example/away", 503),
        ("/api/v1/page?url=https://elsewhere.example/nonsense", 500),
        ("/api/v1/hosts?partition=2", 422),
    ] {
        let refused = served.get(path);
        assert_eq!(refused.status, status, "{path}: {}", refused.body);
        refused.problem();
    }
    let changed = served.change("POST", "/api/v1/recrawl", r#"{"url":"https://elsewhere.example/a"}"#);
    assert_ne!(changed.status, 203, "a change goes its own way: {}", changed.body);
}

#[test]
fn only_so_many_wait_for_others() {
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |_| ());
    let slow = "/api/v1/page?url=https://elsewhere.example/gate";
    thread::scope(|threads| {
        let waiting: Vec<_> = (0..MAX_ELSEWHERE).map(|_| threads.spawn(|| served.get(slow).status)).collect();
        (0..MAX_ELSEWHERE).for_each(|_| entered.recv().unwrap());
        let refused = served.get(slow);
        assert_eq!((refused.status, refused.problem().as_str()), (503, "busy"), "{}", refused.body);
        assert_eq!(served.get("/api/v1/page?url=https://a.example/0007").status, 200);
        (0..MAX_ELSEWHERE).for_each(|_| go_on.send(()).unwrap());
        waiting.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), 203));
    });
}

#[test]
fn questions_of_others_leave_reads_to_clients_until_their_work_ends() {
    let (crawl, entered, go_on) = MadeUp::with_gate();
    let served = served_with(crawl, |_| ());
    let answers = served.running.as_ref().unwrap().fleet_answers("b".into());
    let question = FleetQuestion {
        path: "/api/v1/page?url=https://a.example/gate".into(),
        accept: String::new(),
        known: String::new(),
    };
    let own = || assert_eq!(served.get("/api/v1/page?url=https://a.example/0007").status, 200);
    // The second ones find all turns taken, though nobody waits for the first any more.
    for new in [MAX_RELAYED, 0] {
        let stop = CancellationToken::new();
        thread::scope(|threads| {
            threads.spawn(|| answers.to(&vec![question.clone(); 20], 1 << 20, &stop));
            (0..new).for_each(|_| entered.recv().unwrap());
            own();
            stop.cancel();
        });
        assert!(entered.try_recv().is_err());
    }
    (0..MAX_RELAYED).for_each(|_| go_on.send(()).unwrap());
}

#[test]
fn an_owner_answers_others_as_its_own_readers_and_only_reads() {
    // More at once than a client of the network may ask.
    let served = served_with(MadeUp::new(), |of| *of = crate::ConsoleConfig { requests: 1, ..config() });
    let answers = served.running.as_ref().unwrap().fleet_answers("b".into());
    let to = |questions: &[&str], most: usize| {
        let question = |path: &&str| FleetQuestion {
            path: (*path).into(),
            accept: "text/plain".into(),
            known: String::new(),
        };
        let questions: Vec<_> = questions.iter().map(question).collect();
        answers.to(&questions, most, &CancellationToken::new())
    };
    let page = "/api/v1/page?url=https://a.example/0007";
    let text = "url         https://a.example/0007\n";
    let kind = "text/plain; charset=utf-8";
    let given = FleetAnswer {
        status: 200,
        content_type: kind.into(),
        tag: String::new(),
        body: text.into(),
        node: "b".into(),
    };
    assert_eq!(to(&[page; 5], 1 << 20), vec![Some(given); 5]);
    assert_eq!(to(&[page], text.len() - 1), [None], "too long");
    // The asker's map names this partition. A question that is passed on could go in a circle.
    let lost = &to(&["/api/v1/page?url=https://elsewhere.example/a"], 1 << 20)[0];
    assert_ne!(lost.as_ref().unwrap().status, 203);
    let others = [
        "/api/v1/session",
        "/api/v1/events",
        "/api/v1/recrawl",
        "/health",
        "",
        "no path",
        "\u{0}",
        "/archived?\n",
    ];
    for refused in to(&others, 1 << 20).into_iter().map(Option::unwrap) {
        assert!((400..500).contains(&refused.status), "{refused:?}");
        assert_eq!(refused.content_type, "application/problem+json");
    }
    let feed = |known: String| {
        let question = FleetQuestion { path: "/feed.atom".into(), accept: String::new(), known };
        answers.to(&[question], 1 << 20, &CancellationToken::new()).remove(0).unwrap()
    };
    let first = feed(String::new());
    let (again, other) = (feed(first.tag.clone()), feed("\"other\"".into()));
    assert_eq!((again.status, &*again.body, &again.tag), (304, "", &first.tag));
    assert_eq!((other.status, &other.tag), (200, &first.tag));
    let stop = CancellationToken::new();
    stop.cancel();
    let question = FleetQuestion { path: page.into(), accept: String::new(), known: String::new() };
    assert!(answers.to(&[question], 1 << 20, &stop).len() <= 1, "it ends");
}

#[test]
fn answers_of_others_are_described() {
    let document = served().get("/openapi.json").json();
    for (path, _) in crate::relay::ROUTES {
        let headers = &document["paths"][path]["get"]["responses"]["200"]["headers"];
        let kinds =
            ["recrawl-partition", "recrawl-node", "age"].map(|name| headers[name]["schema"]["type"].clone());
        assert_eq!(kinds, [json!("integer"), json!("string"), json!("integer")], "{path}");
    }
}
