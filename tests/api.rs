//! The API beside its own OpenAPI document: what the daemon answers is what the document describes, from the moment at
//! which the port opens.

use crate::daemon::{Daemon, PATIENCE, QUICK, TOKEN, configure, world};
use crate::harness::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;

/// An answer as it came.
pub struct Answer {
    pub status: u16,
    media_type: String,
    pub body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// Asks; of a stream of events the first one is read.
pub fn ask(address: &str, method: &str, path: &str, token: bool, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("the console listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let token = if token { format!("Authorization: Bearer {TOKEN}\r\n") } else { String::new() };
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{token}{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let n = stream.read(&mut part).expect("it answers");
        bytes.extend_from_slice(&part[..n]);
        let event = bytes.windows(8).position(|at| at == b"\ndata: {");
        if n == 0 || event.is_some_and(|at| bytes[at..].windows(2).any(|end| end == b"\n\n")) {
            break;
        }
    }
    let text = String::from_utf8(bytes).expect("UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
    let media_type = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, media_type, body: body.to_owned() }
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "%{byte:02X}").unwrap();
        out
    })
}

/// Why a value is not what a schema says; the words of a schema that are not known here are not passed over.
fn mismatch(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return mismatch(document, document.pointer(&reference[1..]).expect(reference), value, at);
    }
    let wrong = |what: &str| Some(format!("{at}: {value} {what}"));
    let fields = schema.as_object().expect("a schema is an object");
    for (word, rule) in fields {
        let rules = || rule.as_array().expect(word).iter();
        let within =
            |bound: fn(f64, f64) -> bool| value.as_f64().is_none_or(|n| bound(n, rule.as_f64().unwrap()));
        let fault = match word.as_str() {
            "description" | "format" | "title" | "default" | "example" | "propertyNames" => None,
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                let is = |kind: &Value| match kind.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{at}: type {other}"),
                };
                if types.iter().any(is) { None } else { wrong(&format!("is not of type {rule}")) }
            }
            "enum" if rules().all(|one| one != value) => wrong(&format!("is none of {rule}")),
            "const" if rule != value => wrong(&format!("is not {rule}")),
            "minimum" if !within(|n, least| n >= least) => wrong(&format!("is below {rule}")),
            "maximum" if !within(|n, most| n <= most) => wrong(&format!("is above {rule}")),
            "enum" | "const" | "minimum" | "maximum" => None,
            "allOf" => rules().find_map(|part| mismatch(document, part, value, at)),
            "oneOf" => {
                let fits = rules().filter(|part| mismatch(document, part, value, at).is_none()).count();
                if fits == 1 { None } else { wrong(&format!("fits {fits} of {rule}")) }
            }
            // Only of maps, which have no properties by name.
            "additionalProperties" => value.as_object().and_then(|map| {
                map.iter().find_map(|(name, value)| mismatch(document, rule, value, &format!("{at}.{name}")))
            }),
            "items" => value.as_array().and_then(|items| {
                let each = |(i, item)| mismatch(document, rule, item, &format!("{at}[{i}]"));
                items.iter().enumerate().find_map(each)
            }),
            "required" => rules()
                .find(|name| value.get(name.as_str().unwrap()).is_none())
                .and_then(|name| wrong(&format!("has no {name}"))),
            "properties" => rule.as_object().unwrap().iter().find_map(|(name, rule)| {
                value.get(name).and_then(|field| mismatch(document, rule, field, &format!("{at}.{name}")))
            }),
            other => panic!("{at}: `{other}` of a schema is not known to this test"),
        };
        if fault.is_some() {
            return fault;
        }
    }
    None
}

/// The fields that a schema names, whatever it is made of.
fn named(document: &Value, schema: &Value) -> Option<BTreeSet<String>> {
    if let Some(reference) = schema["$ref"].as_str() {
        return named(document, document.pointer(&reference[1..]).expect(reference));
    }
    let own = schema["properties"].as_object().map(|own| own.keys().cloned().collect());
    let parts = schema["allOf"].as_array().into_iter().flatten().filter_map(|part| named(document, part));
    parts.chain(own).reduce(|mut all, part| {
        all.extend(part);
        all
    })
}

