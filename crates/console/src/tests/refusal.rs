//! Requests that must be rejected.

use super::client::{Served, served, served_with};
use super::crawl::MadeUp;
use crate::tests::client::ANNA;
use crate::token::Tokens;
use crate::view::Change;
use proptest::prelude::*;
use serde_json::json;
use std::io::{Read, Write};

/// Every change, with a valid body.
pub const CHANGES: &[(&str, &str, &str)] = &[
    ("PUT", "/api/v1/pause", ""),
    ("DELETE", "/api/v1/pause", ""),
    ("PUT", "/api/v1/hosts/a.example/pause", ""),
    ("DELETE", "/api/v1/hosts/a.example/pause", ""),
    ("POST", "/api/v1/seeds", r#"{"urls":["https://d.example/"]}"#),
    ("PUT", "/api/v1/blocks/a.example", ""),
    ("DELETE", "/api/v1/blocks/a.example", ""),
    ("POST", "/api/v1/recrawl", r#"{"url":"https://a.example/0007"}"#),
    ("POST", "/api/v1/reload", ""),
    ("POST", "/api/v1/step-aside", ""),
    ("PUT", "/api/v1/formula", r#"{"text":"cg"}"#),
    ("DELETE", "/api/v1/formula", ""),
    ("PUT", "/api/v1/improve/hold", ""),
    ("DELETE", "/api/v1/improve/hold", ""),
    ("POST", "/api/v1/improve/promote", ""),
    ("POST", "/api/v1/improve/rollback", ""),
    ("POST", "/api/v1/improve/run", ""),
];

fn assert_nothing_changed(served: &Served) {
    assert_eq!(served.crawl.changes(), []);
    assert_eq!(*served.log.lock().unwrap(), []);
}

#[test]
fn without_a_token_nothing_changes() {
    let served = served();
    for (method, path, body) in CHANGES {
        let wrong = format!("Authorization: Bearer {}x\r\n", &ANNA[..ANNA.len() - 1]);
        let twice = format!("Authorization: Bearer {ANNA}\r\n").repeat(2);
        let basic = format!("Authorization: Basic {ANNA}\r\n");
        for headers in ["", &wrong, &twice, &basic, "Authorization: Bearer \r\n", "Authorization: ü\r\n"] {
            let answer = served.ask(method, path, headers, body);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (401, "unauthorized"),
                "{method} {path} {headers}"
            );
            assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
            assert!(!answer.body.contains(&ANNA[..10]), "no token is told");
        }
        let query = served.ask(method, &format!("{path}?access_token={ANNA}"), "", body);
        assert_eq!(query.status, 401, "a token in a URL stays in histories and logs");
    }
    assert_nothing_changed(&served);
}

#[test]
fn changes_are_those_routes_that_need_a_token() {
    let document = served().get("/openapi.json").json();
    let mut secured = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let needs_token = operation.get("security").is_some();
            let is_question = method == "get"
                || path.starts_with("/api/v1/formulas/")
                || ["/indexnow", "/websub/{id}", "/api/v1/session"].contains(&path.as_str());
            assert_eq!(needs_token, !is_question, "{method} {path}");
            secured += usize::from(needs_token);
        }
    }
    assert_eq!(secured, CHANGES.len());
}

#[test]
fn an_empty_file_of_tokens_revokes_all() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let tokens = Tokens::read(empty.path()).unwrap();
    let served = served_with(MadeUp::new(), |config| config.tokens = Some(tokens));
    for (method, path, body) in CHANGES {
        let answer = served.change(method, path, body);
        assert_eq!((answer.status, answer.problem().as_str()), (403, "read-only"), "{method} {path}");
        assert!(answer.json()["todo"].as_str().unwrap().contains("name token"));
    }
    assert_eq!(served.get("/api/v1/session").json(), json!({"by": "nothing", "may_change": false}));
    assert_eq!(served.get("/api/v1/status").status, 200);
    assert_nothing_changed(&served);
}

#[test]
fn tokens_are_changed_while_it_runs() {
    let served = served_with(MadeUp::new(), |config| config.tokens = None);
    let running = served.running.as_ref().unwrap();
    assert_eq!(served.change("PUT", "/api/v1/pause", "").status, 401);
    running.set_tokens(Some(super::client::tokens()));
    assert_eq!(served.change("PUT", "/api/v1/pause", "").status, 200);
    running.set_tokens(None);
    assert_eq!(served.change("DELETE", "/api/v1/pause", "").status, 401);
}

#[test]
fn a_page_of_another_origin_changes_nothing() {
    let served = served();
    for (method, path, body) in CHANGES {
        for line in ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
            let headers = format!("Authorization: Bearer {ANNA}\r\n{line}\r\n");
            let answer = served.ask(method, path, &headers, body);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (403, "cross-site"),
                "{method} {path} {line}"
            );
        }
    }
    assert_nothing_changed(&served);
    let own = format!("Authorization: Bearer {ANNA}\r\nOrigin: http://{}\r\n", served.address);
    assert_eq!(served.ask("PUT", "/api/v1/pause", &own, "").status, 200);
}

