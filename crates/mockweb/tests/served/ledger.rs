//! Held pages, counts, log, manners.

use crate::client::{ask, ask_at, bundled, connect, get, procedural, split};
use recrawl_mockweb::{Config, ProceduralConfig, Server, WebConfig};
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn freshness_follows_what_was_served() {
    let server = bundled(|_| {});
    let last = server.info().last_cycle.unwrap();
    let (page, cycle) = server
        .truth(0, last)
        .filter(|page| page.fixed)
        .find_map(|page| Some((page.page_id, page.changes.first()?.0)))
        .unwrap();
    assert_eq!((server.held().all.held, server.held().fixed.total), (0, server.info().fixed));
    let url = server.url(page);
    let tag = get(&url).field("etag").unwrap().to_string();
    assert_eq!((server.held().all.fresh, server.held().fixed.fresh), (1, 1));
    server.set_clock(cycle).unwrap();
    let held = server.held();
    assert_eq!((held.all.held, held.all.fresh, held.pages[page as usize].held), (1, 0, Some(0)));
    assert_eq!(get(&url).status, 200);
    assert_eq!(server.held().all.fresh, 1);
    assert_eq!(ask("GET", &url, &[("if-none-match", &tag)], "").status, 200);
    let now = get(&url).field("etag").unwrap().to_string();
    assert_eq!(ask("GET", &url, &[("if-none-match", &now)], "").status, 304);
    let count = &server.counts()[0];
    assert_eq!((count.url.as_str(), count.page_id, count.count), (url.as_str(), Some(page), 5));
}

#[test]
fn a_true_304_confirms_what_an_unknown_client_holds() {
    let server = procedural(20, 2, |_| {});
    let other = procedural(20, 2, |_| {});
    let tag = get(&other.url(4)).field("etag").unwrap().to_string();
    assert_eq!(ask("GET", &server.url(4), &[("if-none-match", &tag)], "").status, 304);
    assert_eq!(server.held().pages[4].held, Some(0));
}

#[test]
fn the_log_tells_what_was_asked_in_the_order_it_ended() {
    let server = procedural(20, 2, |_| {});
    server.set_clock(3).unwrap();
    get(&server.url(2));
    get(&format!("{}nowhere", server.seeds()[1]));
    let tag = get(&server.url(2)).field("etag").unwrap().to_string();
    ask("GET", &server.url(2), &[("if-none-match", &tag)], "");
    let log = server.log(0).unwrap();
    assert_eq!(log.iter().map(|a| a.seq).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(log.iter().map(|a| a.status).collect::<Vec<_>>(), [200, 404, 200, 304]);
    assert_eq!(log.iter().map(|a| a.conditional).collect::<Vec<_>>(), [false, false, false, true]);
    assert!(log.iter().all(|a| a.complete && a.cycle == 3 && a.bytes > 50));
    assert_eq!(format!("http://{}{}", log[0].host, log[0].path), server.url(2));
    assert_eq!((log[0].page_id, log[1].page_id), (Some(2), None));
    assert_eq!(server.log(3).unwrap(), log[3..]);
    server.reset_log().unwrap();
    assert!(server.log(0).unwrap().is_empty() && server.counts().is_empty());
    assert_eq!(server.held().all.held, 1, "what is held stays held");
}

#[test]
fn requests_on_one_connection_are_told_apart() {
    let server = procedural(20, 2, |_| {});
    let url = server.url(0);
    let (authority, target) = split(&url);
    let whole = get(&url);
    let mut stream = connect(authority);
    for _ in 0..3 {
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"</html>\n") {
            let mut buffer = [0; 4096];
            let n = stream.read(&mut buffer).unwrap();
            assert!(n > 0);
            bytes.extend_from_slice(&buffer[..n]);
        }
        assert!(bytes.ends_with(&whole.body));
    }
    // Two requests sent at once are answered one after the other.
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let log = server.log(0).unwrap();
    assert_eq!(log.len(), 6);
    assert!(log.iter().all(|a| a.complete && a.status == 200));
    assert_eq!(server.counts()[0].count, 6);
    let manners = server.violations(Duration::ZERO);
    assert_eq!((manners.max_requests_per_host, manners.max_connections_per_address), (1, 1));
}

#[test]
fn violations_are_counted() {
    let server = procedural(200, 2, |_| {});
    let seed = server.seeds()[0].clone();
    get(&format!("{seed}robots.txt"));
    for _ in 0..3 {
        get(&format!("{seed}private/n7"));
    }
    get(&format!("{seed}private/open-1"));
    let found = server.violations(Duration::from_secs(100));
    assert_eq!((found.forbidden, found.before_robots), (3, 0));
    assert_eq!(found.hosts[0].forbidden_paths, ["/private/n7"; 3]);
    assert_eq!((found.host_gaps_under, found.host_page_gaps_under, found.address_gaps_under), (4, 3, 4));
    assert_eq!(server.violations(Duration::ZERO).host_gaps_under, 0);
    get(&server.seeds()[1]);
    assert_eq!(server.violations(Duration::ZERO).before_robots, 1);
    // Every index page links to a forbidden path that answers.
    for seed in server.seeds() {
        let robots = get(&format!("{seed}robots.txt")).text();
        assert!(robots.contains("Disallow: /private/\n"), "{robots}");
        assert!(get(&seed).text().contains("href=\"/private/n0\""));
    }
}

#[test]
fn overlapping_requests_and_connections_are_seen() {
    let server = procedural(20, 2, |_| {});
    server.set_faults(vec!["/=slow:20000".parse().unwrap()]);
    let urls: Vec<String> = (0..3).map(|_| server.url(0)).collect();
    std::thread::scope(|scope| {
        for url in &urls {
            scope.spawn(move || assert_eq!(get(url).status, 200));
        }
    });
    let found = server.violations(Duration::ZERO);
    assert!(found.max_requests_per_host >= 2 && found.max_connections_per_address >= 2, "{found:?}");
}

#[test]
fn a_log_file_outlives_the_server_and_tells_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.jsonl");
    let start = |pages: u32| {
        let web = ProceduralConfig { pages, hosts: 2, seed: 7, ..ProceduralConfig::default() };
        let mut config = Config::new(WebConfig::Procedural(web));
        config.log = Some(path.clone());
        Server::start(config)
    };
    let server = start(20).unwrap();
    get(&server.url(1));
    get(&server.url(1));
    get(&server.seeds()[1]);
    let counts = |server: &Server| -> Vec<(Option<u32>, u64)> {
        server.counts().into_iter().map(|count| (count.page_id, count.count)).collect()
    };
    let (before, log) = (counts(&server), server.log(0).unwrap());
    drop(server);
    let server = start(20).unwrap();
    assert_eq!(counts(&server), before);
    assert_eq!(server.log(0).unwrap(), log);
    assert_eq!(server.held().pages[1].held, Some(0));
    get(&server.url(1));
    assert_eq!(server.log(3).unwrap()[0].seq, 3);
    drop(server);
    assert!(start(1).is_err(), "a log that names pages this web does not have");
}

#[test]
fn a_host_nobody_is_gets_421_and_harms_no_account() {
    let server = procedural(20, 2, |_| {});
    let at = split(&server.seeds()[0]).0.to_string();
    assert_eq!(ask_at(&at, "GET", "example.org", "/", &[], "").status, 421);
    let log = server.log(0).unwrap();
    assert_eq!((log[0].status, log[0].host_id, log[0].host.as_str()), (421, None, ""));
    assert!(server.counts().is_empty());
    assert!(server.violations(Duration::ZERO).hosts.is_empty());
}
