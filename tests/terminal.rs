//! What strangers send, shown to people: none of it reaches a terminal raw, whatever command prints it.

use crate::harness::*;
use crate::notifications::mail_server;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Sets a title, rings, overwrites its line, clears the screen, and turns the direction of writing.
const ROBOTS: &str = "User-agent: *\nDisallow: /private\u{1b}]0;owned\u{7}\nDisallow: /over\rrecrawl: all is well\n\
                      Disallow: /\u{9b}2J\nDisallow: /txt.\u{202e}exe\n";
const PAGE: &str = "<html><head><title>\u{1b}[31mred&#10;forged&#x2028;line\u{9b}0m</title></head><body>\u{1b}[2J<a href='/private\u{1b}]0;owned\u{7}'>\
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

#[test]
fn nothing_that_a_stranger_sends_is_told_to_a_target_raw() {
    let address = hostile();
    let (port, mails) = mail_server();
    let world = World::new(web(1, 1), "");
    let path = |name: &str| world.folder.path().join(name);
    let template = "\u{1b}[1m{{ title }}\u{1b}[0m | {{ new_text }}{{ changes }}";
    let file = |name: &str, more: &str| {
        format!(
            "[[notify]]\nname = \"{name}\"\nchanges = [\"new\"]\nfile = \"{}\"\n{more}",
            path(name).display()
        )
    };
    let command = ["sh".to_owned(), "-c".to_owned(), format!("cat >'{}'", path("command").display())];
    let mail = format!(
        "smtp = \"smtp://127.0.0.1:{port}\"\nallow_addresses = [\"127.0.0.1\"]\nfrom = \"a@a.test\"\nto = [\"b@a.test\"]\n\
         subject = \"{{{{ title }}}}\"\ntemplate = \"[{{{{ title }}}}]\\n{{{{ new_text }}}}\""
    );
    // The operator's own template may colour the line.
    let own =
        format!("template = {:?}\n", template.replace("{{ changes }}", "")).replace("\\u{1b}", "\\u001B");
    world.configure(&format!(
        "[cycle]\npages = \"100%\"\n{}{}[[notify]]\nname = \"command\"\nchanges = [\"new\"]\ncommand = {command:?}\n{own}\
         [[notify]]\nname = \"mail\"\nchanges = [\"new\"]\n{mail}\n",
        file("json", ""),
        file("made", &own),
    ));
    world.seeds(&[format!("http://{address}/")]);
    // So that each target has a place from which the first round is new.
    succeeds(world.crawl_command(1).output().unwrap());
    succeeds(world.run(&["notify", "send"]));
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let shown = "\u{fffd}[31mred forged line\u{fffd}0m";
    let json = read("json");
    assert_eq!((raw(&json), json.lines().count()), (None, 1), "{json:?}");
    let message: Value = serde_json::from_str(&json).unwrap();
    assert!(message["data"]["title"].as_str().is_some_and(|title| raw(title).is_some()), "{json:?}");
    for name in ["made", "command"] {
        let text = read(name);
        assert!(text.starts_with(&format!("\u{1b}[1m{shown}\u{1b}[0m | ")), "{name}: {text:?}");
        let rest = text.replacen("\u{1b}[1m", "", 1).replacen("\u{1b}[0m", "", 1);
        assert_eq!((raw(&rest), rest.lines().count()), (None, 1), "{name}: {text:?}");
    }
    let mail = mails.recv_timeout(std::time::Duration::from_secs(300)).unwrap();
    assert_eq!(raw(&mail), None, "{mail:?}");
    assert!(mail.contains("Subject: =?utf-8?b?"), "{mail}");
}
