//! The control socket: the same routes, without a token and without the rate of the network.

use super::client::{config, served};
use super::crawl::MadeUp;
use crate::local::{self, LocalSocket};
use crate::{ConsoleConfig, serve};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn ask(socket: &Path, method: &str, path: &str) -> String {
    let mut stream = local::connect(socket).unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_local_user_changes_without_a_token_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let own = local::user_name(folder.path().metadata().unwrap().uid());
    let (crawl, stop) = (Arc::new(MadeUp::new()), CancellationToken::new());
    // The network needs a session, and a second request in a second is one too many.
    let config = ConsoleConfig { tokens: None, requests: 1, ..config() };
    let socket = LocalSocket::bind(&path).unwrap();
    let running = serve(crawl.clone(), config, Some(socket), stop.clone()).unwrap();
    for _ in 0..3 {
        assert!(ask(&path, "GET", "/api/v1/status").starts_with("HTTP/1.1 200"));
    }
    assert!(ask(&path, "PUT", "/api/v1/pause").starts_with("HTTP/1.1 200"));
    let (_, who) = crawl.changes().remove(0);
    assert_eq!((who.name, who.from.to_string()), (own, "127.0.0.1".to_owned()));
    stop.cancel();
    running.join().unwrap();
    assert!(!path.exists(), "a clean end removes it");
}

#[test]
fn a_host_and_a_page_have_a_text_for_people() {
    let served = served();
    let text = "Accept: text/plain\r\n";
    for (path, begin) in [
        ("/api/v1/hosts/a.example", "host  "),
        ("/api/v1/page?url=https://a.example/0007&formula=cg", "url  "),
    ] {
        let answer = served.ask("GET", path, text, "");
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
        assert!(answer.body.starts_with(begin), "{}", answer.body);
        assert!(served.ask("GET", path, "Accept: */*\r\n", "").json().is_array() == (begin == "host  "));
    }
    assert_eq!(served.ask("GET", "/api/v1/hosts/none", text, "").problem(), "not-found");
    let wrong = "/api/v1/page?url=https://a.example/0007&formula=nonsense";
    assert_eq!(served.get(wrong).problem(), "invalid");
}
