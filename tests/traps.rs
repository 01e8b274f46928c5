//! Addresses without end: cut off within a bounded number of visits, and nobody else pays for it.

use crate::harness::{World, count, fails, succeeds, web};
use recrawl_mockweb::{Config, ExternalLinks, RecordingSource, ReplayConfig, WebConfig};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The traps of the mock web, each at its entry on the first host.
const TRAPS: [(&str, &str); 6] = [
    ("/cal", "calendar"),
    ("/visit", "session"),
    ("/basket", "session:query"),
    ("/shop", "facets"),
    ("/farm", "farm"),
    ("/deep/", "spiral"),
];
/// Verdicts early, and spirals left to them.
const SETTINGS: &str = "[traps]\nmin_pages = 20\n[scope]\nmax_repeats = 60\nmax_segments = 60\n";
/// No trap may cost more addresses than this in [`CYCLES`]: up to its verdict, and probes.
const MOST: usize = 200;
const CYCLES: u32 = 10;

fn trapped_world(traps: &[(&str, &str)], settings: &str) -> World {
    let world = World::new(web(80, 2), settings);
    let rules = traps.iter().map(|(prefix, kind)| format!("1{prefix}={kind}").parse().unwrap());
    world.server.set_faults(rules.collect());
    let home = world.server.seeds().remove(0);
    let entries = traps.iter().map(|(prefix, _)| format!("{home}{}", &prefix[1..]));
    world.seeds(&[world.server.seeds(), entries.collect()].concat());
    world
}

/// Addresses that were asked for below a trap's entry.
fn asked(world: &World, prefix: &str) -> usize {
    let log = world.server.log(0).unwrap();
    let below = log.iter().filter(|access| access.host_id == Some(0) && access.path.starts_with(prefix));
    below.map(|access| &access.path).collect::<BTreeSet<_>>().len()
}

/// The same for all traps.
fn asked_of_all(world: &World) -> usize {
    TRAPS.iter().map(|(prefix, _)| asked(world, prefix)).sum()
}

fn explain(world: &World, url: &str) -> Value {
    serde_json::from_str(&succeeds(world.run(&["explain", url, "--json"]))).expect("explain speaks JSON")
}

#[test]
fn traps_are_cut_off_and_every_honest_page_is_fetched() {
    let world = trapped_world(&TRAPS, SETTINGS);
    let reports = world.crawl(CYCLES);
    let sum = |name: &str| reports.iter().filter_map(|report| count(report, name)).sum::<u64>();
    for (prefix, kind) in TRAPS {
        let count = asked(&world, prefix);
        assert!((20..=MOST).contains(&count), "{kind}: {count} addresses");
    }
    let given = world.given_out();
    for page in 0..world.server.info().pages {
        assert!(given.contains_key(&world.server.url(page)), "{} was not fetched", world.server.url(page));
    }
    assert!(sum("links_trapped") > 1000 && sum("trapped") > 50, "{reports:?}");
    assert_eq!(sum("links_filtered"), 0);

    // The patterns are shown, and the honest ones are not among them.
    let home = world.server.seeds().remove(0);
    let status = succeeds(world.run(&["status", "--json", "--host", home.trim_end_matches('/')]));
    let status: Value = serde_json::from_str(&status).unwrap();
    let cut: BTreeSet<&str> =
        status[0]["traps"].as_array().unwrap().iter().map(|trap| trap["pattern"].as_str().unwrap()).collect();
    let expected =
        ["/cal/#/#", "/visit/{id}/item", "/basket/item?visit", "/shop/list?*", "/farm/*", "/deep/**"];
    assert_eq!(cut, expected.into());

    // A known address that was never fetched says why, and so does one that is not known.
    world.seeds(&["one", "two", "three"].map(|word| format!("{home}farm/{word}")));
    world.next_cycle();
    let pages = world.pages();
    let skipped = pages.iter().find(|(url, page)| url.contains("/farm/") && page["n"].is_null());
    let why = explain(&world, skipped.expect("at most one in 64 was fetched").0);
    assert_eq!(why["stopped_by"][0]["gate"], "trap", "{why}");
    assert!(why["would_be_fetched_if"][0].as_str().unwrap().contains("traps.allow_hosts"), "{why}");
    let verdict = why["visited_next"].as_str().unwrap();
    assert!(verdict.contains("trap pattern /farm/* is cut off since cycle"), "{verdict}");
    assert_eq!((&why["trap"]["pattern"], &why["trap"]["probe"]), (&"/farm/*".into(), &false.into()));
    let unknown: Vec<String> =
        (1..=3).map(|month| fails(world.run(&["explain", &format!("{home}cal/7777/{month}")]), 1)).collect();
    assert!(unknown.iter().any(|why| why.contains("trap pattern /cal/#/# is cut off")), "{unknown:?}");
    let text = succeeds(world.run(&["explain", skipped.unwrap().0]));
    assert!(text.contains("1 in 64 of its URLs is still visited"), "{text}");

    // Other runs of the program know it too.
    let before = asked_of_all(&world);
    for _ in 0..3 {
        world.next_cycle();
    }
    let probes = asked_of_all(&world) - before;
    assert!(probes < 20 * TRAPS.len(), "{before} addresses, and {probes} more");
    let after = world.pages();
    assert!(after.len() < pages.len() + 20 * TRAPS.len(), "{} pages became {}", pages.len(), after.len());
    let violations = world.server.violations(Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0));
    world.is_sound();
}

