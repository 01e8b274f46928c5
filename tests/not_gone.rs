//! Not looked at is never gone: what a failed or skipped visit leaves alone.

use crate::harness::{Pages, World, count, web};
use recrawl_mockweb::Validators;
use serde_json::Value;

/// Every page is visited in every cycle, as far as it is due.
const ALL: &str = "[cycle]\npages = \"100%\"\n[politeness]\nhost_failures = 1000\n";
const TIMEOUT: &str = "[fetch]\ntimeout = \"3 s\"\n";

/// A web all of whose pages are known and past their warm-up.
fn known_web(pages: u32, hosts: u32, settings: &str) -> World {
    let mut config = web(pages, hosts);
    config.validators = Validators::None;
    let world = World::new(config, settings);
    world.warm_up();
    world
}

/// Everything about a page but when it was tried and how often that failed.
fn memory_of(page: &Value) -> Value {
    let mut page = page.clone();
    for name in ["last_attempt", "failures", "not_found"] {
        page.as_object_mut().expect("a record").remove(name);
    }
    page
}

fn urls(pages: &Pages) -> Vec<&String> {
    pages.keys().collect()
}

#[test]
fn a_failed_visit_leaves_the_record_alone_and_backs_off() {
    let world = known_web(60, 3, &format!("{ALL}{TIMEOUT}"));
    let kinds = [
        "timeout",
        "reset",
        "reset:100",
        "truncated",
        "status:500",
        "status:503",
        "status:403",
        "busy:0",
        "status:404",
        "status:410",
        "redirect:ftp://x/",
    ];
    let lone = world.lone_pages();
    assert!(lone.len() > kinds.len(), "pages to break");
    let broken: Vec<(String, &str)> =
        lone.iter().zip(kinds).map(|(p, kind)| (world.server.url(*p), kind)).collect();
    let before = world.pages();
    world.server.set_faults(lone.iter().zip(kinds).map(|(p, kind)| world.fault_on(*p, kind)).collect());
    world.server.reset_log().unwrap();
    let start = count(&world.status(), "generation").unwrap();
    let report = world.next_cycle();
    assert_eq!(count(&report, "failed"), Some(kinds.len() as u64 - 2), "{report}");
    assert_eq!(count(&report, "not_found"), Some(2), "{report}");
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after), "no page is lost");
    for (url, page) in &after {
        match broken.iter().find(|(broken, _)| broken == url) {
            Some((_, kind)) => {
                assert_eq!(memory_of(page), memory_of(&before[url]), "{kind}");
                assert_eq!(count(page, "failures"), Some(1), "{kind}");
                assert_eq!(count(page, "last_attempt"), Some(start + 1), "{kind}");
            }
            None if page["n"].is_null() => assert_eq!(memory_of(page), memory_of(&before[url])),
            None => assert_eq!(count(page, "n"), count(&before[url], "n").map(|n| n + 1), "{url}"),
        }
    }

    // Tried in cycles 1, 2, 4, 8 of the fault, and in no other.
    for _ in 2..=9 {
        world.next_cycle();
    }
    let mocked: Vec<u32> = (1..=9).map(|c| world.server.clock() - 9 + c).collect();
    for (url, kind) in &broken {
        let log = world.server.log(0).unwrap();
        let tried = log.iter().filter(|a| format!("http://{}{}", a.host, a.path) == *url).map(|a| a.cycle);
        let mut tried: Vec<_> = tried.collect();
        // A kept connection that is closed without an answer is told from a failure by a second request.
        if kind.starts_with("reset") {
            tried.dedup();
        }
        assert_eq!(tried, [0, 1, 3, 7].map(|i| mocked[i]), "{kind}");
    }
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after));
    for (url, kind) in &broken {
        assert_eq!(memory_of(&after[url]), memory_of(&before[url]), "{kind}");
        assert_eq!(
            (count(&after[url], "failures"), &after[url]["status"]),
            (Some(4), &"live".into()),
            "{kind}"
        );
        let confirmed = u64::from(matches!(*kind, "status:404" | "status:410"));
        assert_eq!(count(&after[url], "not_found"), Some(confirmed), "seconds apart count as one: {kind}");
    }

    // The fault ends: eight cycles after the last attempt they are back as if nothing had been.
    world.server.set_faults(Vec::new());
    for _ in 10..=16 {
        world.next_cycle();
    }
    let after = world.pages();
    for (url, kind) in &broken {
        let page = &after[url];
        assert_eq!((count(page, "failures"), count(page, "not_found")), (Some(0), Some(0)), "{kind}");
        assert_eq!(count(page, "n"), count(&before[url], "n").map(|n| n + 1), "{kind}");
        assert_eq!(count(page, "last"), Some(start + 16), "{kind}");
    }
    world.is_sound();
}

