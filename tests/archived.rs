//! Archived versions in the API: the same as `recrawl show` reads, and nothing that the page's record does not lead to.

use crate::api::{Answer, ask};
use crate::daemon::{Daemon, configure, world_of};
use crate::harness::{World, count, succeeds, web};
use recrawl_mockweb::Validators;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

const ALL: &str = "[cycle]\npages = \"100%\"\n";

/// A web whose every response differs, and an archive of some versions of each page.
fn crawled(cycles: usize) -> World {
    let mut config = web(10, 2);
    (config.noise, config.validators) = (1.0, Validators::None);
    let world = world_of(config, ALL);
    (0..cycles).for_each(|_| drop(world.next_cycle()));
    world
}

/// Pages with several versions: each response of theirs has another counter.
fn several(world: &World) -> Vec<String> {
    let seeds = world.server.seeds();
    let pages = world.pages().into_iter();
    pages
        .filter(|(url, page)| !seeds.contains(url) && count(page, "n") >= Some(2))
        .map(|(url, _)| url)
        .collect()
}

fn query(url: &str) -> String {
    url.bytes().fold("url=".to_owned(), |query, byte| format!("{query}%{byte:02X}"))
}

fn list(daemon: &Daemon, url: &str, more: &str) -> Value {
    daemon.get(&format!("/api/v1/versions?{}{more}", query(url)))
}

fn at(daemon: &Daemon, route: &str, url: &str, version: &Value) -> Answer {
    let (file, offset) = (&version["warc_file"], &version["warc_offset"]);
    let path = format!("{route}?{}&warc_file={file}&warc_offset={offset}", query(url));
    ask(&daemon.address, "GET", &path, false, "")
}

