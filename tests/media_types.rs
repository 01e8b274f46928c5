//! `scope.types`: pages of other media types are left out, whatever their URLs, until the list has their type.

use crate::harness::{Pages, World, count, fails, json_lines, succeeds};
use recrawl_mockweb::procedural::{ProceduralConfig, SitemapFormat};
use recrawl_mockweb::{Config, WebConfig};
use serde_json::{Value, json};

const ALL: &str = "[cycle]\npages = \"100%\"\n[hints]\nguess = true\n";
const HTML: &str =
    "[cycle]\npages = \"100%\"\n[hints]\nguess = true\n[scope]\ntypes = [\"text/html\", \"image/*\"]\n";

/// A web with a sitemap in XML, and one that is packed and of no known type.
fn world(extra: &str) -> World {
    let procedural = ProceduralConfig {
        pages: 40,
        hosts: 2,
        seed: 7,
        page_bytes: 4_000,
        sitemaps: true,
        sitemap_formats: vec![SitemapFormat::Urlset, SitemapFormat::Hidden],
        ..ProceduralConfig::default()
    };
    World::new(Config::new(WebConfig::Procedural(procedural)), extra)
}

/// Some pages of the web become papers; their URLs.
fn papers(world: &World) -> Vec<String> {
    let pages: Vec<u32> = world.lone_pages().into_iter().filter(|page| *page > 2).take(3).collect();
    let relabelled = pages.iter().map(|page| world.fault_on(*page, "wishes:content-type: application/pdf"));
    world.server.set_faults(relabelled.collect());
    pages.iter().map(|page| world.server.url(*page)).collect()
}

/// Outcome and reason of the last visit of a page.
fn last_visit(world: &World, url: &str) -> [Value; 2] {
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let visit =
        visits.into_iter().rfind(|visit| visit["url"] == url).unwrap_or_else(|| panic!("{url} was visited"));
    ["outcome", "why"].map(|name| visit[name].clone())
}

/// The pages, once the papers are refused: the turn of their host may have let them in again.
fn checked_again(world: &World, papers: &[String]) -> Pages {
    for _ in 0..4 {
        let pages = world.pages();
        if papers.iter().all(|paper| pages[paper]["status"] == "refused") {
            return pages;
        }
        world.crawl(1);
    }
    panic!("{papers:?} are not refused");
}

#[test]
fn pages_of_other_media_types_are_left_out_until_they_are_in_scope() {
    let world = world(HTML);
    let papers = papers(&world);
    let reports = world.crawl(4);
    let left_out: u64 = reports.iter().filter_map(|report| count(report, "media_type")).sum();
    assert!(left_out >= papers.len() as u64, "{reports:?}");
    let pages = checked_again(&world, &papers);
    for paper in &papers {
        assert_eq!(pages[paper]["n"], Value::Null, "{paper}");
        assert_eq!(last_visit(&world, paper), [json!("skipped"), json!("media_type")]);
    }
    let kinds = |kind: &str| pages.values().filter(|page| page["kind"] == kind).count();
    assert_eq!((kinds("hints"), kinds("opaque")), (2, 0), "sitemaps of any type are read");
    let others = (0..world.server.info().pages).map(|page| world.server.url(page));
    for url in others.filter(|url| !papers.contains(url)) {
        assert!(pages[&url]["n"].is_u64(), "{url}: {}", pages[&url]);
    }

    // Those who ask are told.
    let tested = fails(world.run(&["page", "test", &papers[0]]), 2);
    assert!(tested.contains("its media type, application/pdf, is not in scope.types"), "{tested}");
    let explained = succeeds(world.run(&["explain", &papers[0]]));
    assert!(explained.contains("its media type was not in scope.types"), "{explained}");

    // Without the list they compete like any page.
    world.configure(ALL);
    world.crawl(3);
    let pages = world.pages();
    for paper in &papers {
        assert_eq!(
            (&pages[paper]["status"], &pages[paper]["kind"]),
            (&json!("live"), &json!("opaque")),
            "{paper}"
        );
    }
}

#[test]
fn a_list_that_comes_later_leaves_out_what_is_known_although_it_did_not_change() {
    let world = world(ALL);
    let papers = papers(&world);
    world.crawl(4);
    for paper in &papers {
        assert_eq!(last_visit(&world, paper)[0], "not_modified", "the server knows its pages");
    }
    world.configure(HTML);
    world.crawl(1);
    let pages = world.pages();
    for paper in &papers {
        assert_eq!(last_visit(&world, paper), [json!("skipped"), json!("media_type")]);
        assert_eq!(pages[paper]["status"], "refused");
        assert!(pages[paper]["n"].as_u64() > Some(0), "its history stays");
    }
    world.configure("[scope]\ntypes = [\"pdf\"]\n");
    let told = fails(world.run(&["crawl", "--cycles", "1"]), 2);
    assert!(told.contains("scope.types: \"pdf\" is not a media type; write text/html or text/*"), "{told}");
}