/// The entry of a flood has 60 links, which have 60 each.
const FLOOD: [(&str, &str); 1] = [("/0", "flood:60")];
/// The most pages that can be asked for and not yet be logged: a request under way to each host, two queues of 32,
/// and a batch of 8 in the hands of each worker and of the recorder.
fn most_in_flight() -> usize {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)).max(1);
    2 + 2 * 32 + 8 * (workers + 1)
}

/// Links that sort before all others: told by the hundredth page, within the cycle that meets them, and its links do not
/// become known.
#[test]
fn a_flood_costs_what_a_verdict_needs_and_no_more() {
    const PROBES: usize = 32;
    let world = trapped_world(&FLOOD, "");
    let mut costs = Vec::new();
    for _ in 1..=6 {
        let before = asked(&world, "/0");
        world.next_cycle();
        costs.push(asked(&world, "/0") - before);
    }
    let known = world.pages().keys().filter(|url| url.contains("/0/bl/")).count();
    println!("{costs:?} requests, {known} known");
    assert_eq!(costs[..2], [1, 60], "{costs:?}");
    // Of its 3,600 addresses that are known.
    assert!((39..=39 + PROBES + most_in_flight()).contains(&costs[2]), "{costs:?}");
    assert!(costs[3..].iter().all(|cost| *cost <= PROBES + most_in_flight()), "{costs:?}");
    assert!(known <= 60 + 3_600 + 4 * PROBES, "{known}");
    let held = world.server.held().all;
    assert_eq!(held.held, held.total, "every honest page");
    world.is_sound();
}

/// Its links sort before all others, and would take all places of the host before the verdict.
#[test]
fn a_flood_leaves_places_of_its_host_to_honest_pages() {
    let world = trapped_world(&FLOOD, "[scope]\nmax_pages_per_host = 300\n");
    for _ in 1..=8 {
        world.next_cycle();
    }
    let held = world.server.held().all;
    assert_eq!(held.held, held.total, "every honest page");
    let host = world.server.seeds().remove(0);
    let pages = world.pages();
    let known = pages.keys().filter(|url| url.starts_with(&host)).count();
    assert!(known <= 4 * 300, "with what a trap gave back: {known}");
    world.is_sound();
}

/// What the log of a cycle told before a kill, it tells after it.
#[test]
fn a_cycle_that_is_resumed_tells_a_trap_as_early() {
    let world = trapped_world(&FLOOD, "[traps]\nmin_pages = 600\n");
    world.next_cycle();
    world.next_cycle();
    world.server.advance().unwrap();
    let mut child = world.spawn_crawl(1);
    // Of 600 pages 61 came in the cycles before.
    while asked(&world, "/0") < 61 + 400 + most_in_flight() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = asked(&world, "/0");
    world.crawl(1);
    let after = asked(&world, "/0");
    println!("{before} requests before the kill, {after} in all");
    // Were it to begin anew, it would need 539 more.
    assert!(after <= 600 + 32 + 2 * most_in_flight(), "{before} and then {after}");
    assert!(after >= 600, "{after}");
    world.is_sound();
}