#[test]
fn a_form_of_another_site_changes_nothing() {
    let served = served();
    let body = "urls=https%3A%2F%2Fd.example%2F";
    let form = format!(
        "POST /api/v1/seeds HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {ANNA}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        served.address,
        body.len()
    );
    let answer = served.raw(&form);
    assert_eq!((answer.status, answer.problem().as_str()), (415, "media-type"), "even without an Origin");
    assert_nothing_changed(&served);
}

#[test]
fn a_name_that_is_not_ours_is_not_answered_to() {
    let served = served();
    let look =
        |host: &str| served.raw(&format!("GET /api/v1/status HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
    for ours in ["Host: localhost:1\r\n", "Host: crawl.example\r\n", "Host: [::1]:8420\r\n"] {
        assert_eq!(look(ours).status, 200, "{ours}");
    }
    let strange = look("Host: evil.example\r\n");
    assert_eq!((strange.status, strange.problem().as_str()), (421, "unknown-host"));
    for none in ["", "Host: localhost\r\nHost: localhost\r\n", "Host: \u{fc}\r\n"] {
        let answer = look(none);
        assert_eq!((answer.status, answer.problem().as_str()), (400, "malformed"), "{none}");
    }
}

#[test]
fn a_body_of_ten_megabytes_is_refused_before_it_is_read() {
    let served = served();
    for path in ["/api/v1/seeds", "/api/v1/formulas/check"] {
        let announced = served.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {ANNA}\r\n\
             Content-Type: application/json\r\nContent-Length: 10485760\r\n\r\n",
            served.address
        ));
        assert_eq!((announced.status, announced.problem().as_str()), (413, "too-large"), "{path}");
    }
    assert_nothing_changed(&served);
}

