//! WebSub: the daemon subscribes to feeds at their hub, and visits what the hub tells of.

use crate::daemon::{self, Daemon};
use crate::harness::*;
use recrawl_mockweb::procedural::{ProceduralConfig, SitemapFormat};
use recrawl_mockweb::{Config, WebConfig};
use ring::hmac;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// A public URL that only this test's hub understands.
const BASE: &str = "https://crawl.example.org/at";
/// Trusts each origin that ever pinged, and waits a day for the next cycle.
const REST: &str = "[cycle]\npages = \"100%\"\nfill = true\nwarmup = 0\n[hints]\nmin_trust = 0.0\n";

/// A hub that accepts each request, without verifying it. It ends with the test.
struct Hub {
    url: String,
    requests: Receiver<HashMap<String, String>>,
}

impl Hub {
    fn start() -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hub?a=1", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if sender.send(take(stream.unwrap())).is_err() {
                    return;
                }
            }
        });
        Hub { url, requests }
    }

    fn request(&self) -> HashMap<String, String> {
        self.requests.recv_timeout(daemon::PATIENCE).expect("a request")
    }
}

/// Reads a request to the hub, and accepts it.
fn take(mut stream: TcpStream) -> HashMap<String, String> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length, mut lines) = (String::new(), 0, Vec::new());
    while reader.read_line(&mut line).unwrap() > 2 {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        lines.push(std::mem::take(&mut line));
    }
    assert!(lines[0].starts_with("POST /hub?a=1 "), "{lines:?}");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    write!(stream, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    url::form_urlencoded::parse(&body).into_owned().collect()
}

/// A web of one host whose feed names this hub.
fn web_with(hub: &Hub) -> Config {
    Config::new(WebConfig::Procedural(ProceduralConfig {
        pages: 20,
        hosts: 1,
        seed: 7,
        page_bytes: 4_000,
        sitemaps: true,
        sitemap_formats: vec![SitemapFormat::Rss],
        hub: Some(hub.url.clone()),
        ..ProceduralConfig::default()
    }))
}

/// Crawls the web until all is visited.
fn filled(world: &World) -> Daemon {
    let daemon = Daemon::start(world);
    daemon.seed(&world.server.seeds());
    daemon.until("filled", |status| status["state"] == "waiting" && status["visited"].as_u64() > Some(20));
    daemon
}

/// The path of a callback, as a reverse proxy forwards it.
fn path(callback: &str) -> &str {
    callback.strip_prefix(BASE).expect("a callback below the public URL")
}

/// Verifies a subscription: status and body of the answer.
fn verify(daemon: &Daemon, callback: &str, topic: &str) -> (u16, String) {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("hub.mode", "subscribe"),
            ("hub.topic", topic),
            ("hub.challenge", "c h"),
            ("hub.lease_seconds", "9000"),
        ])
        .finish();
    say(daemon, &format!("GET {}?{query}", path(callback)), "", "")
}

/// Sends a notification with this signature.
fn notify(daemon: &Daemon, callback: &str, signature: &str) -> u16 {
    let headers = format!("X-Hub-Signature: {signature}\r\n");
    say(daemon, &format!("POST {}", path(callback)), &headers, "<feed/>").0
}

fn signature(secret: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, b"<feed/>");
    format!("sha256={}", tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn say(daemon: &Daemon, line: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&daemon.address).unwrap();
    let (host, length) = (&daemon.address, body.len());
    write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a header and a body");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn subscriptions(status: &Value, name: &str) -> u64 {
    count(&status["pings"]["subscriptions"], name).unwrap_or_else(|| panic!("no {name}: {status}"))
}

fn result(status: &Value, name: &str) -> u64 {
    count(&status["pings"]["results"], name).expect("a count")
}

#[test]
fn the_hub_of_a_feed_tells_of_changes_over_restarts_and_a_forger_does_not() {
    let hub = Hub::start();
    let world = daemon::world_of(
        web_with(&hub),
        &format!("{REST}[scope]\nhosts = [\"*\"]\n[pings]\nwebsub = \"{BASE}/\"\n"),
    );
    let feed = world.server.seeds()[0].clone() + "feed.rss";
    let daemon = filled(&world);
    let request = hub.request();
    let field = |name: &str| request[&format!("hub.{name}")].as_str();
    assert_eq!(
        (field("mode"), field("topic"), field("lease_seconds")),
        ("subscribe", feed.as_str(), "864000")
    );
    let (callback, secret) = (field("callback"), field("secret"));
    assert_eq!(subscriptions(&daemon.status(), "active"), 0, "not verified yet");
    assert_eq!(verify(&daemon, callback, &(feed.clone() + "?x")).0, 404, "another topic");
    assert_eq!(verify(&daemon, &format!("{BASE}/websub/0"), &feed).0, 404, "an unknown callback");
    assert_eq!(verify(&daemon, callback, &feed), (200, "c h".into()));
    assert_eq!(verify(&daemon, callback, &feed).0, 404, "a replay");
    assert_eq!(subscriptions(&daemon.status(), "active"), 1);
    daemon.stop();
    // The same callback after a restart. The feed is visited within seconds.
    let daemon = Daemon::start(&world);
    let before = daemon.until("at rest", |status| status["state"] == "waiting");
    assert_eq!(subscriptions(&before, "active"), 1);
    world.server.set_clock(10).expect("a clock");
    let asked = world.asked(&feed);
    assert_eq!(notify(&daemon, callback, &signature("forged")), 204, "a forger learns nothing");
    assert_eq!(notify(&daemon, &format!("{BASE}/websub/0"), &signature(secret)), 410);
    daemon.until("forged", |status| result(status, "forged") == 1);
    assert_eq!(notify(&daemon, callback, &signature(secret)), 204);
    let noted = daemon.until("noted", |status| result(status, "noted") >= 1);
    assert_eq!((result(&noted, "noted"), world.asked(&feed)), (1, asked), "not the forged one");
    // The origin has proved nothing yet. The visit that somebody asks for finds a change, and from then on
    // its pings are followed at once.
    daemon.change("POST", "/api/v1/recrawl", Some(serde_json::json!({ "url": feed })));
    daemon.until("answered", |status| {
        count(&status["pings"], "waiting") == Some(0) && status["state"] == "waiting"
    });
    let asked = world.asked(&feed);
    assert_eq!(notify(&daemon, callback, &signature(secret)), 204);
    daemon.until("visited", |_| world.asked(&feed) > asked);
    daemon.stop();
    assert!(hub.requests.try_recv().is_err(), "one request");
    let violations = world.server.violations(Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0), "{violations:?}");
    world.is_sound();
}

#[test]
fn without_a_public_url_nothing_is_sent() {
    let hub = Hub::start();
    let world = daemon::world_of(web_with(&hub), REST);
    let daemon = filled(&world);
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(hub.requests.try_recv().is_err());
    assert!(daemon.status()["pings"].is_null());
    let (status, problem) = verify(&daemon, &format!("{BASE}/websub/0"), "http://a.example/");
    assert!(status == 404 && problem.contains("pings.websub"), "{status} {problem}");
    assert_eq!(notify(&daemon, &format!("{BASE}/websub/0"), "sha1=00"), 404);
    daemon.stop();
    // An unusable one.
    daemon::configure(&world, "[pings]\nwebsub = \"crawl.example.org\"\n");
    let told = fails(world.command(&["serve"]).output().expect("it ends"), 2);
    assert!(told.contains("pings.websub") && told.contains("https://crawl.example.org"), "{told}");
}