/// Holds an answer to the document.
pub fn check(document: &Value, method: &str, route: &str, path: &str, answer: &Answer) {
    let what = format!("{method} {path}: {}", answer.status);
    let responses = &document["paths"][route][method.to_lowercase()]["responses"];
    let described = responses.get(answer.status.to_string()).unwrap_or(&responses["default"]);
    let described = match described["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).expect(reference),
        None => described,
    };
    let content = described["content"].as_object().unwrap_or_else(|| panic!("{what} is not described"));
    let content = content.get(&answer.media_type);
    let schema = &content.unwrap_or_else(|| panic!("{what} is {}: {responses}", answer.media_type))["schema"];
    if !answer.media_type.ends_with("json") {
        return;
    }
    let value = answer.json();
    if let Some(why) = mismatch(document, schema, &value, "$") {
        panic!("{what}: {why}");
    }
    if let (Some(named), Some(told)) = (named(document, schema), value.as_object()) {
        let told: BTreeSet<String> = told.keys().cloned().collect();
        assert!(told.is_subset(&named), "{what}: {told:?} beyond {named:?}");
    }
}

/// Every route that answers a GET, with paths that lead somewhere: hosts and pages as the lists have them.
fn gets(document: &Value, daemon: &Daemon) -> Vec<(String, String)> {
    let hosts = daemon.get("/api/v1/hosts?limit=5")["hosts"].clone();
    let pages = daemon.get("/api/v1/pages?limit=2")["pages"].clone();
    let each = |list: &Value, key: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|row| encoded(row[key].as_str().unwrap())).collect()
    };
    let (hosts, pages) = (each(&hosts, "host"), each(&pages, "url"));
    let archived = daemon.get("/api/v1/pages?limit=1000")["pages"].clone();
    let archived = archived.as_array().unwrap().iter().find(|page| !page["warc_file"].is_null());
    let archived = archived.expect("a page with a body").clone();
    let archived_url = encoded(archived["url"].as_str().unwrap());
    let waiting = daemon.get("/api/v1/improve")["loop"]["waiting"].clone();
    let candidates = each(&Value::Array(Some(waiting).filter(Value::is_object).into_iter().collect()), "id");
    let mut all = Vec::new();
    for (route, operations) in document["paths"].as_object().unwrap() {
        // A ping is no read; a search needs an index, which these worlds do not keep; and `archived` tries mementos.
        let others =
            ["/indexnow", "/websub/{id}", "/api/v1/search", "/timegate/{url}", "/memento/{digits}/{url}"];
        if operations.get("get").is_none() || others.contains(&route.as_str()) {
            continue;
        }
        let paths: Vec<String> = match route.as_str() {
            "/api/v1/improve/candidates/{id}" if candidates.is_empty() => continue,
            "/api/v1/improve/candidates/{id}" => {
                candidates.iter().map(|id| format!("/api/v1/improve/candidates/{id}")).collect()
            }
            "/api/v1/improve/history" => vec![route.clone(), format!("{route}?limit=1")],
            "/api/v1/hosts" => {
                ["", "?sort=changes&limit=1", "?sort=queue", "?state=paused", "?state=backed_off&limit=2"]
                    .map(|query| format!("{route}{query}"))
                    .into()
            }
            "/api/v1/hosts/{host}" => hosts.iter().map(|host| format!("/api/v1/hosts/{host}")).collect(),
            "/api/v1/hosts/{host}/report" => {
                hosts.iter().map(|host| format!("/api/v1/hosts/{host}/report?cycles=2")).collect()
            }
            "/api/v1/pages" => {
                vec![route.clone(), format!("{route}?limit=1"), format!("{route}?prefix={}", hosts[0])]
            }
            "/api/v1/page" => pages.iter().map(|page| format!("{route}?url={page}")).collect(),
            "/api/v1/versions" => {
                vec![format!("{route}?url={archived_url}"), format!("{route}?url={}&limit=2", pages[0])]
            }
            "/api/v1/version" | "/archived" => {
                let (file, offset) = (&archived["warc_file"], &archived["warc_offset"]);
                let of = format!("{route}?url={archived_url}");
                vec![format!("{of}&warc_file={file}&warc_offset={offset}"), format!("{of}&at=9999999999")]
            }
            "/api/v1/version-times" => vec![format!("{route}?url={archived_url}")],
            "/timemap/link/{url}" => vec![format!("/timemap/link/{}", archived["url"].as_str().unwrap())],
            "/api/v1/cycles" => vec![route.clone(), format!("{route}?last=1")],
            "/assets/{name}" => {
                ["main.js", "style.css", "icon.svg"].map(|name| format!("/assets/{name}")).into()
            }
            "/problems/{kind}" => ["busy", "not-found"].map(|kind| format!("/problems/{kind}")).into(),
            _ => vec![route.clone()],
        };
        assert!(paths.iter().all(|path| !path.contains('{')) && !paths.is_empty(), "{route} is not asked");
        all.extend(paths.into_iter().map(|path| (route.clone(), path)));
    }
    all
}