#[test]
fn what_the_deadline_leaves_out_stays_as_it_is_and_is_visited_next() {
    let world = known_web(60, 3, ALL);
    let before = world.pages();
    world.configure(&ALL.replace("[cycle]", "[cycle]\ndeadline = \"1 ms\""));
    let report = world.next_cycle();
    assert_eq!(report["stopped_by"], "deadline");
    assert!(count(&report, "skipped") > Some(0), "{report}");
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after));
    for (url, page) in &after {
        if count(page, "n") != count(&before[url], "n").map(|n| n + 1) {
            assert_eq!(page, &before[url], "{url}");
        }
    }
    world.configure(ALL);
    let cycle = count(&world.next_cycle(), "cycle");
    for (url, page) in world.pages() {
        assert!(page["n"].is_null() || count(&page, "last") == cycle, "{url}: {page}");
    }
}

#[test]
fn a_host_that_is_down_costs_a_few_requests_and_no_record() {
    let world = known_web(60, 3, "[cycle]\npages = \"100%\"\n[politeness]\nhost_failures = 3\n");
    let before = world.pages();
    world.server.set_faults(vec!["1/=reset".parse().unwrap()]);
    world.server.reset_log().unwrap();
    let report = world.next_cycle();
    assert_eq!(count(&report, "failed"), Some(3), "{report}");
    assert!(count(&report, "skipped") > Some(5), "{report}");
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after));
    let down = &world.server.seeds()[0];
    for (url, page) in after.iter().filter(|(url, _)| url.starts_with(down.as_str())) {
        assert_eq!(memory_of(page), memory_of(&before[url]), "{url}");
        let was_tried = count(page, "failures") > count(&before[url], "failures");
        assert!(was_tried || page == &before[url], "a page that was skipped is untouched: {url}");
    }
    let asked = world.server.log(0).unwrap().iter().filter(|a| a.host_id == Some(0)).count();
    assert_eq!(asked, 3);
}

#[test]
fn a_robots_txt_that_cannot_be_had_or_forbids_loses_nothing() {
    let settings = format!("{ALL}robots_cache = \"1 ms\"\n");
    let mut config = web(60, 3);
    config.validators = Validators::None;
    // Without a robots.txt all is allowed: pages are visited that it will forbid later.
    config.faults = vec!["1/robots.txt=status:404".parse().unwrap()];
    let world = World::new(config, &settings);
    world.warm_up();
    let before = world.pages();
    let (first, second) = (&world.server.seeds()[0], &world.server.seeds()[1]);
    let below = ["private/n", "cgi-bin/", "drafts/", "tmp/", "search?"];
    let is_forbidden =
        |url: &str| url.strip_prefix(first).is_some_and(|p| below.iter().any(|b| p.starts_with(b)));
    let forbidden: Vec<&String> = before.keys().filter(|url| is_forbidden(url)).collect();
    assert!(
        !forbidden.is_empty() && forbidden.iter().all(|url| !before[*url]["n"].is_null()),
        "{forbidden:?}"
    );

    world.server.set_faults(vec!["2/robots.txt=status:503".parse().unwrap()]);
    world.server.reset_log().unwrap();
    let report = world.next_cycle();
    assert!(count(&report, "robots_unreachable") > Some(10), "{report}");
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after));
    for (url, page) in &after {
        let is_unreachable = url.starts_with(second.as_str()) && !before[url]["n"].is_null();
        if forbidden.contains(&url) || is_unreachable {
            let status = if is_unreachable { "live" } else { "refused" };
            let mut memory = memory_of(&before[url]);
            memory["status"] = status.into();
            assert_eq!(memory_of(page), memory, "{url}");
            // A page that a rule keeps out was not tried.
            assert_eq!(count(page, "failures"), Some(is_unreachable.into()), "{url}");
            assert_eq!(world.asked(url), 0, "{url}");
        } else if !page["n"].is_null() {
            assert_eq!(count(page, "n"), count(&before[url], "n").map(|n| n + 1), "{url}");
        }
    }
    // robots.txt allows it again: one cycle reads it, one lets the page in, one visits it.
    world.server.set_faults(vec!["1/robots.txt=status:404".parse().unwrap()]);
    for _ in 0..3 {
        world.next_cycle();
    }
    let back = world.pages();
    for url in forbidden {
        assert_eq!(count(&back[url], "failures"), Some(0), "{url}");
        assert!(count(&back[url], "n") > count(&before[url], "n"), "{url}");
    }
}

#[test]
fn a_304_keeps_links_and_content() {
    let mut config = web(60, 3);
    config.validators = Validators::Lying;
    let world = World::new(config, ALL);
    world.warm_up();
    let before = world.pages();
    for _ in 0..3 {
        let report = world.next_cycle();
        assert!(count(&report, "not_modified") > Some(50), "{report}");
    }
    let after = world.pages();
    assert_eq!(urls(&before), urls(&after));
    for (url, page) in before.iter().filter(|(_, page)| !page["n"].is_null()) {
        let now = &after[url];
        assert_eq!(count(now, "n"), count(page, "n").map(|n| n + 3), "{url}");
        for name in ["X", "digest", "simhash", "etag", "warc_file", "warc_offset", "in_links", "depth"] {
            assert_eq!(now[name], page[name], "{name} of {url}");
        }
    }
}
