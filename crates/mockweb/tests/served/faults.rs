//! Faults, and their log entries.

use crate::client::{ask, connect, get, procedural, split};
use recrawl_mockweb::ledger::AccessEntry;
use recrawl_mockweb::{Config, ProceduralConfig, Server, WebConfig};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

fn with(server: &Server, rule: &str) {
    server.set_faults(vec![rule.parse().unwrap()]);
}

/// The line of the last exchange; waits for it, since some faults outlast the client.
fn last(server: &Server, lines: usize) -> AccessEntry {
    for _ in 0..60_000 {
        let log = server.log(0).unwrap();
        if log.len() >= lines {
            return log[lines - 1].clone();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("line {lines} never came");
}

#[test]
fn each_fault_does_what_it_says_and_stands_in_the_log() {
    let server = procedural(20, 2, |_| {});
    let url = server.url(0);
    let whole = get(&url);

    with(&server, "/=status:503");
    assert_eq!(get(&url).status, 503);
    with(&server, "/=busy:7");
    let busy = get(&url);
    assert_eq!((busy.status, busy.field("retry-after")), (429, Some("7")));
    with(&server, "/=redirect:http://10.0.0.1/");
    assert_eq!(get(&url).field("location"), Some("http://10.0.0.1/"));
    with(&server, "/=loop");
    assert_eq!(get(&url).status, 302);
    for (line, status) in [(2, 503), (3, 429), (4, 302), (5, 302)] {
        let access = last(&server, line);
        assert_eq!((access.status, access.complete, access.page_id), (status, true, None));
        assert!(access.fault.is_some());
    }

    with(&server, "/=reset");
    let reply = get(&url);
    assert_eq!((reply.status, reply.error), (0, Some(ErrorKind::ConnectionReset)));
    let access = last(&server, 6);
    assert_eq!((access.status, access.complete, access.bytes), (0, false, 0));

    with(&server, "/=truncated:1000");
    let reply = get(&url);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.field("content-length").unwrap().parse(), Ok(whole.body.len()));
    assert_eq!(reply.body, whole.body[..1_000]);
    let access = last(&server, 7);
    assert_eq!((access.status, access.complete), (200, false));
    assert!((1_000..1_500).contains(&access.bytes), "{}", access.bytes);

    with(&server, "/=timeout:0");
    assert_eq!(get(&url).status, 0);
    assert!(!last(&server, 8).complete);

    with(&server, "/=slow:100000");
    assert_eq!(get(&url).body, whole.body);
    assert!(last(&server, 9).complete);

    server.set_faults(Vec::new());
    assert_eq!(get(&url).body, whole.body);
    let counts = server.counts();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].count, 3, "the first, the slow one and the last were whole");
}

#[test]
fn a_reset_in_the_middle_of_a_body() {
    let server = procedural(20, 2, |_| {});
    with(&server, "/=reset:2000");
    let reply = get(&server.url(0));
    assert_eq!((reply.status, reply.error), (200, Some(ErrorKind::ConnectionReset)));
    assert!(!last(&server, 1).complete);
    assert_eq!(server.held().all.held, 0);
}

#[test]
fn silence_ends_when_the_client_loses_patience() {
    let server = procedural(20, 2, |_| {});
    with(&server, "/=timeout");
    let url = server.url(0);
    let (authority, target) = split(&url);
    let mut stream = connect(authority);
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(stream.read(&mut [0; 10]).is_err());
    drop(stream);
    let access = last(&server, 1);
    assert_eq!((access.status, access.complete), (0, false));
}

#[test]
fn a_client_that_goes_away_makes_an_exchange_incomplete() {
    // Larger than the operating system's buffers.
    let web = ProceduralConfig { pages: 2, hosts: 1, page_bytes: 30_000_000, ..ProceduralConfig::default() };
    let server = Server::start(Config::new(WebConfig::Procedural(web))).unwrap();
    let url = server.url(0);
    let (authority, target) = split(&url);
    let mut stream = connect(authority);
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 500]).unwrap();
    // A client that only reads slowly blocks nothing and does not count as disconnected.
    assert!(server.log(0).unwrap().is_empty());
    drop(stream);
    let access = last(&server, 1);
    assert_eq!((access.status, access.complete, access.page_id), (200, false, Some(0)));
    assert!((500..30_000_000).contains(&access.bytes), "{}", access.bytes);
    assert!(server.counts().is_empty());
    assert_eq!(server.held().all.held, 0);
    assert!(get(&url).body.len() > 25_000_000);
    assert!(last(&server, 2).complete);
    assert_eq!(server.held().all.held, 1);
}

#[test]
fn a_redirect_can_take_its_prefix_off() {
    let server = procedural(20, 2, |_| {});
    with(&server, "/old=redirect");
    let url = server.url(5);
    let (authority, target) = split(&url);
    let reply = ask("GET", &format!("http://{authority}/old{target}"), &[], "");
    assert_eq!((reply.status, reply.field("location")), (302, Some(target)));
    assert_eq!(get(&url).status, 200);
}

/// A server closes an idle connection: the request in transit is lost and not judged.
#[test]
fn an_idle_connection_is_closed_under_the_next_request() {
    let server = procedural(20, 2, |_| {});
    with(&server, "/=idle:100");
    let url = server.url(0);
    let (authority, target) = split(&url);
    let mut stream = connect(authority);
    let mut ask_again = |pause| {
        std::thread::sleep(Duration::from_millis(pause));
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
        let mut heard = vec![0; 1 << 20];
        let mut length = stream.read(&mut heard).unwrap_or(0);
        // The body ends with the page.
        while length > 0 && !heard[..length].ends_with(b"</html>\n") {
            length += stream.read(&mut heard[length..]).unwrap();
        }
        length
    };
    assert!(ask_again(200) > 0, "the first request on a connection is answered, whenever it comes");
    // Ten times as long, and more: the server counts from when it had answered, by its own clock.
    assert_eq!(ask_again(2_000), 0);
    let lost = last(&server, 2);
    assert_eq!((lost.status, lost.complete, lost.fault.as_deref()), (0, false, Some("idle")));
    assert_eq!(server.log(0).unwrap()[0].fault, None, "what is answered well is no fault");
    let manners = server.violations(Duration::ZERO);
    assert_eq!((manners.hosts[0].requests, manners.max_requests_per_host), (1, 1));
    with(&server, "/=idle:60000");
    let mut stream = connect(authority);
    for _ in 0..2 {
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 1 << 20]).unwrap() > 0);
    }
}