/// 200, or 202 while a forecast is computed.
fn is_answer(status: u16) -> bool {
    [200, 202].contains(&status)
}

/// A crawl with something to show of everything: failures, a blocked and a paused host, an audit sample, a promise, a
/// candidate.
fn shown_world() -> World {
    let settings = "[cycle]\npages = \"50%\"\naudit_share = 0.2\n[pings]\nindexnow = true\n[improve]\n\
                    mode = \"propose\"\n";
    let world = world(120, 3, settings);
    world.server.set_faults(vec!["2/=status:500".parse().unwrap()]);
    for _ in 0..5 {
        world.next_cycle();
    }
    crate::improve_loop::offer(&world, "t * p_eb");
    world
}

#[test]
fn answers_are_as_the_openapi_document_says() {
    let world = shown_world();
    let daemon = Daemon::start(&world);
    let document = daemon.get("/openapi.json");
    daemon.until("waiting", |s| s["state"] == "waiting");
    let asked = |method: &str, route: &str, path: &str, token: bool, body: &str| {
        let answer = ask(&daemon.address, method, path, token, body);
        check(&document, method, route, path, &answer);
        answer
    };
    let host = daemon.get("/api/v1/hosts")["hosts"][0]["host"].as_str().unwrap().to_owned();
    let pause = format!("/api/v1/hosts/{}/pause", encoded(&host));
    let block = format!("/api/v1/blocks/{}", encoded("http://127.1.0.3/none"));
    let page = json!({"url": world.server.url(0)}).to_string();
    let seeds = json!({"urls": world.server.seeds()}).to_string();
    let formula = json!({"text": "t + n"}).to_string();
    let ping = json!({"urlList": [world.server.url(0)], "key": "a-key-of-nobody"}).to_string();
    let changes: [(&str, &str, &str, &str, u16); 22] = [
        ("PUT", "/api/v1/pause", "/api/v1/pause", "", 200),
        ("DELETE", "/api/v1/pause", "/api/v1/pause", "", 200),
        ("PUT", "/api/v1/hosts/{host}/pause", &pause, "", 200),
        ("PUT", "/api/v1/blocks/{pattern}", &block, "", 200),
        ("POST", "/api/v1/seeds", "/api/v1/seeds", &seeds, 200),
        ("POST", "/api/v1/recrawl", "/api/v1/recrawl", &page, 202),
        ("PUT", "/api/v1/formula", "/api/v1/formula", &formula, 202),
        ("POST", "/api/v1/formulas/check", "/api/v1/formulas/check", &formula, 200),
        ("POST", "/api/v1/formulas/compare", "/api/v1/formulas/compare", "{\"text\":\"default\"}", 200),
        ("DELETE", "/api/v1/formula", "/api/v1/formula", "", 202),
        ("POST", "/api/v1/reload", "/api/v1/reload", "", 202),
        ("POST", "/api/v1/step-aside", "/api/v1/step-aside", "", 422),
        ("DELETE", "/api/v1/blocks/{pattern}", &block, "", 200),
        ("DELETE", "/api/v1/hosts/{host}/pause", &pause, "", 200),
        // There are tokens, so there is no link.
        ("POST", "/api/v1/session", "/api/v1/session", "{\"secret\":\"0\"}", 401),
        ("POST", "/indexnow", "/indexnow", &ping, 202),
        ("POST", "/websub/{id}", "/websub/none", "", 404),
        ("PUT", "/api/v1/improve/hold", "/api/v1/improve/hold", "", 200),
        ("DELETE", "/api/v1/improve/hold", "/api/v1/improve/hold", "", 200),
        ("POST", "/api/v1/improve/promote", "/api/v1/improve/promote", "", 409),
        ("POST", "/api/v1/improve/rollback", "/api/v1/improve/rollback", "", 409),
        ("POST", "/api/v1/improve/run", "/api/v1/improve/run", "", 202),
    ];
    // While some of it is paused and blocked, and once more when nothing is.
    for (at, (method, route, path, body, status)) in changes.into_iter().enumerate() {
        assert_eq!(asked(method, route, path, true, body).status, status, "{method} {path}");
        if at % 4 == 3 {
            for (route, path) in gets(&document, &daemon) {
                assert!(is_answer(asked("GET", &route, &path, false, "").status), "{path}");
            }
        }
    }
    let operations = document["paths"].as_object().unwrap().iter().flat_map(|(route, operations)| {
        let methods = operations.as_object().unwrap().keys();
        methods.filter(|method| *method != "get").map(move |method| (method.to_uppercase(), route.as_str()))
    });
    let tried: BTreeSet<(String, &str)> =
        changes.map(|(method, route, ..)| (method.to_owned(), route)).into();
    assert_eq!(tried, operations.collect::<BTreeSet<_>>(), "every operation is tried");
    // What is refused is described too.
    for (method, route, path, token, body, status) in [
        ("PUT", "/api/v1/pause", "/api/v1/pause", false, "", 401),
        ("GET", "/api/v1/hosts", "/api/v1/hosts?limit=0", false, "", 422),
        ("GET", "/api/v1/hosts/{host}", "/api/v1/hosts/nobody.example", false, "", 404),
        ("GET", "/api/v1/hosts/{host}", "/api/v1/hosts/a%20b", false, "", 422),
        ("GET", "/api/v1/page", "/api/v1/page", false, "", 422),
        ("GET", "/api/v1/versions", "/api/v1/versions?url=http%3A%2F%2Fa.example%2F&limit=0", false, "", 422),
        (
            "GET",
            "/archived",
            "/archived?url=http%3A%2F%2Fa.example%2F&warc_file=1&warc_offset=0",
            false,
            "",
            404,
        ),
        ("GET", "/assets/{name}", "/assets/none.js", false, "", 404),
        ("GET", "/indexnow", "/indexnow?url=http%3A%2F%2Fa.example%2F&key=a-key-of-nobody", false, "", 422),
        ("POST", "/api/v1/seeds", "/api/v1/seeds", true, "{", 400),
        ("POST", "/api/v1/formulas/check", "/api/v1/formulas/check", false, "{\"text\":\"defualt\"}", 422),
    ] {
        assert_eq!(asked(method, route, path, token, body).status, status, "{method} {path}");
    }
    daemon.stop();
}