/// A response with its head, in lower case, and its body as bytes.
struct Whole {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Whole {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Asks as other programs do; `more` are header lines.
fn get(daemon: &Daemon, path: &str, more: &str) -> Whole {
    let mut stream = TcpStream::connect(&daemon.address).unwrap();
    let host = &daemon.address;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Whole { status, head, body: bytes[end + 4..].to_vec() }
}

/// Address and date of each memento in a list of links, oldest first.
fn mementos(links: &str) -> Vec<(String, String)> {
    let links = links.split(", <").flat_map(|link| link.split(",\n<"));
    let of = |link: &str| {
        let (address, rest) = link.split_once('>')?;
        let date = rest.split_once("datetime=\"")?.1.split('"').next()?;
        Some((address.to_owned(), date.to_owned()))
    };
    links.filter_map(of).collect()
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|e| panic!("{e}: {}", answer.body))
}

#[test]
fn versions_are_those_of_recrawl_show() {
    let world = crawled(4);
    let url = several(&world).remove(0);
    let daemon = Daemon::start(&world);
    let all = list(&daemon, &url, "");
    let versions = all["versions"].as_array().unwrap();
    let shown = succeeds(world.run(&["show", &url, "--list"]));
    assert!(versions.len() >= 3 && shown.lines().count() == versions.len(), "{shown}{all}");
    assert_eq!((&all["next"], &all["missing"]), (&Value::Null, &Value::Null));
    let as_json = succeeds(world.run(&["show", &url, "--list", "--json"]));
    assert_eq!(all, serde_json::from_str::<Value>(&as_json).unwrap());
    for (number, (version, line)) in (1..).zip(versions.iter().zip(shown.lines())) {
        assert_eq!(count(version, "number"), Some(number));
        let (bytes, offset) = (&version["bytes"], &version["warc_offset"]);
        let (line, is_same) = match line.strip_suffix("  same text as before") {
            Some(line) => (line, true),
            None => (line, false),
        };
        assert_eq!(version["words_changed"] == Value::Bool(false), is_same, "{line}");
        assert!(
            line.contains(&format!(" {bytes} bytes ")) && line.ends_with(&format!(" {offset}")),
            "{line}"
        );
        let content = json(&at(&daemon, "/api/v1/version", &url, version));
        let number = number.to_string();
        let show = |how: &[&str]| {
            let words = [&["show", &url, "--version", &number], how].concat();
            succeeds(world.run(&words)).trim_end().to_owned()
        };
        assert_eq!(content["text"].as_str().unwrap().trim_end(), show(&[]));
        assert_eq!(content["headers"].as_str().unwrap().trim_end(), show(&["--headers"]));
        assert_eq!(content, serde_json::from_str::<Value>(&show(&["--json"])).unwrap());
        assert_eq!((&content["no_text"], &content["text_is_cut"]), (&Value::Null, &false.into()));
        match versions.get(content["version"]["number"].as_u64().unwrap() as usize) {
            Some(_) => {
                assert_eq!(version["words_changed"], true, "each response has another counter");
                assert!(content["difference"]["words_added"].as_u64() > Some(0), "{content}");
            }
            None => {
                assert_eq!(version["words_changed"], Value::Null);
                assert_eq!(content["difference"]["none"], "one_text");
            }
        }
        let document = at(&daemon, "/archived", &url, version);
        assert!(document.status == 200 && document.body.starts_with("<!doctype html>"), "{}", document.body);
        let markup = document.body.to_lowercase();
        for active in ["<script", "<link", "<a href", "<img", "http-equiv"] {
            assert!(!markup.contains(active), "{active}");
        }
        assert!(document.body.contains("Visitor number"), "{}", document.body);
    }
    // One by one they are the same.
    let (mut joined, mut cursor) = (Vec::new(), String::new());
    loop {
        let part = list(&daemon, &url, &format!("&limit=1{cursor}"));
        joined.extend(part["versions"].as_array().unwrap().clone());
        match part["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(&joined, versions);
    daemon.stop();
}

#[test]
fn a_time_leads_to_the_same_version_everywhere() {
    let world = crawled(4);
    let url = several(&world).remove(0);
    let daemon = Daemon::start(&world);
    let versions = list(&daemon, &url, "")["versions"].as_array().unwrap().clone();
    let listed = succeeds(world.run(&["show", &url, "--list"]));
    let lines: Vec<&str> = listed.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    for (version, time) in versions.iter().zip(&lines) {
        // Two versions of one second have one name.
        let newest = versions.iter().find(|other| other["time"] == version["time"]).unwrap();
        let shown = world.run(&["show", &url, "--at", time, "--html"]);
        let said = String::from_utf8(shown.stderr).unwrap();
        assert!(said.contains(&format!("version {}, of {time}, ", newest["number"])), "{said}");
        let number = newest["number"].to_string();
        let body = world.run(&["show", &url, "--version", &number, "--html"]).stdout;
        assert_eq!(shown.stdout, body);
        let as_json =
            serde_json::from_str::<Value>(&succeeds(world.run(&["show", &url, "--at", time, "--json"])))
                .unwrap();
        let asked = ask(
            &daemon.address,
            "GET",
            &format!("/api/v1/version?{}&at={}", query(&url), version["time"]),
            false,
            "",
        );
        assert_eq!((&as_json, &as_json["version"]["number"]), (&json(&asked), &newest["number"]));
    }
    let today = world.run(&["show", &url, "--at", "today"]);
    assert!(String::from_utf8(today.stderr).unwrap().contains("version 1, of "));
    let early = world.run(&["show", &url, "--at", "2001-02-03"]);
    let said = String::from_utf8(early.stderr).unwrap();
    let oldest = lines.last().unwrap();
    assert!(
        early.status.code() == Some(1)
            && said.contains(&format!("the oldest that is archived is of {oldest}")),
        "{said}"
    );
    let newest = ask(&daemon.address, "GET", &format!("/api/v1/version?{}", query(&url)), false, "");
    assert_eq!(newest.status, 200, "{}", newest.body);
    let both = format!("/api/v1/version?{}&at=1&warc_file=1&warc_offset=7", query(&url));
    assert_eq!(ask(&daemon.address, "GET", &both, false, "").status, 422);
    daemon.stop();
}

#[test]
fn other_programs_find_a_page_at_a_time() {
    let world = crawled(4);
    let url = several(&world).remove(0);
    let daemon = Daemon::start(&world);
    let base = format!("http://{}", daemon.address);
    let path = |address: &str| address.strip_prefix(&base).unwrap_or_else(|| panic!("{address}")).to_owned();
    let map = get(&daemon, &format!("/timemap/link/{url}"), "");
    assert_eq!((map.status, map.field("content-type")), (200, Some("application/link-format")));
    let all = mementos(&String::from_utf8(map.body).unwrap());
    let mut times: Vec<u64> = list(&daemon, &url, "")["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["time"].as_u64().unwrap())
        .collect();
    times.dedup();
    assert_eq!(all.len(), times.len());
    for (address, date) in &all {
        let gate = get(&daemon, &format!("/timegate/{url}"), &format!("Accept-Datetime: {date}\r\n"));
        assert_eq!((gate.status, gate.field("location")), (302, Some(address.as_str())), "{}", gate.head);
        assert_eq!(gate.field("vary"), Some("accept-datetime"));
        let links = gate.field("link").unwrap();
        assert!(
            links.contains(&format!("<{url}>; rel=\"original\"")) && links.contains("rel=\"timemap\""),
            "{links}"
        );
        assert!(mementos(links).iter().all(|memento| all.contains(memento)), "{links}");
        let memento = get(&daemon, &path(address), "");
        assert_eq!((memento.status, memento.field("memento-datetime")), (200, Some(date.as_str())));
        assert_eq!(memento.field("content-disposition"), Some("attachment"));
        assert!(memento.field("content-security-policy").unwrap().starts_with("sandbox; default-src 'none'"));
        let digits: String = address.chars().skip(base.len() + "/memento/".len()).take(14).collect();
        let [day, time] = [&digits[..8], &digits[8..]];
        let at = format!(
            "{}-{}-{}T{}:{}:{}Z",
            &day[..4],
            &day[4..6],
            &day[6..],
            &time[..2],
            &time[2..4],
            &time[4..]
        );
        assert_eq!(memento.body, world.run(&["show", &url, "--at", &at, "--html"]).stdout);
    }
    let newest = get(&daemon, &format!("/timegate/{url}"), "");
    assert_eq!(newest.field("location"), Some(all.last().unwrap().0.as_str()));
    let early =
        get(&daemon, &format!("/timegate/{url}"), "Accept-Datetime: Thu, 31 May 2007 20:35:00 GMT\r\n");
    assert_eq!(early.field("location"), Some(all[0].0.as_str()), "before the first comes the first");
    let late = get(&daemon, &format!("/memento/20991231235959/{url}"), "");
    assert_eq!((late.status, late.field("location")), (302, Some(all.last().unwrap().0.as_str())));
    for wrong in ["yesterday", "2026-11-20"] {
        let refused = get(&daemon, &format!("/timegate/{url}"), &format!("Accept-Datetime: {wrong}\r\n"));
        assert!(
            refused.status == 400 && String::from_utf8_lossy(&refused.body).contains("31 May 2007"),
            "{wrong}"
        );
    }
    for route in ["timegate", "timemap/link", "memento/20991231235959"] {
        assert_eq!(get(&daemon, &format!("/{route}/http://unknown.example/"), "").status, 404);
        assert_eq!(get(&daemon, &format!("/{route}/no-url"), "").status, 422);
    }
    assert_eq!(get(&daemon, &format!("/memento/2026/{url}"), "").status, 422);
    // Behind a proxy.
    let proxied = "X-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /watch/\r\n";
    let gate = get(&daemon, &format!("/timegate/{url}"), proxied);
    assert!(
        gate.field("location").unwrap().starts_with(&format!("https://{}/watch/memento/", daemon.address))
    );
    daemon.stop();
}

#[test]
fn nothing_is_read_but_what_the_record_of_the_page_leads_to() {
    let world = crawled(4);
    let [url, other] = &several(&world)[..2] else { panic!("two pages") };
    world.import("http://127.1.0.1:9099/never\n");
    let daemon = Daemon::start(&world);
    let version = list(&daemon, url, "")["versions"][0].clone();
    let foreign = list(&daemon, other, "")["versions"][0].clone();
    let mut between = version.clone();
    between["warc_offset"] = (version["warc_offset"].as_u64().unwrap() + 1).into();
    for route in ["/api/v1/version", "/archived"] {
        for (url, version) in [(url, &foreign), (url, &between), (other, &version)] {
            let refused = at(&daemon, route, url, version);
            assert_eq!(
                (refused.status, refused.body.contains("begins there")),
                (404, true),
                "{}",
                refused.body
            );
        }
        assert_eq!(at(&daemon, route, "http://unknown.example/", &version).status, 404);
        assert_eq!(at(&daemon, route, "no URL", &version).status, 422);
    }
    let never = list(&daemon, "http://127.1.0.1:9099/never", "");
    assert_eq!(
        (&never["missing"]["none"], &never["versions"]),
        (&"never_fetched".into(), &Value::Array(vec![]))
    );
    for wrong in ["1", "-", "1-x", "1-7", "99999999999-1"] {
        let path = format!("/api/v1/versions?{}&cursor={wrong}", query(url));
        assert_eq!(ask(&daemon.address, "GET", &path, false, "").status, 422, "{wrong}");
    }
    daemon.stop();
}

#[test]
fn a_page_that_was_taken_down_has_no_version_at_any_place() {
    let world = crawled(4);
    let url = several(&world).remove(0);
    let daemon = Daemon::start(&world);
    let before = list(&daemon, &url, "")["versions"].as_array().unwrap().clone();
    let words = json(&at(&daemon, "/api/v1/version", &url, &before[0]))["text"].as_str().unwrap().to_owned();
    let secret = words.split_whitespace().max_by_key(|word| word.len()).unwrap().to_owned();
    succeeds(world.run(&["takedown", "--page", &url]));
    let gone = |daemon: &Daemon| {
        for version in &before {
            for route in ["/api/v1/version", "/archived"] {
                let refused = at(daemon, route, &url, version);
                assert_eq!(
                    (refused.status, refused.body.contains(&secret)),
                    (404, false),
                    "{}",
                    refused.body
                );
            }
        }
    };
    gone(&daemon);
    for route in ["timegate", "timemap/link", "memento/20991231235959"] {
        let refused = get(&daemon, &format!("/{route}/{url}"), "");
        assert!(
            refused.status == 404 && String::from_utf8_lossy(&refused.body).contains("taken down"),
            "{route}"
        );
    }
    let as_of = format!("/api/v1/version-times?{}", query(&url));
    assert_eq!(ask(&daemon.address, "GET", &as_of, false, "").status, 404);
    assert!(!world.run(&["show", &url, "--at", "today"]).status.success());
    let after = list(&daemon, &url, "");
    assert_eq!(
        (&after["missing"]["none"], &after["versions"]),
        (&"taken_down".into(), &Value::Array(vec![]))
    );
    daemon.stop();
    // Crawled again, it has what came since, and nothing of before.
    succeeds(world.run(&["takedown", "--page", &url, "--end"]));
    (0..2).for_each(|_| drop(world.next_cycle()));
    let daemon = Daemon::start(&world);
    let since = list(&daemon, &url, "")["versions"].as_array().unwrap().clone();
    assert!(!since.is_empty() && since.iter().all(|version| !before.contains(version)), "{since:?}");
    gone(&daemon);
    daemon.stop();
}

#[test]
fn without_an_archive_the_list_says_why_it_is_empty() {
    let world = crawled(0);
    configure(&world, &format!("{ALL}[storage]\narchive = false\n"));
    world.next_cycle();
    let daemon = Daemon::start(&world);
    let found = list(&daemon, &world.server.seeds()[0], "");
    assert_eq!(
        (&found["missing"]["none"], &found["versions"]),
        (&"not_archived".into(), &Value::Array(vec![]))
    );
    assert!(found["missing"]["why"].as_str().unwrap().contains("storage.archive"), "{found}");
    daemon.stop();
}