#[test]
fn a_body_that_does_not_say_how_long_it_is_is_read_to_the_limit() {
    let served = served();
    let mut stream = served.connect();
    let head = format!(
        "POST /api/v1/formulas/check HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "[".repeat(0x10000));
    // The response comes before the end of the request, and the connection may be closed then.
    let sent = (0..160).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(sent < 160 || !answer.is_empty(), "ten megabytes were taken without a word");
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn a_body_just_beyond_the_limit_is_refused_in_words() {
    let served = served();
    let text = "c".repeat(1 << 20);
    let body = format!(r#"{{"text":"{text}"}}"#);
    let chunked = format!(
        "POST /api/v1/formulas/check HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        served.address,
        body.len()
    );
    let mut stream = served.connect();
    // The last bytes may hit a closed connection; the response is there all the same.
    let _ = stream.write_all(chunked.as_bytes());
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn bodies_that_make_no_sense_are_refused_by_what_is_wrong() {
    let served = served();
    for (path, body, status, kind) in [
        ("/api/v1/seeds", "{", 400, "malformed"),
        ("/api/v1/seeds", "\u{0}", 400, "malformed"),
        ("/api/v1/seeds", "[]", 422, "invalid"),
        ("/api/v1/seeds", "{}", 422, "invalid"),
        ("/api/v1/seeds", r#"{"urls":"https://d.example/"}"#, 422, "invalid"),
        ("/api/v1/seeds", r#"{"urls":[7]}"#, 422, "invalid"),
        ("/api/v1/seeds", r#"{"urls":[]}"#, 422, "invalid"),
        ("/api/v1/seeds", r#"{"urls":["https://d.example/"],"depth":3}"#, 422, "invalid"),
        ("/api/v1/seeds", r#"{"urls":["https://d.example/\u0000"]}"#, 422, "invalid"),
        ("/api/v1/recrawl", r#"{"url":null}"#, 422, "invalid"),
        ("/api/v1/formulas/check", r#"{"text":"no formula"}"#, 422, "invalid"),
    ] {
        let answer = served.change("POST", path, body);
        assert_eq!((answer.status, answer.problem().as_str()), (status, kind), "{body}: {}", answer.body);
    }
    let many = format!(r#"{{"urls":[{}"x"]}}"#, "\"x\",".repeat(crate::api::change::MAX_SEEDS));
    assert_eq!(served.change("POST", "/api/v1/seeds", &many).status, 422);
    let long = format!(r#"{{"text":"{}"}}"#, "cg".repeat(crate::api::formula::MAX_FORMULA_BYTES));
    assert_eq!(served.change("PUT", "/api/v1/formula", &long).status, 422);
    assert_nothing_changed(&served);
    let wrong = served.change("POST", "/api/v1/formulas/check", r#"{"text":"no formula"}"#).json();
    assert_eq!(
        (wrong["at"].as_str(), wrong["todo"].as_str()),
        (Some("line 1, column 1"), Some("see docs/formulas.md"))
    );
}

#[test]
fn what_the_crawl_refuses_is_logged_and_told() {
    let served = served();
    let answer = served.change("PUT", "/api/v1/blocks/a%20b", "");
    assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid"));
    let log = served.log.lock().unwrap();
    let line = serde_json::to_value(&log[1]).unwrap();
    assert_eq!((line["result"].as_str(), line["name"].as_str()), (Some("refused"), Some("anna")));
    assert_eq!(log[1].change, Change::Block { pattern: "a b".into() });
}

#[test]
fn no_path_leads_out() {
    let served = served();
    for path in [
        "/../../../etc/passwd",
        "/assets/../../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/Cargo.toml",
        "/assets/%2fetc%2fpasswd",
        "/assets/index.html",
        "//etc/passwd",
        "/api/v1/hosts/..%2F..%2F..%2Fetc%2Fpasswd",
        "/problems/..%2f..%2fetc%2fpasswd",
        "/api/v1/../../metrics",
        "/API/v1/status",
        "/api/v1/status/",
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.problem().as_str()), (404, "not-found"), "{path}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    for odd in ["/api/v1/hosts/%ff", "/api/v1/hosts/a%00b", "/api/v1/hosts/a%0d%0ab"] {
        assert_eq!(served.get(odd).status, 422, "{odd}");
    }
}

#[test]
fn queries_that_make_no_sense_are_refused_in_words() {
    let served = served();
    for path in [
        "/api/v1/cycles?last=0",
        "/api/v1/recent?since=9007199254740992",
        "/api/v1/cycles?last=1001",
        "/api/v1/cycles?last=x",
        "/api/v1/cycles?first=1",
        "/api/v1/hosts?sort=size",
        "/api/v1/hosts?cursor=%7Bgarbage%7D",
        "/api/v1/pages?cursor=../../etc/passwd",
        "/api/v1/pages?cursor=https%3A%2F%2Fa.example%2F9999",
        "/api/v1/pages?cursor=",
        "/api/v1/pages?limit=1001",
        "/api/v1/page",
        "/api/v1/page?url=7",
        "/api/v1/page?url=https://a.example/0007&url=https://a.example/0008",
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid"), "{path}");
        assert!(
            answer.json()["at"].is_string() && answer.json()["todo"].is_string(),
            "{path}: {}",
            answer.body
        );
    }
    let long = format!("/api/v1/pages?cursor={}", "a".repeat(crate::MAX_CURSOR_BYTES + 1));
    assert_eq!(served.get(&long).status, 422);
}

#[test]
fn other_methods_are_told_which_there_are() {
    let served = served();
    let answer = served.ask("POST", "/api/v1/pause", "", "");
    assert_eq!((answer.status, answer.problem().as_str()), (405, "method-not-allowed"));
    let allow = answer.header("allow").unwrap();
    assert!(allow.contains("PUT") && allow.contains("DELETE"), "{allow}");
    assert_eq!(served.ask("OPTIONS", "/api/v1/pause", "Origin: https://evil.example\r\n", "").status, 403);
    assert_eq!(served.ask("TRACE", "/", "", "").status, 405);
}

#[test]
fn a_crawl_that_fails_is_said_to_and_one_that_breaks_off_breaks_nothing_else() {
    let served = served();
    let broken = served.get("/api/v1/hosts/broken.example");
    assert_eq!((broken.status, broken.problem().as_str()), (500, "failed"));
    assert!(broken.body.contains("hosts.sled"));
    let panicked = served.get("/api/v1/hosts/panic.example");
    assert_eq!((panicked.status, panicked.problem().as_str()), (500, "failed"));
    assert_eq!(served.get("/api/v1/hosts/a.example").status, 200);
}

#[test]
fn every_kind_of_problem_has_its_page() {
    let served = served();
    for kind in crate::problem::ProblemType::ALL {
        let facts = kind.facts();
        let page = served.get(&format!("/problems/{}", facts.name)).json();
        assert_eq!(
            (page["status"].as_u64(), page["title"].as_str()),
            (Some(facts.status.into()), Some(facts.title))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_asked_for_is_answered_as_http(path in "/[!-~]{0,60}", method in "GET|PUT|POST|DELETE|HEAD") {
        let served = SHARED.with(|served| served.clone());
        let answer = served.ask(&method, &path, "", "");
        prop_assert!((200..500).contains(&answer.status), "{} {}: {:?}", method, path, answer);
        prop_assert_eq!(served.crawl.changes(), []);
    }
}

thread_local! {
    static SHARED: std::rc::Rc<Served> = std::rc::Rc::new(served());
}