#[test]
fn a_host_of_the_list_is_known_by_that_name_wherever_a_host_is_named() {
    let world = world(40, 1, "");
    // One that was asked, and one that is known and was not.
    world.import("http://127.5.5.5:9099/\n");
    world.crawl(1);
    world.import("http://127.6.6.6:9099/\n");
    let daemon = Daemon::start(&world);
    let hosts = daemon.get("/api/v1/hosts");
    let hosts: Vec<&str> =
        hosts["hosts"].as_array().unwrap().iter().map(|h| h["host"].as_str().unwrap()).collect();
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    for host in &hosts {
        let path = format!("/api/v1/hosts/{}", encoded(host));
        let found = daemon.get(&path);
        assert_eq!((found.as_array().unwrap().len(), &found[0]["host"]), (1, &json!(host)));
        let (_, name) = host.split_once("://").unwrap();
        let (name, port) = name.split_once(':').unwrap();
        assert_eq!(daemon.get(&format!("/api/v1/hosts/{name}")), found);
        assert_eq!(daemon.get(&format!("/api/v1/hosts/{name}:{port}")), found);
        assert_eq!(daemon.change("PUT", &format!("{path}/pause"), None), "done", "{host}");
        assert_eq!(daemon.change("PUT", &format!("/api/v1/hosts/{name}/pause"), None), "already");
        daemon
            .until("listed", |_| daemon.get("/api/v1/hosts?state=paused")["hosts"][0]["host"] == json!(host));
        assert_eq!(daemon.change("DELETE", &format!("{path}/pause"), None), "done");
    }
    daemon.stop();
    for host in hosts {
        let told = succeeds(world.run(&["status", "--host", host, "--json"]));
        assert_eq!(serde_json::from_str::<Value>(&told).unwrap()[0]["host"], host);
    }
}

/// Enough hosts that a walk over all of them takes a while.
const MANY_HOSTS: u32 = 20_000;

/// Asks all paths at once, each several times, and gives every answer that was no 200.
fn asked_at_once(address: &str, paths: &[(String, String)]) -> Vec<(String, u16, Value)> {
    thread::scope(|scope| {
        let all: Vec<_> = paths
            .iter()
            .map(|(_, path)| scope.spawn(move || (path.clone(), ask(address, "GET", path, false, ""))))
            .collect();
        let answers = all.into_iter().map(|thread| thread.join().expect("it is answered"));
        let refused = answers.filter(|(_, answer)| !is_answer(answer.status));
        refused.map(|(path, answer)| (path, answer.status, answer.json())).collect()
    })
}

