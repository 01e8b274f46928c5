//! A request ends exactly when its client disconnects.

use crate::client::{connect, get, procedural, split};
use recrawl_mockweb::Server;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Responses that outlast every client: silence, drops an hour apart in header and body, one byte
/// too few.
const ENDLESS: [&str; 4] = ["timeout", "drip:0.001", "slow:1", "length:long"];

/// A server whose first page has this fault; robots.txt is read already.
fn server(fault: &str) -> Server {
    let server = procedural(20, 2, |_| {});
    get(&format!("{}robots.txt", server.seeds()[0]));
    let url = server.url(0);
    server.set_faults(vec![format!("{}={fault}", split(&url).1).parse().unwrap()]);
    server
}

/// Requests the first page and waits until the server has received the request.
fn begin(server: &Server) -> TcpStream {
    let url = server.url(0);
    let (authority, target) = split(&url);
    let requests = || server.violations(Duration::ZERO).hosts[0].requests;
    let before = requests();
    let mut stream = connect(authority);
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
    wait_until(|| requests() > before);
    stream
}

/// Far longer than the expected event takes, far shorter than the faults.
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it never came about");
}

#[test]
fn it_ends_in_the_log_when_the_client_goes() {
    for fault in ENDLESS {
        let server = server(fault);
        let leave: [fn(TcpStream); 2] = [drop, |stream| stream.shutdown(Shutdown::Write).unwrap()];
        for (given_up, leave) in leave.into_iter().enumerate() {
            leave(begin(&server));
            // If it were still running, the next request of a patient client would be concurrent.
            wait_until(|| server.log(0).unwrap().len() == 2 + given_up);
            assert!(!server.log(0).unwrap()[1 + given_up].complete, "{fault}");
        }
        get(&server.seeds()[0]);
        assert_eq!(server.violations(Duration::ZERO).max_requests_per_host, 1, "{fault}");
    }
}

#[test]
fn a_client_that_asks_again_without_giving_up_is_found_out() {
    for fault in ENDLESS {
        let server = server(fault);
        let waiting = begin(&server);
        get(&server.seeds()[0]);
        let found = server.violations(Duration::from_secs(100));
        assert_eq!(found.max_requests_per_host, 2, "{fault}");
        assert_eq!((found.host_page_gaps_under, found.address_gaps_under), (1, 2), "{fault}");
        drop(waiting);
    }
}

#[test]
fn a_client_that_gives_up_and_asks_at_once_is_found_out() {
    for fault in ENDLESS {
        let server = server(fault);
        for _ in 0..3 {
            drop(begin(&server));
        }
        assert_eq!(server.violations(Duration::from_secs(100)).host_page_gaps_under, 2, "{fault}");
    }
}

#[test]
fn an_answer_without_a_body_cannot_break_off() {
    for fault in ["truncated", "reset:100"] {
        let server = server(fault);
        let url = server.url(0);
        let (authority, target) = split(&url);
        server.set_faults(Vec::new());
        let tag = get(&url).field("etag").unwrap().to_string();
        server.set_faults(vec![format!("{target}={fault}").parse().unwrap()]);
        let mut kept = connect(authority);
        write!(kept, "GET {target} HTTP/1.1\r\nhost: {authority}\r\nif-none-match: {tag}\r\n\r\n").unwrap();
        assert!(kept.read(&mut [0; 1_000]).unwrap() > 50);
        // The connection is kept, and no request is running.
        get(&server.seeds()[0]);
        let log = server.log(0).unwrap();
        assert_eq!((log[2].status, log[2].complete), (304, true), "{fault}");
        assert_eq!(server.violations(Duration::ZERO).max_requests_per_host, 1, "{fault}");
    }
}
