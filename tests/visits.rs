//! Kept visits: what is exported rebuilds the counters of every page.

use crate::harness::{World, count, fails, json_lines, succeeds, web};
use recrawl_mockweb::Validators;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn exported(world: &World) -> Vec<Value> {
    json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])))
}

#[test]
fn the_visits_rebuild_the_history_of_every_page() {
    let mut config = web(120, 3);
    config.validators = Validators::Strong;
    let world = World::new(config, "[cycle]\npages = \"30%\"\naudit_share = 0.3\n");
    let lone = world.lone_pages();
    world.server.set_faults(vec![
        world.fault_on(lone[0], "redirect:/private/open-target"),
        world.fault_on(lone[1], "status:404"),
        world.fault_on(lone[2], "status:500"),
    ]);
    world.warm_up();
    (0..6).for_each(|_| drop(world.next_cycle()));

    let visits = rebuild_the_pages(&world);
    let outcomes: BTreeSet<_> = visits.iter().map(|v| v["outcome"].as_str().unwrap()).collect();
    for outcome in ["fetched", "not_modified", "redirected", "not_found", "failed"] {
        assert!(outcomes.contains(outcome), "no visit was {outcome}: {outcomes:?}");
    }
    let shares: BTreeSet<_> = visits.iter().map(|v| v["share"].as_str().unwrap()).collect();
    assert_eq!(shares, BTreeSet::from(["audit", "discovery", "followed", "score", "warmup"]));
    assert!(visits.iter().any(|v| v["changed"] == true) && visits.iter().any(|v| v["changed"] == false));
    world.is_sound();
}

/// The exported visits, each page at most once a cycle, which rebuild the counters of every page.
pub fn rebuild_the_pages(world: &World) -> Vec<Value> {
    let visits = rebuild_with_urgent(world);
    let place = |v: &Value| (count(v, "cycle"), v["url"].as_str().unwrap().to_owned());
    let distinct: BTreeSet<_> = visits.iter().map(place).collect();
    assert_eq!(distinct.len(), visits.len(), "no visit twice");
    visits
}

/// The exported visits, which rebuild the counters of every page. An urgent visit may be a page's second of its cycle.
pub fn rebuild_with_urgent(world: &World) -> Vec<Value> {
    let (pages, visits) = (world.pages(), exported(world));
    assert!(visits.windows(2).all(|v| v[0]["cycle"].as_u64() <= v[1]["cycle"].as_u64()), "in order of cycle");

    // n, X, first, last and last change of every page, from its visits alone.
    let mut rebuilt = BTreeMap::<&str, [Option<u64>; 5]>::new();
    for visit in &visits {
        let outcome = visit["outcome"].as_str().unwrap();
        let probability = visit["probability"].as_f64();
        assert_eq!(probability.is_some(), visit["share"] == "audit", "{visit}");
        assert!(probability.is_none_or(|p| p > 0.0 && p <= 1.0), "{visit}");
        assert!(count(visit, "time") > Some(1_700_000_000), "{visit}");
        let host = visit["url"].as_str().unwrap().split('/').nth(2).unwrap();
        assert_eq!(visit["site"].as_str(), host.split(':').next(), "an address is its own site");
        if !matches!(outcome, "fetched" | "not_modified" | "redirected") {
            assert!(visit["changed"].is_null(), "{visit}");
            continue;
        }
        let cycle = count(visit, "cycle");
        let page = rebuilt.entry(visit["url"].as_str().unwrap()).or_insert([None, None, cycle, cycle, None]);
        match visit["changed"].as_bool() {
            None => {
                assert_eq!((page[0], page[2]), (None, cycle), "nothing to compare with is the first: {visit}")
            }
            Some(changed) => {
                page[0] = Some(page[0].unwrap_or(0) + 1);
                page[1] = Some(page[1].unwrap_or(0) + u64::from(changed));
                page[4] = if changed { cycle } else { page[4] };
            }
        }
        page[3] = cycle;
    }
    for (url, page) in &pages {
        let names = ["n", "X", "first", "last", "last_change"];
        let known = names.map(|name| count(page, name));
        let expected = match rebuilt.get(url.as_str()) {
            Some([n, x, first, last, change]) => [n.or(Some(0)), x.or(Some(0)), *first, *last, *change],
            None => [None; 5],
        };
        assert_eq!(expected, known, "{url}");
    }
    visits
}

#[test]
fn the_oldest_are_removed_first_and_none_are_kept_when_none_are_wanted() {
    let world = World::new(web(40, 2), "[storage]\nkeep_visits = 3");
    let cycles =
        |world: &World| exported(world).iter().filter_map(|v| count(v, "cycle")).collect::<BTreeSet<_>>();
    world.crawl(2);
    assert_eq!(cycles(&world), BTreeSet::from([1, 2]));
    world.crawl(3);
    assert_eq!(cycles(&world), BTreeSet::from([3, 4, 5]));
    world.configure("[storage]\nkeep_visits = 1");
    assert_eq!(cycles(&world), BTreeSet::from([3, 4, 5]), "nothing is removed before a commit");
    world.crawl(1);
    assert_eq!(cycles(&world), BTreeSet::from([6]));
    world.configure("[storage]\nkeep_visits = 0");
    world.crawl(1);
    let line = fails(world.run(&["export", "visits", "--out", "-"]), 1);
    assert!(line.contains("storage.keep_visits"), "it says what to do: {line}");
    let names: Vec<_> = std::fs::read_dir(&world.data_dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|n| !n.to_string_lossy().ends_with(".kept")), "{names:?}");
}