#[test]
fn every_get_route_answers_from_the_moment_the_port_opens() {
    let world = world(40, 2, "");
    world.crawl(1);
    // Many hosts are known, and the pause keeps the crawl from asking them.
    let daemon = Daemon::start(&world);
    daemon.change("PUT", "/api/v1/pause", None);
    daemon.stop();
    let list: String = (0..MANY_HOSTS)
        .map(|i| format!("http://127.{}.{}.{}:9099/\n", 2 + i / 60_000, i / 250 % 240, 1 + i % 250))
        .collect();
    world.import(&list);
    let daemon = Daemon::start(&world);
    let document = daemon.get("/openapi.json");
    let paths = gets(&document, &daemon);
    daemon.stop();
    for _ in 0..3 {
        let daemon = Daemon::start(&world);
        for (path, status, problem) in asked_at_once(&daemon.address, &paths) {
            let is_starting = problem["detail"].as_str().is_some_and(|detail| detail.contains("starting"));
            assert!(path == "/ready" && status == 503 && is_starting, "{path}: {status} {problem}");
        }
        daemon.until("paused", |s| s["state"] == "paused");
        assert_eq!(asked_at_once(&daemon.address, &paths), []);
        daemon.stop();
    }
}

#[test]
fn every_get_route_answers_while_cycles_are_committed() {
    let world = world(120, 3, "");
    world.crawl(2);
    configure(&world, QUICK);
    let daemon = Daemon::start(&world);
    let document = daemon.get("/openapi.json");
    daemon.until("crawling", |s| s["state"] == "crawling" || s["state"] == "waiting");
    let paths = gets(&document, &daemon);
    let generation = |status: &Value| status["generation"].as_u64().unwrap();
    let before = generation(&daemon.status());
    while generation(&daemon.status()) < before + 5 {
        assert_eq!(asked_at_once(&daemon.address, &paths), []);
        // Within serve.requests, however fast the answers are.
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
    daemon.stop();
}

/// schemathesis tries every operation with what the document allows and with what it forbids, as a reader and as an operator.
#[test]
fn schemathesis_finds_nothing() {
    let venv =
        Path::new(env!("CARGO_BIN_EXE_recrawl")).parent().and_then(Path::parent).expect("a build folder");
    let schemathesis = venv.join("schemathesis/bin/schemathesis");
    if !schemathesis.exists() {
        println!("not tried by schemathesis: `make check-api` installs it");
        return;
    }
    let world = shown_world();
    let daemon = Daemon::start(&world);
    for token in [None, Some(format!("Authorization: Bearer {TOKEN}"))] {
        let mut run = Command::new(&schemathesis);
        run.arg("--config-file").arg(workspace_file("scripts/schemathesis.toml"));
        run.args(["run", "--max-examples", "30", "--seed", "1", "--request-timeout", "60", "--no-color"]);
        // Few of the words that it draws are hosts.
        run.args(["--suppress-health-check", "filter_too_much"]);
        run.args(token.iter().flat_map(|token| ["--header", token]));
        run.arg(format!("http://{}/openapi.json", daemon.address)).current_dir(world.folder.path());
        let output = run.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    let log = daemon.stop();
    assert!(!log.contains("panicked"), "{log}");
}

/// The schema of a document that is changed on purpose is seen to differ: the test can fail.
#[test]
fn an_answer_that_leaves_its_schema_is_seen() {
    let document = json!({"components": {"schemas": {"Row": {"type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "minimum": 0}, "why": {"type": ["string", "null"]}}}}}});
    let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/Row"}});
    let fault = |value: Value| mismatch(&document, &list, &value, "$");
    assert_eq!(fault(json!([{"n": 1}, {"n": 0, "why": null}])), None);
    for (wrong, says) in [
        (json!({}), "is not of type"),
        (json!([{}]), "has no \"n\""),
        (json!([{"n": -1}]), "is below 0"),
        (json!([{"n": 1.5}]), "is not of type"),
        (json!([{"n": 1, "why": 7}]), "$[0].why"),
    ] {
        let said = fault(wrong).unwrap();
        assert!(said.contains(says), "{said}");
    }
    let fields = Map::from_iter([("allOf".to_owned(), json!([{"$ref": "#/components/schemas/Row"}]))]);
    assert_eq!(named(&document, &fields.into()).unwrap().len(), 2);
}