/// Pages of one making and texts of their own, made up and recorded: nothing of them is cut off, however early
/// the verdict.
#[test]
fn honest_webs_lose_nothing() {
    let recorded = ReplayConfig {
        sources: vec![RecordingSource::Bundled],
        hosts: 2,
        external_links: ExternalLinks::Drop,
    };
    for web in [web(600, 2), Config::new(WebConfig::Replay(recorded))] {
        let world = World::new(web, "[traps]\nmin_pages = 10\n");
        let reports = world.crawl(8);
        let sum = |name: &str| reports.iter().filter_map(|report| count(report, name)).sum::<u64>();
        assert!(sum("first_visits") > 300, "{reports:?}");
        let held = world.server.held().all;
        assert_eq!(held.held, held.total, "every page");
        assert_eq!(sum("links_filtered"), 0);
        // Beside its pages the made-up web has notes that all say the same. They may be cut off, and nothing else.
        let cut = world.server.seeds().into_iter().flat_map(|seed| {
            let status = succeeds(world.run(&["status", "--json", "--host", seed.trim_end_matches('/')]));
            let status: Value = serde_json::from_str(&status).unwrap();
            status[0]["traps"].as_array().unwrap().clone()
        });
        let cut: BTreeSet<String> = cut.map(|trap| trap["pattern"].as_str().unwrap().to_owned()).collect();
        assert!(cut.is_subset(&["/private/open-n#".to_owned()].into()), "{cut:?}");
        if cut.is_empty() {
            assert_eq!((sum("links_trapped"), sum("trapped")), (0, 0));
        }
    }
}

#[test]
fn a_host_that_is_allowed_is_not_cut_off() {
    let settings = "[traps]\nmin_pages = 20\nallow_hosts = [\"127.1.0.1\"]\n";
    let world = trapped_world(&[("/farm", "farm")], settings);
    let reports = world.crawl(4);
    let links_trapped = reports.iter().filter_map(|report| count(report, "links_trapped")).sum::<u64>();
    assert_eq!(links_trapped, 0);
    assert_eq!(asked(&world, "/farm"), 1 + 6 + 36 + 216, "six links a page, all followed");
}

/// The same segments again and again, too many of them, too many parameters: no evidence is needed.
#[test]
fn addresses_of_a_shape_that_is_refused_are_not_recorded_and_explained() {
    let settings = "[traps]\nenabled = false\n[scope]\nmax_repeats = 2\nmax_parameters = 2\n";
    let world = trapped_world(&[("/deep/", "spiral"), ("/shop", "facets")], settings);
    let reports = world.crawl(6);
    let filtered = reports.iter().filter_map(|report| count(report, "links_filtered")).sum::<u64>();
    // Paths with at most two lefts and two rights.
    assert_eq!(asked(&world, "/deep/"), 19);
    assert!(filtered > 20, "{filtered}");
    assert!(world.pages().keys().all(|url| url.matches('=').count() <= 2));
    let home = world.server.seeds().remove(0);
    for (path, rule) in [
        ("deep/left/left/left/", "scope.max_repeats is 2, the URL has 3"),
        ("shop/list?a=1&b=2&c=3", "scope.max_parameters is 2, the URL has 3"),
    ] {
        let why = fails(world.run(&["explain", &format!("{home}{path}")]), 1);
        assert!(why.contains(rule), "{why}");
    }
}

/// A directory keeps its rules of URLs, but an earlier default becomes today's.
#[test]
fn earlier_defaults_of_dropped_parameters_go_on_as_todays() {
    for rules in recrawl_types::UrlRules::earlier_defaults() {
        let world = World::new(web(3, 1), "");
        world.configure(&format!("[urls]\ndrop_parameters = {:?}", rules.drop_parameters));
        let page = format!("{}?t=5;sid=0123456789abcdef", world.server.seeds()[0]);
        succeeds(world.crawl_command(1).args(["--seed", &page]).output().unwrap());
        world.configure("");
        world.crawl(1);
        // A page that is known by a URL of then is found by it.
        for command in [&["explain", &page][..], &["takedown", "--dry-run", "--page", &page]] {
            let told = succeeds(world.run(command));
            assert!(told.contains(&page) && !told.contains("no page of it"), "{command:?}: {told}");
        }
        let why = world.run(&["show", &page]);
        assert!(!String::from_utf8_lossy(&why.stderr).contains("unknown"), "{why:?}");
        world.configure("[urls]\ndrop_parameters = [\"sid\"]");
        let line = fails(world.crawl_command(1).output().unwrap(), 2);
        assert!(line.contains("urls.drop_parameters differs from the value"), "{line}");
    }
}
