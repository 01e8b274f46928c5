//! Responses that no valid server sends, as bytes on the wire.

use crate::client::{ask, connect, get, procedural, split};
use recrawl_mockweb::tls::SelfSigned;
use recrawl_mockweb::{Server, ledger::AccessEntry};
use std::io::{Read, Write};
use std::time::Duration;

/// The first bytes of a rule's response, as far as they are text: until this text is there, 2,000 at most.
fn beginning(server: &Server, rule: &str, text: &str) -> String {
    server.set_faults(vec![rule.parse().unwrap()]);
    let url = server.url(0);
    let (authority, target) = split(&url);
    let mut stream = connect(authority);
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let (mut bytes, mut some) = (Vec::new(), [0; 200]);
    // Some rules reset, some fall silent.
    while let Ok(length @ 1..) = stream.read(&mut some) {
        bytes.extend_from_slice(&some[..length]);
        if bytes.len() >= 2_000 || String::from_utf8_lossy(&bytes).contains(text) {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn log(server: &Server, lines: usize) -> Vec<AccessEntry> {
    for _ in 0..60_000 {
        let log = server.log(0).unwrap();
        if log.len() >= lines {
            return log;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{lines} lines never came");
}

#[test]
fn bytes_past_http_are_sent_as_they_are_and_never_complete() {
    let server = procedural(20, 2, |_| {});
    let rows = [
        ("endless:body", 200, "and so on and on"),
        ("endless:status", 200, "well and well and"),
        ("endless:head", 200, "x-more: and so on\r\nx-more: "),
        ("endless:field", 200, "and so on and so on"),
        ("endless:interim", 0, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100"),
        ("endless:extension", 200, ";x=andsoon"),
        ("endless:trailers", 200, "\r\n0\r\nx-more: "),
        ("drip:10000", 200, "x-more: aaa"),
        ("length:short", 200, "HTTP/1.1 404 Not Found"),
        ("length:none", 204, "HTTP/1.1 404 Not Found"),
        ("length:long", 200, "</html>\n"),
        ("length:vast", 200, "content-length: 1099511627776\r\n"),
        ("length:negative", 200, "content-length: -1\r\n"),
        ("length:two", 200, "content-length: 5\r\n"),
        ("length:both", 200, "\r\n0\r\n\r\n"),
        ("broken:head", 200, "x-more: an"),
        ("broken:noise", 0, "abcdefg"),
        ("broken:switch", 101, "101 Switching"),
        ("bomb:gzip", 200, "content-encoding: gzip\r\n\r\n"),
        ("bomb:window", 200, "content-encoding: zstd\r\n\r\n"),
    ];
    for (row, (kind, status, text)) in rows.into_iter().enumerate() {
        let sent = beginning(&server, &format!("/={kind}"), text);
        assert!(sent.contains(text), "{kind}: {sent:?}");
        let access = log(&server, row + 1).pop().unwrap();
        assert_eq!((access.status, access.complete, access.page_id), (status, false, None), "{kind}");
        assert_eq!(access.fault.as_deref(), kind.split(':').next());
        assert!(access.bytes > 10, "{kind}: {}", access.bytes);
    }
    assert_eq!(beginning(&server, "/=broken:blank", ""), "");
    assert_eq!(server.held().all.held, 0);
}

#[test]
fn pages_of_a_faults_own_are_whole_and_no_pages_of_the_web() {
    let server = procedural(20, 2, |_| {});
    let url = server.url(0);
    let rows = [
        ("links:10", "/linked/9"),
        ("schemes", "javascript:"),
        ("everything", "More of it"),
        ("nested:1000/b", "<b><b><b>"),
        ("nul", "\0"),
        ("no-utf-8", "\u{fffd}"),
        ("charset:koi8-r/twin", "Ю"),
        ("charset:shift_jis/meta", "<meta charset=\"shift_jis\">"),
        ("chain:0", "the chain ends"),
        ("sitemap:laughs", "&l18;&l18;"),
        ("sitemap:deep", "?level=1"),
    ];
    for (kind, text) in rows {
        server.set_faults(vec![format!("/={kind}").parse().unwrap()]);
        let reply = get(&url);
        assert_eq!(reply.status, 200, "{kind}");
        assert!(reply.text().contains(text), "{kind}: {}", reply.text());
        assert_eq!(get(&url).body, reply.body, "{kind} is always the same");
    }
    for access in log(&server, 2 * rows.len()) {
        assert_eq!((access.complete, access.page_id, access.holds), (true, None, None));
    }
    assert!(server.counts().is_empty(), "none of them is a page of the web");
}

#[test]
fn right_answers_come_under_wrong_names() {
    let server = procedural(20, 2, |config| config.gzip = true);
    let url = server.url(0);
    let whole = get(&url);
    for (kind, field, value) in
        [("coding:br", "content-encoding", "br"), ("media:image/png", "content-type", "image/png")]
    {
        server.set_faults(vec![format!("/={kind}").parse().unwrap()]);
        let reply = get(&url);
        assert_eq!((reply.field(field), &reply.body), (Some(value), &whole.body), "{kind}");
    }
    server.set_faults(vec!["/=coding:cut".parse().unwrap()]);
    let reply = ask("GET", &url, &[("accept-encoding", "gzip")], "");
    let mut text = Vec::new();
    let error = flate2::read::GzDecoder::new(&reply.body[..]).read_to_end(&mut text).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "it is cut, and compressed once");
}

#[test]
fn a_certificate_that_nobody_vouches_for() {
    let server = SelfSigned::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut stream = connect(&server.address().to_string());
    // A client without TLS.
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    assert_eq!((server.connections(), server.trusting()), (1, 0));
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}
