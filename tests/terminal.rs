//! What strangers send, shown to people: none of it reaches a terminal raw, whatever command prints it.

use crate::harness::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Sets a title, rings, overwrites its line, clears the screen, and turns the direction of writing.
const ROBOTS: &str = "User-agent: *\nDisallow: /private\u{1b}]0;owned\u{7}\nDisallow: /over\rrecrawl: all is well\n\
                      Disallow: /\u{9b}2J\nDisallow: /txt.\u{202e}exe\n";
const PAGE: &str = "<html><head><title>\u{1b}[31mred\u{9b}0m</title></head><body>\u{1b}[2J<a href='/private\u{1b}]0;owned\u{7}'>\
                    a</a> <a href='/over\u{9b}'>b</a></body></html>";

/// A web of one page that says so in every field it can.
fn hostile() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                let Some(Ok(first)) = lines.next() else { return };
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let (kind, body) =
                    if first.contains("/robots.txt") { ("plain", ROBOTS) } else { ("html", PAGE) };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/{kind}; charset=utf-8\r\nETag: \"\u{9b}31m\u{202e}\"\r\n\
                     X-Robots-Tag: noindex\u{9b}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
            });
        }
    });
    address
}

/// What would steer a terminal.
fn raw(text: &str) -> Option<char> {
    text.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}')
}

#[test]
fn nothing_that_a_stranger_sends_is_printed_raw() {
    let address = hostile();
    let host = format!("http://{address}");
    let world = World::new(web(1, 1), "[cycle]\npages = \"100%\"");
    world.seeds(&[format!("{host}/")]);
    let mut crawl = world.crawl_command(2);
    crawl.env("RECRAWL_LOG", "debug");
    let mut printed = vec![("crawl", crawl.output().unwrap())];
    for format in ["human", "json"] {
        world.configure(&format!(
            "[cycle]\npages = \"100%\"\n[log]\nformat = \"{format}\"\nfilter = \"debug\""
        ));
        printed.push((format, world.crawl_command(1).output().unwrap()));
    }
    let url = format!("{host}/");
    let refused = format!("{host}/private%1B]0;owned%07");
    for words in [
        &["status"][..],
        &["status", "--json"],
        &["status", "--host", &host],
        &["status", "--host", &host, "--json"],
        &["explain", &url],
        &["explain", &url, "--json"],
        &["explain", &refused],
        &["export", "pages", "--out", "-"],
        &["export", "visits", "--out", "-"],
        &["repository", "stats"],
        &["crawl", "--cycles", "1", "--events", "-"],
    ] {
        printed.push((words[0], world.run(words)));
    }
    for (what, output) in &printed {
        for text in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(text).expect("UTF-8");
            assert_eq!(raw(text), None, "{what}: {text:?}");
        }
    }
    // Each of them is told all the same.
    let text = succeeds(world.run(&["status", "--host", &host]));
    for line in [
        "/private\\u001b]0;owned\\u0007\n",
        "/over\\rrecrawl: all is well\n",
        "/\\u009b2J\n",
        "/txt.\\u202eexe\n",
    ] {
        assert!(text.contains(&format!("Disallow: {line}")), "{text}");
    }
    let json: Value =
        serde_json::from_str(&succeeds(world.run(&["status", "--host", &host, "--json"]))).unwrap();
    assert_eq!(json[0]["robots"], ROBOTS, "JSON holds it as it came");
}
