//! What the web's owners see: robots.txt, delays, refused addresses.

use crate::harness::{World, count, json_lines, succeeds, web};
use recrawl_mockweb::Config;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(100);

/// Not one rule broken, over all that was asked.
fn was_polite(world: &World, delay: Duration) {
    let violations = world.server.violations(delay);
    assert_eq!(violations.forbidden, 0, "{violations:?}");
    assert_eq!(violations.before_robots, 0, "{violations:?}");
    assert_eq!(violations.host_gaps_under, 0, "{violations:?}");
    assert_eq!(violations.max_requests_per_host, 1, "{violations:?}");
}

/// Hosts with names, dealt to `addresses` addresses.
fn named_web(pages: u32, hosts: u32, addresses: u32) -> Config {
    Config { domain: Some("mock.test".into()), addresses: Some(addresses), ..web(pages, hosts) }
}

/// `[dns] overrides` for all hosts of the web.
fn overrides(world: &World) -> String {
    let names = world.server.names();
    let lines: Vec<String> =
        names.iter().map(|(name, address)| format!("\"{name}\" = \"{address}\"")).collect();
    format!("[dns.overrides]\n{}\n", lines.join("\n"))
}

#[test]
fn hosts_are_asked_one_request_at_a_time_and_a_delay_apart() {
    let world = World::new(web(30, 5), "[politeness]\ndelay_per_host = \"100 ms\"");
    // The pace holds across processes too.
    let reports = [world.crawl(2), world.crawl(1)].concat();
    was_polite(&world, DELAY);
    let denied: u64 = reports.iter().filter_map(|r| count(r, "robots_denied")).sum();
    assert!(denied > 0, "the web links to what it forbids");
    let pages = world.pages();
    let private = pages.iter().filter(|(url, _)| url.contains("/private/n")).collect::<Vec<_>>();
    assert!(!private.is_empty());
    for (url, page) in private {
        assert!(page["n"].is_null() && world.asked(url) == 0, "{url}");
    }
}

