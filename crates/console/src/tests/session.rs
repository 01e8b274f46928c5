//! Changes without tokens: the one-time link and its sessions.

use super::client::{ANNA, ClientResponse, Served, served, served_with, tokens};
use super::crawl::MadeUp;
use super::refusal::CHANGES;
use crate::ChangeResult;
use serde_json::json;
use tokio::time::Instant;

/// A console without tokens, whose link nobody has seen.
fn open() -> (Served, String) {
    let served = served_with(MadeUp::new(), |config| {
        config.tokens = None;
    });
    // The link in the log is of the sessions too; this one takes its place.
    let sessions = served.running.as_ref().unwrap().console.sessions();
    sessions.end();
    let secret = sessions.offer(Instant::now()).unwrap();
    (served, secret)
}

fn begin(served: &Served, secret: &str, headers: &str) -> ClientResponse {
    served.ask("POST", "/api/v1/session", headers, &json!({ "secret": secret }).to_string())
}

/// The cookie as a browser sends it, with the origin of the console.
fn cookie(served: &Served, answer: &ClientResponse) -> String {
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    format!("Cookie: other=1; {cookie}\r\nOrigin: http://{}\r\n", served.address)
}

#[test]
fn without_a_session_nothing_changes_on_loopback_either() {
    let (served, secret) = open();
    for (method, path, body) in CHANGES {
        let forged = format!("Cookie: recrawl-{}={secret}\r\n", served.address.port());
        for headers in ["", &format!("Authorization: Bearer {ANNA}\r\n"), &forged] {
            let answer = served.ask(method, path, headers, body);
            assert_eq!((answer.status, answer.problem().as_str()), (401, "unauthorized"), "{method} {path}");
            assert!(answer.json()["todo"].as_str().unwrap().contains("recrawl reload"), "{answer:?}");
        }
    }
    assert_eq!(served.get("/api/v1/status").status, 200, "reading needs none");
    assert_eq!(served.get("/api/v1/session").json(), json!({"by": "link", "may_change": false}));
    assert_eq!(served.crawl.changes(), []);
}

#[test]
fn the_link_begins_one_session_that_may_change_everything() {
    let (served, secret) = open();
    assert_eq!(begin(&served, &secret[1..], "").problem(), "unauthorized");
    let begun = begin(&served, &secret, "");
    assert_eq!((begun.status, begun.json()), (200, json!({"by": "link", "may_change": true})));
    assert!(!begun.body.contains(&secret[..8]), "the cookie alone has a secret");
    let set = begun.header("set-cookie").unwrap();
    assert!(
        set.contains("; HttpOnly; SameSite=Strict") && !set.contains("Path") && !set.contains("Secure"),
        "{set}"
    );

    let used = begin(&served, &secret, "");
    assert_eq!((used.status, used.problem().as_str()), (401, "unauthorized"), "it works once");
    let mine = cookie(&served, &begun);
    assert_eq!(served.ask("GET", "/api/v1/session", &mine, "").json()["may_change"], true);
    for (method, path, body) in CHANGES {
        let answer = served.ask(method, path, &mine, body);
        // A candidate whose trial runs cannot be promoted.
        assert!([200, 202, 409].contains(&answer.status), "{method} {path}: {answer:?}");
    }
    let log = served.log.lock().unwrap();
    assert!(log.iter().all(|entry| entry.who.name == "one-time link"));
    assert_eq!(log.iter().filter(|entry| entry.result == ChangeResult::Begun).count(), CHANGES.len());
}

#[test]
fn a_session_changes_nothing_for_another_origin() {
    let (served, secret) = open();
    let own = format!("https://{}", served.address);
    let begun = begin(&served, &secret, &format!("Origin: {own}\r\n"));
    assert!(begun.header("set-cookie").unwrap().ends_with("; Secure"), "behind TLS");
    let cookie = cookie(&served, &begun);
    let bare = cookie.lines().next().unwrap();
    for origin in
        ["", "Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: same-site\r\n"]
    {
        let answer = served.ask("PUT", "/api/v1/pause", &format!("{bare}\r\n{origin}"), "");
        assert_eq!((answer.status, answer.problem().as_str()), (403, "cross-site"), "{origin}");
    }
    let foreign = begin(&served, &secret, "Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(foreign.problem(), "cross-site");
    assert_eq!(served.crawl.changes(), []);
}

#[test]
fn tokens_end_the_link_and_its_sessions() {
    let (served, secret) = open();
    let mine = cookie(&served, &begin(&served, &secret, ""));
    let running = served.running.as_ref().unwrap();
    running.set_tokens(Some(tokens()));
    assert_eq!(served.get("/api/v1/session").json()["by"], "token");
    assert_eq!(served.ask("PUT", "/api/v1/pause", &mine, "").status, 401);
    assert_eq!(served.change("PUT", "/api/v1/pause", "").status, 200);
    running.set_tokens(None);
    assert_eq!(served.ask("DELETE", "/api/v1/pause", &mine, "").status, 401, "it does not come back");
    let sessions = running.console.sessions();
    assert_ne!(sessions.offer(Instant::now()), Some(secret), "another link");
}

#[test]
fn where_there_are_tokens_no_link_is_offered() {
    let served = served();
    assert!(served.running.as_ref().unwrap().console.sessions().offer(Instant::now()).is_some());
    assert_eq!(begin(&served, "0", "").problem(), "unauthorized");
}
