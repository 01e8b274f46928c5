//! Event streams, with a paused clock.

use super::client::{Served, config, served};
use super::crawl::{MadeUp, NOW, shared};
use crate::connection::Peer;
use crate::console::Console;
use crate::event_hub::{self, MAX_STREAMS};
use crate::publish::{self, STATUS_INTERVAL};
use crate::view::{Actor, Change, CycleDone};
use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// A console without a socket.
struct Here {
    crawl: Arc<MadeUp>,
    console: Arc<Console>,
    router: Router,
    stop: CancellationToken,
}

fn here() -> Here {
    let (crawl, stop) = (shared(), CancellationToken::new());
    let console = Console::new(crawl.clone(), config(), stop.clone());
    tokio::spawn(publish::publish(console.clone()));
    Here { router: crate::api::router(console.clone()), crawl, console, stop }
}

/// Events of a stream, one after the other.
struct EventStream {
    body: BodyDataStream,
    text: String,
}

impl EventStream {
    async fn open(here: &Here) -> EventStream {
        let request = Request::get("/api/v1/events").header("host", "localhost");
        let request = request.extension(Peer(IpAddr::from([127, 0, 0, 1]))).body(Body::empty()).unwrap();
        let answer = here.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        EventStream { body: answer.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event: name and data; none at the end. Skips comments.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
                let found = field("event:").map(|name| (name.to_owned(), field("data:").unwrap().to_owned()));
                self.text = rest.to_owned();
                if let Some((name, data)) = found {
                    return Some((name, serde_json::from_str(&data).unwrap()));
                }
            }
            let more = self.body.next().await?.unwrap();
            self.text += std::str::from_utf8(&more).unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn figures_come_at_once_and_then_when_they_change() {
    let here = here();
    let mut events = EventStream::open(&here).await;
    let (name, first) = events.next().await.unwrap();
    assert_eq!((name.as_str(), &first["generation"]), ("status", &7.into()));
    // The first status may come twice; after that only changes come.
    let begun = Instant::now();
    let crawl = here.crawl.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(100)).await;
        crawl.set(|status| status.pages = 9999);
    });
    let mut told = 0;
    while events.next().await.unwrap().1["pages"] != 9999 {
        told += 1;
    }
    assert!(told <= 1, "{told} events of a crawl that stands still");
    assert!((100..=101).contains(&begun.elapsed().as_secs()));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_runs_on_is_no_news() {
    let here = here();
    let mut events = EventStream::open(&here).await;
    events.next().await.unwrap();
    let crawl = here.crawl.clone();
    tokio::spawn(async move {
        for second in 1..=50 {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            crawl.set(|status| (status.now, status.idle_ms) = (NOW + second, second));
        }
        crawl.set(|status| status.gone += 1);
    });
    let mut told = 0;
    while events.next().await.unwrap().1["gone"] != 6 {
        told += 1;
    }
    assert!(told <= 1, "{told} events");
}

#[tokio::test(start_paused = true)]
async fn committed_cycles_and_changes_are_told() {
    let here = here();
    let mut events = EventStream::open(&here).await;
    events.next().await.unwrap();
    // Let the first beat pass, so that the cycle after it is new.
    tokio::time::sleep(STATUS_INTERVAL * 2).await;
    here.crawl.set(|status| status.last = status.last.take().map(|last| CycleDone { cycle: 9, ..last }));
    for number in [8, 9] {
        let cycle = loop {
            let (name, data) = events.next().await.unwrap();
            if name == "cycle" {
                break data;
            }
        };
        assert_eq!(cycle["cycle"], number, "two within a second are both told");
    }
    let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
    here.console.change(who, Change::Pause { host: None }).await.unwrap();
    let change = loop {
        let (name, data) = events.next().await.unwrap();
        if name == "change" {
            break data;
        }
    };
    assert_eq!((&change["name"], &change["result"]), (&"anna".into(), &"done".into()));
    assert_eq!((&change["kind"], &change["what"]), (&"pause".into(), &"pause the crawl".into()));
    assert!(change.get("from").is_none(), "whoever may read is not told addresses");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_is_too_slow_misses_the_oldest() {
    let here = here();
    let mut events = EventStream::open(&here).await;
    events.next().await.unwrap();
    for i in 0..3 * event_hub::MAX_STREAM_LAG as u64 {
        here.crawl.set(|status| status.pages = i);
        tokio::time::sleep(STATUS_INTERVAL).await;
    }
    let mut pages = Vec::new();
    while pages.last() != Some(&(3 * event_hub::MAX_STREAM_LAG as u64 - 1)) {
        pages.push(events.next().await.unwrap().1["pages"].as_u64().unwrap());
    }
    assert!(pages.len() <= event_hub::MAX_STREAM_LAG, "{} events", pages.len());
    assert!(pages.is_sorted());
}

#[tokio::test(start_paused = true)]
async fn streams_end_with_the_console() {
    let here = here();
    let mut events = EventStream::open(&here).await;
    events.next().await.unwrap();
    here.stop.cancel();
    while let Some((name, _)) = events.next().await {
        assert_eq!(name, "status");
    }
    assert_eq!(here.console.events.streams(), 0, "its place is free again");
}

/// Opens an event stream over a socket and reads up to its first event.
fn listen(served: &Served) -> TcpStream {
    let mut stream = served.connect();
    stream
        .write_all(format!("GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).as_bytes())
        .unwrap();
    let mut text = String::new();
    let mut some = [0; 4096];
    while !text.contains("event: status") {
        let n = stream.read(&mut some).unwrap();
        assert!(n > 0, "{text}");
        text += std::str::from_utf8(&some[..n]).unwrap();
    }
    stream
}

#[test]
fn one_stream_too_many_is_told_so_and_the_end_closes_all() {
    let mut served = served();
    // The rest is reserved for other clients.
    let all = MAX_STREAMS - MAX_STREAMS / 4;
    let streams: Vec<TcpStream> = (0..all).map(|_| listen(&served)).collect();
    let refused = served.get("/api/v1/events");
    assert_eq!((refused.status, refused.problem().as_str()), (503, "busy"));
    assert!(served.get("/metrics").body.contains(&format!("recrawl_console_event_streams {all}\n")));
    served.stop.cancel();
    served.running.take().unwrap().join().unwrap();
    for mut stream in streams {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "the end of a stream is said: {rest:?}");
    }
}