#[test]
fn requisites_are_asked_for_as_politely_as_pages_and_change_no_figure_of_them() {
    let delay = "[cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"100 ms\"\n";
    let with_requisites = || Config { requisites: true, ..web(30, 5) };
    let world =
        World::new(with_requisites(), &format!("{delay}[[pages]]\nmatch = \"*\"\nrequisites = true\n"));
    let plain = World::new(with_requisites(), delay);
    let figures = |reports: Vec<Value>| {
        let kept = [
            "scheduled",
            "fetched",
            "first_visits",
            "changed",
            "unchanged",
            "not_modified",
            "links_new",
            "pages_known",
        ];
        reports.iter().map(|report| kept.map(|name| count(report, name))).collect::<Vec<_>>()
    };
    assert_eq!(figures(world.crawl(3)), figures(plain.crawl(3)));
    was_polite(&world, DELAY);
    let mut asked = BTreeMap::<String, u64>::new();
    for request in world.server.log(0).unwrap().iter().filter(|request| request.path.contains("/look")) {
        *asked.entry(format!("{:?}{}", request.host_id, request.path)).or_default() += 1;
    }
    assert!(asked.len() > 30 && asked.values().all(|times| *times <= 3), "once a round: {asked:?}");
    assert!(!asked.keys().any(|target| target.contains("/private/")), "{asked:?}");
    assert!(plain.server.log(0).unwrap().iter().all(|request| !request.path.contains("/look")));
    let names = |world: &World| {
        world
            .pages()
            .into_iter()
            .map(|(url, page)| (without_port(&url), page["n"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&world), names(&plain), "the same pages, visited as often");
}

/// A URL without the port of its mock web.
fn without_port(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    format!("{}/{path}", authority.split(':').next().unwrap())
}

/// What a mock of one's own network may stand: robots.txt and sitemaps count as pages do.
#[test]
fn all_requests_of_a_crawl_keep_its_rate() {
    let world = World::new(web(12, 3), "[budget]\nrequests_per_second = 10");
    let begun = Instant::now();
    world.crawl(2);
    let asked = world.server.log(0).unwrap().len() as u32;
    assert!(asked > 6 && begun.elapsed() >= Duration::from_millis(100) * (asked - 1), "{asked}");
}

/// What anybody gets from the web's first host.
fn served_by_the_first_host(world: &World, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.1.0.1", world.server.port())).unwrap();
    let port = world.server.port();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.1.0.1:{port}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").expect("there is a body").1.to_owned()
}

#[test]
fn status_shows_the_pace_the_robots_txt_and_what_it_refuses() {
    let world = World::new(web(30, 3), "[politeness]\ndelay_per_host = \"20 ms\"");
    world.crawl(4);
    let told = succeeds(world.run(&["status", "--host", "127.1.0.1", "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    let host = &told[0];

    let log = world.server.log(0).unwrap();
    let here: Vec<_> = log.iter().filter(|a| a.host_id == Some(0)).collect();
    assert_eq!(count(host, "requests"), Some(here.len() as u64));
    let pace = &host["pace"];
    assert_eq!(count(pace, "cycle"), Some(4), "{pace}");
    let rate = pace["per_minute"].as_f64().expect("there were several requests");
    let promised = pace["per_minute_promised"].as_f64().expect("there is a delay");
    // The delay follows the answers of a machine that may be busy: so the promise is that of the requests counted.
    assert!(promised <= 3000.0, "{pace}");
    was_polite(&world, Duration::from_millis(20));
    let gaps = count(pace, "requests").unwrap() as f64 - 1.0;
    let millis = |per_minute: f64| gaps * 60_000.0 / per_minute;
    assert!(rate > 0.0 && millis(rate) + 1.0 >= millis(promised), "times are in whole milliseconds: {pace}");
    assert!(count(pace, "requests").is_some_and(|n| n > 1 && n <= here.len() as u64), "{pace}");

    let served = served_by_the_first_host(&world, "/robots.txt");
    assert_eq!(host["robots"].as_str(), Some(served.as_str()), "the file in force");
    let by_rule = host["refused"].as_array().unwrap();
    let refused = by_rule.iter().find(|r| r["rule"] == "robots.txt: Disallow: /private/");
    let refused = refused.unwrap_or_else(|| panic!("{host}"));
    let pages = world.pages();
    let private = pages.keys().filter(|url| url.contains("//127.1.0.1:") && url.contains("/private/"));
    let private: Vec<_> = private.collect();
    assert_eq!(count(refused, "pages"), Some(private.len() as u64));
    assert!(count(refused, "pages") > Some(0));
    assert_eq!(refused["example"].as_str(), Some(private[0].as_str()));

    let text = succeeds(world.run(&["status", "--host", "127.1.0.1"]));
    assert!(text.contains(" requests per minute: ") && text.contains("the delay allowed "), "{text}");
    assert!(text.contains("in force:") && text.contains("known pages: robots.txt: Disallow: /private/"));
    assert!(served.lines().take(20).all(|line| text.contains(line)), "{text}");
    let explained = succeeds(world.run(&["explain", private[0]]));
    assert!(explained.contains("forbidden by `Disallow: /private/`"), "{explained}");
}

#[test]
fn hosts_that_share_an_address_are_paced_by_name_and_by_address() {
    let world = World::new(named_web(24, 4, 1), "");
    let settings = "[politeness]\ndelay_per_host = \"50 ms\"\ndelay_per_ip = \"100 ms\"\n\
                    [scope]\nhosts = [\"*.mock.test\"]\n";
    world.configure(&format!("{settings}{}", overrides(&world)));
    let begun = Instant::now();
    let report = world.crawl(2).pop().unwrap();
    let took = begun.elapsed();
    assert!(count(&report, "fetched") > Some(4), "{report}");
    was_polite(&world, Duration::from_millis(50));
    // Requests to several hosts are under way at once, and may come late to the web: two gaps may differ from those
    // between departures, but not their sum.
    let addresses = world.server.violations(DELAY).addresses;
    let requests: u32 = addresses.iter().map(|address| address.requests as u32).sum();
    assert_eq!(addresses.len(), 1, "{addresses:?}");
    assert!(requests > 12 && took >= DELAY * requests, "{requests} requests in {took:?}");
    assert_eq!(world.server.violations(DELAY).hosts.len(), 4);
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let world = World::new(named_web(24, 3, 3), "");
    let none = "[fetch]\nallow_addresses = []\n";
    // As literals in several spellings, and as names that lead there.
    let port = world.server.port();
    let literals = ["127.1.0.1", "127.1.2", "0x7f.1.0.3", "[::ffff:127.1.0.1]"];
    let mut seeds: Vec<String> = literals.iter().map(|l| format!("http://{l}:{port}/")).collect();
    seeds.extend(world.server.seeds());
    world.seeds(&seeds);
    world.configure(&format!("{none}{}", overrides(&world)));
    let report = world.fruitless_cycle();
    assert_eq!(count(&report, "refused"), Some(7), "{report}");
    assert_eq!(count(&report, "fetched"), Some(0), "{report}");
    assert_eq!(world.server.log(0).unwrap(), [], "nothing was asked");
    assert!(world.server.violations(DELAY).addresses.is_empty(), "not even a connection was made");
    let pages = world.pages();
    assert_eq!(pages.len(), 7);
    assert!(pages.values().all(|p| p["n"].is_null() && p["status"] == "live"));
}

#[test]
fn an_allowed_host_cannot_lead_to_a_refused_one() {
    let world = World::new(web(40, 3), "");
    let port = world.server.port();
    let settings = "[fetch]\nallow_addresses = [\"127.1.0.1\"]\n[scope]\nhosts = [\"*\"]\n";
    world.configure(&format!("{settings}[dns.overrides]\n\"inside.test\" = \"127.1.0.3\"\n"));
    world.seeds(&world.server.seeds()[..1]);
    let lone: Vec<u32> =
        world.lone_pages().into_iter().filter(|p| world.server.url(*p).contains("//127.1.0.1:")).collect();
    let targets = [
        format!("http://127.1.0.2:{port}/private/open-by-literal"),
        format!("http://0x7f010002:{port}/private/open-by-number"),
        format!("http://[::ffff:7f01:2]:{port}/private/open-by-mapped-address"),
        format!("http://inside.test:{port}/private/open-by-name"),
    ];
    assert!(lone.len() >= targets.len());
    let faults =
        lone.iter().zip(&targets).map(|(p, target)| world.fault_on(*p, &format!("redirect:{target}")));
    world.server.set_faults(faults.collect());
    let reports = world.crawl(6);
    let sum = |name| reports.iter().filter_map(|r| count(r, name)).sum::<u64>();
    assert!(sum("redirected") >= targets.len() as u64 && sum("refused") > targets.len() as u64);
    let asked: BTreeSet<_> = world.server.log(0).unwrap().iter().map(|a| a.host_id).collect();
    assert_eq!(asked, BTreeSet::from([Some(0)]), "only the allowed host was asked");
    let pages = world.pages();
    for name in ["by-literal", "by-number", "by-mapped-address", "by-name"] {
        let found: Vec<_> = pages.iter().filter(|(url, _)| url.ends_with(name)).collect();
        assert_eq!(found.len(), 1, "{name} is known");
        assert!(found[0].1["n"].is_null() && count(found[0].1, "failures") > Some(0), "{found:?}");
    }
}

#[test]
fn no_proxy_is_taken_from_the_environment() {
    let world = World::new(web(20, 2), "");
    let mut command = world.crawl_command(2);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1/");
    }
    command.env_remove("no_proxy").env_remove("NO_PROXY");
    let reports = json_lines(&succeeds(command.output().unwrap()));
    assert_eq!(count(&reports[0], "fetched"), Some(2), "{reports:?}");
    assert_eq!(count(&reports[0], "failed"), Some(0), "{reports:?}");
}
