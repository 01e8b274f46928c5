//! Sitemaps and feeds: every format found, hostile ones survived, dates believed as far as they deserve.

use crate::harness::{World, count, succeeds};
use recrawl_mockweb::procedural::{LastmodMode, ProceduralConfig, SitemapFormat};
use recrawl_mockweb::{Config, WebConfig};
use serde_json::Value;
use std::time::Duration;

/// A web with sitemaps, a host for each format.
fn web(pages: u32, formats: &[SitemapFormat], lastmod: LastmodMode) -> Config {
    let procedural = ProceduralConfig {
        pages,
        hosts: formats.len() as u32,
        seed: 7,
        page_bytes: 4_000,
        skew: 0.0,
        sitemaps: true,
        sitemap_formats: formats.to_vec(),
        lastmod,
        ..ProceduralConfig::default()
    };
    Config::new(WebConfig::Procedural(procedural))
}

/// Begins at pages that link to nothing, one on each host.
fn at_dead_ends(world: &World) {
    let ends: Vec<String> =
        world.server.seeds().iter().map(|home| format!("{home}private/open-end")).collect();
    world.seeds(&ends);
}

fn urls(world: &World) -> Vec<String> {
    (0..world.server.info().pages).map(|page| world.server.url(page)).collect()
}

fn nobody_was_harmed(world: &World) {
    let violations = world.server.violations(Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0));
}

/// How far the dates of the first host are trusted, as `status` says it.
fn lastmod(world: &World) -> Value {
    let home = world.server.seeds().remove(0);
    let host = succeeds(world.run(&["status", "--json", "--host", home.trim_end_matches('/')]));
    serde_json::from_str::<Value>(&host).expect("status speaks JSON")[0]["lastmod"].clone()
}

/// From robots.txt to the sitemap, from there to the pages: two cycles, and no page had to be visited for it.
#[test]
fn every_format_that_robots_txt_names_is_found_and_read() {
    let formats = [
        SitemapFormat::Urlset,
        SitemapFormat::Gzip,
        SitemapFormat::Text,
        SitemapFormat::Rss,
        SitemapFormat::Atom,
        SitemapFormat::Hidden,
    ];
    let world = World::new(web(60, &formats, LastmodMode::True), "[hints]\nguess = true\n");
    at_dead_ends(&world);
    world.crawl(2);
    let pages = world.pages();
    for url in urls(&world) {
        let page = pages.get(&url).unwrap_or_else(|| panic!("{url} is not known"));
        assert_eq!((count(page, "depth"), &page["n"]), (Some(1), &Value::Null), "{url}");
    }
    let hints: Vec<&String> =
        pages.iter().filter(|(_, p)| p["kind"] == "hints").map(|(url, _)| url).collect();
    assert_eq!(hints.len(), formats.len(), "{hints:?}");
    let dated = pages.values().filter(|p| !p["lastmod"].is_null()).count();
    assert_eq!(dated, 50, "all but those of the plain text");
    // They are pages like any other: visited again, compared, and asked for conditionally where that can be.
    world.next_cycle();
    let again = world.pages();
    assert!(hints.iter().all(|url| count(&again[*url], "n") == Some(1)), "{again:?}");
    nobody_was_harmed(&world);
    world.is_sound();
}

#[test]
fn indexes_lead_to_indexes_as_often_as_the_configuration_says() {
    for (nesting, known) in [(3, true), (1, false)] {
        let formats = [SitemapFormat::Index];
        let settings = format!("[hints]\nmax_nesting = {nesting}\n");
        let world = World::new(web(30, &formats, LastmodMode::True), &settings);
        at_dead_ends(&world);
        world.crawl(4);
        let pages = world.pages();
        let are_known = urls(&world).iter().filter(|url| pages.contains_key(*url)).count();
        assert_eq!(are_known, if known { 30 } else { 0 }, "max_nesting = {nesting}");
    }
}

#[test]
fn feeds_are_found_by_the_pages_that_name_them() {
    let world = World::new(web(20, &[SitemapFormat::Feed], LastmodMode::True), "");
    world.crawl(2);
    let feed = format!("{}feed.rss", world.server.seeds()[0]);
    assert_eq!(world.pages()[&feed]["kind"], "hints");
    let world = World::new(web(20, &[SitemapFormat::Feed], LastmodMode::True), "[hints]\nfeeds = false\n");
    world.crawl(2);
    let feed = format!("{}feed.rss", world.server.seeds()[0]);
    assert!(!world.pages().contains_key(&feed));
    assert_eq!(world.asked(&feed), 0);
}

#[test]
fn switched_off_they_are_not_asked_for() {
    let world =
        World::new(web(20, &[SitemapFormat::Urlset], LastmodMode::True), "[hints]\nsitemaps = false\n");
    at_dead_ends(&world);
    world.crawl(3);
    assert_eq!(world.pages().len(), 1);
    assert_eq!(world.asked(&format!("{}sitemap.xml", world.server.seeds()[0])), 0);
}

