//! What the console gives to those who mean ill, while the crawl goes on.

use crate::daemon::{Daemon, PATIENCE, QUICK, TOKEN, world};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

/// Connections that are opened at once and kept.
const FLOOD: u64 = 10_000;
/// Where the flood comes from, and where somebody else does.
const FLOODING: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
const SOMEBODY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);

/// What a request got: the status and the kind of problem.
fn asked(daemon: &Daemon, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(&daemon.address).expect("the console listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.write_all(head.replace("HERE", &daemon.address).as_bytes()).expect("it reads a head");
    // It may hang up on what it will not read.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    if let Err(e) = stream.read_to_end(&mut answer) {
        assert_eq!(e.kind(), ErrorKind::ConnectionReset, "{head}: {e}");
    }
    let answer = String::from_utf8(answer).expect("UTF-8");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let kind = answer.split_once("\"type\":\"/problems/").and_then(|(_, rest)| rest.split('"').next());
    (status, kind.unwrap_or_default().to_owned())
}

#[test]
fn those_who_may_not_are_refused_and_the_crawl_goes_on() {
    let world = world(60, 3, QUICK);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let before = daemon.status()["generation"].as_u64().expect("a number");
    let pause = "PUT /api/v1/pause HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n";
    let json = "Content-Type: application/json\r\n";
    let long = vec![b'['; 10 << 20];
    let seeds = format!(
        "POST /api/v1/seeds HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    );
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n");
    let form = "POST /api/v1/seeds HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n";
    let elsewhere = "Origin: https://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n";
    let cases: [(&str, String, &[u8], u16, &str); 10] = [
        ("a change without a token", format!("{pause}\r\n"), b"", 401, "unauthorized"),
        (
            "a change with a wrong token",
            format!("{pause}Authorization: Bearer {}\r\n\r\n", TOKEN.replace('f', "e")),
            b"",
            401,
            "unauthorized",
        ),
        (
            "a token in the address",
            format!("PUT /api/v1/pause?token={TOKEN} HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n"),
            b"",
            401,
            "unauthorized",
        ),
        (
            "a body of 10 MB, with a token",
            format!("{seeds}{json}Content-Length: {}\r\n\r\n", long.len()),
            &long,
            413,
            "too-large",
        ),
        ("a path that climbs", get("/assets/../../../../etc/passwd"), b"", 404, "not-found"),
        ("the same, encoded", get("/assets/..%2f..%2f..%2fetc%2fpasswd"), b"", 404, "not-found"),
        ("the same, as a problem", get("/problems/..%2f..%2fetc%2fpasswd"), b"", 404, "not-found"),
        ("a form of another site", format!("{form}{elsewhere}\r\n"), b"a=b", 403, "cross-site"),
        (
            "a form of one that does not say whence it comes",
            format!("{form}\r\n"),
            b"a=b",
            401,
            "unauthorized",
        ),
        (
            "a page whose name leads here",
            get("/api/v1/status").replace("HERE", "rebound.example"),
            b"",
            421,
            "unknown-host",
        ),
    ];
    for (who, head, body, status, kind) in cases {
        let got = asked(&daemon, &head, body);
        println!("{who}: {} {}", got.0, got.1);
        assert_eq!(got, (status, kind.to_owned()), "{who}");
    }
    assert_eq!(daemon.get("/api/v1/controls")["changes"].as_u64().unwrap_or_default(), 0);
    let audit = std::fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap_or_default();
    assert!(!audit.contains("done"), "nothing was changed: {audit}");
    daemon.until("crawling on", |s| s["generation"].as_u64() > Some(before + 1));
    let log = daemon.stop();
    assert!(!log.contains(TOKEN) && !log.contains("panicked"), "{log}");
    world.is_sound();
}

/// A connection from one of the loopback's addresses.
async fn connect(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind((IpAddr::from(from), 0).into())?;
    let stream = socket.connect(to).await?.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

#[test]
fn ten_thousand_connections_take_no_seat_of_others_and_no_cycle_of_the_crawl() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum })
        .expect("up to the hard limit");
    // Half of what may be open is for the tests beside this one.
    let flood = FLOOD.min(files.maximum.unwrap_or(u64::MAX) / 2);
    let world = world(60, 3, QUICK);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let server: SocketAddr = daemon.address.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let from = |from| runtime.block_on(connect(from, server)).expect("a connection");
    let open: Vec<TcpStream> = (0..flood).map(|_| from(FLOODING)).collect();
    let before = daemon.status()["generation"].as_u64().expect("somebody else is answered meanwhile");

    let mut other = from(SOMEBODY);
    write!(other, "GET /health HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n").expect("a seat");
    let mut answer = String::new();
    other.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    daemon.until("crawling on", |s| s["generation"].as_u64() > Some(before + 1));
    // The others had a seat, until they had said nothing for as long as one may.
    let turned_away = turned_away(&daemon);
    println!("{flood} connections: {turned_away} turned away");
    assert!(turned_away > flood / 2, "{turned_away} of {flood}");
    drop(open);
    daemon.stop();
    world.is_sound();
}

/// Connections that were turned away, as the metrics tell.
fn turned_away(daemon: &Daemon) -> u64 {
    let mut stream = TcpStream::connect(&daemon.address).expect("the console listens");
    let head = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", daemon.address);
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let count = text.lines().find_map(|line| line.strip_prefix("recrawl_console_refused_connections_total "));
    count.and_then(|count| count.parse().ok()).expect("a count")
}
