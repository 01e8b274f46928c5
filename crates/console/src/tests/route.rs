//! Every route once, with a valid request.

use super::client::{ClientResponse, Served, served};
use super::crawl::{NOW, PAGES};
use crate::view::State;
use serde_json::json;
use std::collections::BTreeSet;

/// Method, described path, requested path, body, status.
const ROUTES: &[(&str, &str, &str, &str, u16)] = &[
    ("GET", "/", "/", "", 200),
    ("GET", "/assets/{name}", "/assets/style.css", "", 200),
    ("GET", "/health", "/health", "", 200),
    ("GET", "/ready", "/ready", "", 200),
    ("GET", "/metrics", "/metrics", "", 200),
    ("GET", "/openapi.json", "/openapi.json", "", 200),
    ("GET", "/problems/{kind}", "/problems/rate-limit", "", 200),
    ("GET", "/api/v1/status", "/api/v1/status", "", 200),
    ("GET", "/api/v1/cycles", "/api/v1/cycles?last=2", "", 200),
    ("GET", "/api/v1/errors", "/api/v1/errors", "", 200),
    ("GET", "/api/v1/recent", "/api/v1/recent?since=5", "", 200),
    ("GET", "/api/v1/controls", "/api/v1/controls", "", 200),
    ("GET", "/api/v1/hosts", "/api/v1/hosts?sort=queue&state=waiting&limit=2", "", 200),
    ("GET", "/api/v1/hosts/{host}", "/api/v1/hosts/a.example", "", 200),
    ("GET", "/api/v1/hosts/{host}/report", "/api/v1/hosts/a.example/report?cycles=3", "", 200),
    ("GET", "/api/v1/pages", "/api/v1/pages?prefix=https%3A%2F%2Fa.example%2F00", "", 200),
    ("GET", "/api/v1/promises", "/api/v1/promises", "", 200),
    ("GET", "/api/v1/page", "/api/v1/page?url=https://a.example/0007", "", 200),
    (
        "GET",
        "/api/v1/changes",
        "/api/v1/changes?pages=a.example&changes=changed,gone&diff=true&limit=100",
        "",
        200,
    ),
    ("GET", "/api/v1/search", "/api/v1/search?q=some%20words&host=a.example&since=5&limit=100", "", 200),
    ("GET", "/feed.atom", "/feed.atom?pages=a.example", "", 200),
    ("GET", "/api/v1/versions", "/api/v1/versions?url=https://a.example/0007&limit=100", "", 200),
    (
        "GET",
        "/api/v1/version",
        "/api/v1/version?url=https://a.example/0007&warc_file=1&warc_offset=7",
        "",
        200,
    ),
    ("GET", "/archived", "/archived?url=https://a.example/0007&warc_file=1&warc_offset=7", "", 200),
    ("GET", "/api/v1/version", "/api/v1/version?url=https://a.example/0007&at=1700000000", "", 200),
    ("GET", "/api/v1/version-times", "/api/v1/version-times?url=https://a.example/0007", "", 200),
    ("GET", "/timegate/{url}", "/timegate/https://a.example/0007", "", 302),
    ("GET", "/timemap/link/{url}", "/timemap/link/https://a.example/0007", "", 200),
    ("GET", "/memento/{digits}/{url}", "/memento/20231114221320/https://a.example/0007", "", 200),
    ("GET", "/api/v1/formulas", "/api/v1/formulas", "", 200),
    ("POST", "/api/v1/formulas/check", "/api/v1/formulas/check", r#"{"text":"cg"}"#, 200),
    ("POST", "/api/v1/formulas/compare", "/api/v1/formulas/compare", r#"{"text":"cg"}"#, 200),
    ("GET", "/api/v1/improve", "/api/v1/improve", "", 200),
    ("GET", "/api/v1/improve/history", "/api/v1/improve/history?limit=2", "", 200),
    ("GET", "/api/v1/improve/candidates/{id}", "/api/v1/improve/candidates/0af3", "", 200),
    ("GET", "/api/v1/whatif", "/api/v1/whatif", "", 202),
    ("GET", "/api/v1/savings", "/api/v1/savings", "", 200),
    ("PUT", "/api/v1/improve/hold", "/api/v1/improve/hold", "", 200),
    ("DELETE", "/api/v1/improve/hold", "/api/v1/improve/hold", "", 200),
    ("POST", "/api/v1/improve/promote", "/api/v1/improve/promote", "", 409),
    ("POST", "/api/v1/improve/rollback", "/api/v1/improve/rollback", "", 202),
    ("POST", "/api/v1/improve/run", "/api/v1/improve/run", "", 202),
    ("GET", "/indexnow", "/indexnow?url=https://a.example/0007&key=proven-key", "", 200),
    ("POST", "/indexnow", "/indexnow", r#"{"key":"proven-key","urlList":["https://a.example/0007"]}"#, 200),
    (
        "GET",
        "/websub/{id}",
        "/websub/known?hub.mode=subscribe&hub.topic=https://a.example/f&hub.challenge=c&hub.lease_seconds=60",
        "",
        200,
    ),
    ("POST", "/websub/{id}", "/websub/turned-off", "", 404),
    ("GET", "/api/v1/session", "/api/v1/session", "", 200),
    // The link is tried in `session`.
    ("POST", "/api/v1/session", "/api/v1/session", r#"{"secret":"0"}"#, 401),
    ("PUT", "/api/v1/pause", "/api/v1/pause", "", 200),
    ("DELETE", "/api/v1/pause", "/api/v1/pause", "", 200),
    ("PUT", "/api/v1/hosts/{host}/pause", "/api/v1/hosts/a.example%3A8080/pause", "", 200),
    ("DELETE", "/api/v1/hosts/{host}/pause", "/api/v1/hosts/a.example%3A8080/pause", "", 200),
    ("POST", "/api/v1/seeds", "/api/v1/seeds", r#"{"urls":["https://d.example/"]}"#, 202),
    ("PUT", "/api/v1/blocks/{pattern}", "/api/v1/blocks/https%3A%2F%2Fa.example%2Fx%2F", "", 200),
    ("DELETE", "/api/v1/blocks/{pattern}", "/api/v1/blocks/https%3A%2F%2Fa.example%2Fx%2F", "", 200),
    ("POST", "/api/v1/reload", "/api/v1/reload", "", 202),
    ("POST", "/api/v1/step-aside", "/api/v1/step-aside", "", 202),
    ("POST", "/api/v1/recrawl", "/api/v1/recrawl", r#"{"url":"https://a.example/0007"}"#, 200),
    ("PUT", "/api/v1/formula", "/api/v1/formula", r#"{"text":"cg * 2"}"#, 202),
    ("DELETE", "/api/v1/formula", "/api/v1/formula", "", 202),
];

/// Tested elsewhere, because it never ends.
const ENDLESS: (&str, &str) = ("GET", "/api/v1/events");

/// The operations of the document.
pub fn described(served: &Served) -> BTreeSet<(String, String)> {
    let document = served.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
    });
    each.collect()
}

fn assert_hardened(answer: &ClientResponse, path: &str) {
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
    let policy = answer.header("content-security-policy").unwrap();
    let opener = answer.header("cross-origin-opener-policy");
    match path.starts_with("/archived") {
        true => {
            assert!(policy.starts_with("sandbox; default-src 'none'; "), "{policy}");
            for allowed in ["allow-", "script-src", "connect-src", "http", "*", "unsafe-eval"] {
                assert!(!policy.contains(allowed), "{allowed} in {policy}");
            }
            for forbidden in ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'"] {
                assert!(policy.contains(forbidden), "no {forbidden} in {policy}");
            }
            assert_eq!((answer.header("x-frame-options"), opener), (Some("SAMEORIGIN"), None));
        }
        false => {
            assert!(
                policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
                "{path}: {policy}"
            );
            assert_eq!((answer.header("x-frame-options"), opener), (Some("DENY"), Some("same-origin")));
        }
    }
    let kept = answer.header("cache-control").unwrap();
    let may_be_kept = path == "/" || path.starts_with("/assets/") || path.starts_with("/feed.atom");
    assert_eq!(kept, if may_be_kept { "no-cache" } else { "no-store" }, "{path}");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("set-cookie"), None);
}

#[test]
fn every_route_answers_as_it_is_described() {
    let served = served();
    for (method, _, path, body, status) in ROUTES {
        let answer = served.change(method, path, body);
        assert_eq!(answer.status, *status, "{method} {path}: {}", answer.body);
        assert_hardened(&answer, path);
        assert_eq!(answer.body.is_empty(), *status == 302, "{method} {path}");
    }
    let mut tried: BTreeSet<(String, String)> =
        ROUTES.iter().map(|(method, path, ..)| ((*method).into(), (*path).into())).collect();
    tried.insert((ENDLESS.0.into(), ENDLESS.1.into()));
    assert_eq!(tried, described(&served), "each described route is tried here, and no other");
}

#[test]
fn a_refusal_is_hardened_too() {
    let served = served();
    let unknown = "/archived?url=https://a.example/0007&warc_file=1&warc_offset=8";
    for (path, status) in
        [("/none", 404), ("/api/v1/page", 422), ("/assets/none", 404), ("/archived", 422), (unknown, 404)]
    {
        let answer = served.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert_hardened(&answer, path);
    }
}

#[test]
fn pages_come_in_parts_that_join() {
    let served = served();
    let (mut urls, mut cursor) = (Vec::new(), String::new());
    loop {
        let list = served.get(&format!("/api/v1/pages?limit=999{cursor}")).json();
        urls.extend(
            list["pages"].as_array().unwrap().iter().map(|page| page["url"].as_str().unwrap().to_owned()),
        );
        match list["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(urls.len(), PAGES);
    assert!(urls.is_sorted());
}

#[test]
fn an_archived_page_is_html_of_one_encoding_and_its_query_is_checked() {
    let served = served();
    let path = "/archived?url=https://a.example/0007&warc_file=1&warc_offset=7";
    assert_eq!(served.get(path).header("content-type"), Some("text/html; charset=utf-8"));
    for (query, at) in [
        ("url=https://a.example/0007&warc_file=-1&warc_offset=7", "query"),
        ("url=https://a.example/0007&warc_file=1&warc_offset=18446744073709551616", "query"),
        ("url=https://a.example/0007&warc_file=1", "query"),
        ("url=a%00b&warc_file=1&warc_offset=7", "url"),
    ] {
        for route in ["/archived", "/api/v1/version"] {
            let refused = served.get(&format!("{route}?{query}"));
            assert_eq!((refused.status, refused.json()["at"].as_str()), (422, Some(at)), "{route} {query}");
        }
    }
    for (query, at) in
        [("limit=0", "limit"), ("limit=101", "limit"), ("cursor=x", "cursor"), ("cursor=%00", "cursor")]
    {
        let refused = served.get(&format!("/api/v1/versions?url=https://a.example/0007&{query}"));
        assert_eq!((refused.status, refused.json()["at"].as_str()), (422, Some(at)), "{query}");
    }
    let foreign = served.ask("GET", path, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", "");
    assert_eq!(foreign.status, 403, "no other site may load it");
}

#[test]
fn names_in_paths_are_decoded() {
    let served = served();
    let host = served.get("/api/v1/hosts/nobody%2Fknows%20%C3%BC");
    assert_eq!((host.status, host.problem().as_str()), (404, "not-found"));
    assert!(host.json()["detail"].as_str().unwrap().starts_with("nobody/knows ü:"), "{}", host.body);
    assert_eq!(
        served.get("/api/v1/page?url=https%3A%2F%2Fa.example%2F0007").json()["url"],
        "https://a.example/0007"
    );
}

#[test]
fn health_goes_by_moving_and_readiness_by_work() {
    let served = served();
    for (state, idle_ms, health, ready) in [
        (State::Crawling, 60_000, 200, 200),
        (State::Crawling, 60_001, 503, 200),
        (State::Waiting, 0, 200, 200),
        (State::Paused, 0, 200, 200),
        (State::Starting, 0, 200, 503),
        (State::Stopping, 0, 200, 503),
        (State::Failed, 0, 200, 503),
    ] {
        served.crawl.set(|status| {
            (status.state, status.idle_ms, status.reason) = (state, idle_ms, Some("why".into()))
        });
        let (alive, works) = (served.get("/health"), served.get("/ready"));
        assert_eq!((alive.status, works.status), (health, ready), "{state:?} {idle_ms}");
        assert!(
            health == 200 || alive.body.contains("1.1 min, more than serve.stall (1 min)"),
            "{}",
            alive.body
        );
        if works.status == 503 {
            assert_eq!(works.problem(), "busy");
            assert!(works.body.contains(&state.to_string()) && works.body.contains("why"), "{}", works.body);
        } else {
            assert_eq!(works.json(), json!({"state": state.to_string(), "idle_ms": idle_ms}));
        }
    }
}

#[test]
fn the_last_hour_is_told_from_a_time_on() {
    let served = served();
    let points = |query: &str| served.get(&format!("/api/v1/recent{query}")).json()["points"].clone();
    assert_eq!(points("").as_array().unwrap().len(), 3);
    assert_eq!(points(&format!("?since={}", NOW - 10_000))[0]["at"], NOW);
    assert_eq!(points(&format!("?since={NOW}")), json!([]));
    let refused = served.get("/api/v1/recent?since=yesterday");
    assert_eq!((refused.status, refused.problem().as_str()), (422, "invalid"));
}

#[test]
fn the_page_asks_nobody_else_and_its_files_are_all_there() {
    let served = served();
    let page = served.get("/").body;
    for strange in ["http://", "https://", "src=\"//", "<script>", "style=", "onclick"] {
        assert!(!page.contains(strange), "{strange}");
    }
    for part in page.split("/assets/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert_eq!(served.get(&format!("/assets/{name}")).status, 200, "{name}");
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dashboard");
    let files: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let listed =
        crate::dashboard::ASSETS.iter().chain([&crate::dashboard::PAGE]).map(|asset| asset.name.to_owned());
    assert_eq!(files, listed.collect(), "each file of the dashboard is in the list, and no other");
}

#[test]
fn head_is_a_get_without_a_body() {
    let answer = served().ask("HEAD", "/api/v1/status", "", "");
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
}