/// Ten cycles in which everything is visited; then the score chooses the sitemap, and what it announces has its
/// share.
#[test]
fn honest_dates_are_acted_upon_and_lies_are_found_out() {
    let every = "[cycle]\npages = \"100%\"\n";
    let few = "[cycle]\npages = 10\nannounced_share = 0.5\n[schedule]\nformula = \"X\"\n";
    for (dates, is_honest) in
        [(LastmodMode::True, true), (LastmodMode::Today, false), (LastmodMode::Never, false)]
    {
        let world = World::new(web(80, &[SitemapFormat::Urlset], dates), every);
        for _ in 0..10 {
            world.next_cycle();
        }
        let told = lastmod(&world);
        let trust = told["trust"].as_f64().unwrap();
        assert_eq!(told["trusted"], is_honest, "{dates:?}: {told}");
        assert_eq!(trust > 0.8, is_honest, "{dates:?}: {told}");
        assert!(told["newer_unchanged"] == 0 || dates == LastmodMode::Today, "{told}");
        assert!(told["same_changed"] == 0 || dates == LastmodMode::Never, "{told}");
        world.configure(few);
        let reports: Vec<Value> = (0..6).map(|_| world.next_cycle()).collect();
        let sum = |name: &str| reports.iter().map(|r| count(r, name).unwrap()).sum::<u64>();
        if is_honest {
            assert!(sum("announced_visits") > 3, "{reports:?}");
            assert_eq!(sum("announced_visits"), sum("announced_changed"), "a change at every visit");
            let announced = world.pages().into_iter().find(|(_, page)| page["announced"] == true);
            let (url, _) = announced.expect("more is announced than has room");
            let told = succeeds(world.run(&["explain", &url]));
            assert!(told.contains("newer than at the last visit; trust 0.9"), "{told}");
            assert!(told.contains("a trusted date says that it changed"), "{told}");
            assert!(lastmod(&world)["trust"].as_f64().unwrap() >= trust - 0.1, "and so they stay");
        } else {
            assert_eq!(sum("announced_visits"), 0, "{dates:?}: {reports:?}");
        }
    }
}

/// Each shape on a host of its own, and a sound host beside them.
#[test]
fn hostile_sitemaps_cost_bounded_requests_and_nobody_else_anything() {
    let shapes = ["loop", "deep", "wide", "huge", "laughs", "cut", "elsewhere"];
    let formats = [SitemapFormat::Urlset; 8];
    let settings =
        "[cycle]\ndiscovery_min = 400\n[hints]\nmax_entries = 300\n[fetch]\nmax_body = \"8 MiB\"\n";
    let world = World::new(web(80, &formats, LastmodMode::True), settings);
    at_dead_ends(&world);
    let faults = shapes
        .iter()
        .enumerate()
        .map(|(host, shape)| format!("{}/sitemap.xml=sitemap:{shape}", host + 1).parse().unwrap());
    world.server.set_faults(faults.collect());
    world.crawl(5);
    let log = world.server.log(0).expect("the log is in memory");
    for (host, shape) in (0..).zip(shapes) {
        let of_host = || log.iter().filter(|access| access.host_id == Some(host));
        let (requests, bytes) = (of_host().count(), of_host().map(|access| access.bytes).sum::<u64>());
        // Of each of five cycles: as many requests as entries of a sitemap, and one body of the largest size.
        assert!(requests <= 5 * 300 && bytes <= 5 * (8 << 20), "{shape}: {requests} requests, {bytes} bytes");
    }
    let pages = world.pages();
    let homes = world.server.seeds();
    let of = |host: usize, part: &str| {
        pages.keys().filter(|url| url.starts_with(&homes[host]) && url.contains(part)).count()
    };
    assert_eq!(of(0, "sitemap"), 1, "an index of itself");
    assert!((4..=10).contains(&of(1, "level=")), "{} of an endless tree", of(1, "level="));
    assert_eq!(of(1, "level=4"), 0, "no deeper than allowed");
    assert_eq!(of(2, "sitemap-"), 300);
    assert_eq!(of(3, "listed/"), 300);
    assert_eq!(of(4, "l19") + of(4, "haha"), 0, "no entity is expanded, and none is an address");
    assert_eq!((of(5, "open-a"), of(5, "open-b")), (1, 0), "what stands before the cut");
    assert!(pages.keys().all(|url| homes.iter().any(|home| url.starts_with(home.as_str()))));
    let sound: Vec<String> = urls(&world).into_iter().filter(|url| url.starts_with(&homes[7])).collect();
    assert!(
        !sound.is_empty() && sound.iter().all(|url| !pages[url]["n"].is_null()),
        "the sound host is known"
    );
    nobody_was_harmed(&world);
    world.is_sound();
}
