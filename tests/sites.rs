//! A formula that reads the rates of sites: the plan goes by it, and `explain` tells what the plan did.

use crate::harness::{World, count, json_lines, succeeds, web};
use recrawl_formula::{Priors, RateEvidence};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn explained(world: &World, url: &str) -> Value {
    serde_json::from_str(&succeeds(world.run(&["explain", url, "--json"]))).unwrap()
}

#[test]
fn the_plan_goes_by_the_rates_of_sites_and_explain_tells_the_same() {
    let world = World::new(web(36, 3), "[cycle]\npages = \"33%\"");
    world.warm_up();
    (0..3).for_each(|_| drop(world.next_cycle()));
    succeeds(world.run(&["formula", "use", "p_eb_site"]));
    let pages = world.pages();
    let fetched: BTreeMap<_, _> = pages.iter().filter(|(_, page)| !page["n"].is_null()).collect();
    let explained: BTreeMap<&str, Value> =
        fetched.keys().map(|url| (url.as_str(), explained(&world, url))).collect();

    // The rates, worked out from what is exported of the pages. Each host is an address: a site of its own.
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let mut shown = BTreeMap::<String, RateEvidence>::new();
    for (url, page) in &fetched {
        let number = |name| count(page, name).unwrap();
        let cycles = number("last") - number("first");
        let evidence = RateEvidence { changes: number("X"), cycles, changed_cycles: 0 };
        shown.entry(host(url)).or_default().add(evidence);
    }
    assert_eq!(shown.len(), 3);
    let priors = Priors::new(&shown.values().copied().collect::<Vec<_>>());
    let rates: BTreeSet<u64> = priors.sites.iter().map(|rate| rate.to_bits()).collect();
    assert_eq!(rates.len(), 3, "sites that differ");
    // Reading JSON may round the last bit.
    let is = |told: &Value, rate: f64| (told.as_f64().unwrap() - rate).abs() <= rate * f64::EPSILON;
    for (url, told) in &explained {
        let site = shown.keys().position(|name| *name == host(url)).unwrap();
        assert!(is(&told["site_rate"], priors.sites[site]), "{url}: {told} {priors:?}");
        assert!(is(&told["global_rate"], priors.global), "{url}: {told} {priors:?}");
        assert_eq!(told["terms"][0]["value"], told["score"], "{url}");
        assert_eq!(told["gate"], "score", "{url}");
    }

    let report = world.next_cycle();
    assert_eq!(report["formula"], "p_eb_site");
    let k = count(&report, "score_visits").unwrap();
    assert!(k >= 10, "{report}");
    let cycle = count(&report, "cycle");
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let of_plan = visits.iter().filter(|v| count(v, "cycle") == cycle && v["share"] == "score");
    let chosen: BTreeSet<&str> = of_plan.map(|v| v["url"].as_str().unwrap()).collect();
    let best = explained.iter().filter(|(_, told)| count(told, "rank") <= Some(k)).map(|(url, _)| *url);
    assert_eq!(chosen, best.collect(), "the first {k} by explain's ranks");
    let last = explained.values().find(|told| count(told, "rank") == Some(k)).unwrap();
    assert_eq!(report["cutoff"], last["score"], "the plan's own score of the last page chosen");
}

/// It keeps the ranks of all pages, and counts no page among the others.
#[test]
fn a_daemon_ranks_as_explain_counts() {
    let world = crate::daemon::world(36, 3, "[cycle]\npages = \"33%\"");
    world.warm_up();
    succeeds(world.run(&["formula", "use", "p_eb_site"]));
    let explained: Vec<Value> = world.pages().keys().map(|url| explained(&world, url)).collect();
    let daemon = crate::daemon::Daemon::start(&world);
    for told in &explained {
        let url = told["page"]["url"].as_str().unwrap();
        let page = daemon.page(url);
        for of in ["cycle", "gate", "score", "rank", "cutoff", "site_rate", "global_rate", "terms", "visits"]
        {
            assert!(told.get(of).is_some(), "there is no {of}");
            assert_eq!(page[of], told[of], "{of} of {url}");
        }
    }
    daemon.stop();
    assert!(explained.iter().filter(|told| told["rank"].is_u64()).count() > 30, "{explained:?}");
}

#[test]
fn a_formula_that_does_not_read_them_is_explained_without() {
    let world = World::new(web(20, 2), "[schedule]\nformula = \"t\"");
    world.warm_up();
    let url = world.pages().keys().next().unwrap().clone();
    let told = explained(&world, &url);
    assert!(told["site_rate"].is_null() && told["global_rate"].is_null(), "{told}");
    let shown = succeeds(world.run(&["explain", &url, "--formula", "site_rate * t"]));
    assert!(shown.contains("prior       ") && shown.contains("site_rate"), "{shown}");
}
