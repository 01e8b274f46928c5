//! Whole crawls: discovery, warm-up, budget, counters against the mock web's own count.

use crate::harness::{Pages, World, count, replayed_changes, succeeds, web};
use recrawl_mockweb::Validators;
use serde_json::Value;
use std::collections::BTreeSet;

/// URLs visited in this cycle.
fn visited_in(pages: &Pages, cycle: u64) -> BTreeSet<&str> {
    pages.iter().filter(|(_, p)| count(p, "last") == Some(cycle)).map(|(url, _)| url.as_str()).collect()
}

/// n and X of every page beside what the web gave out: exact, for a web without noise.
fn agrees_with_the_web(world: &World) {
    let (pages, given) = (world.pages(), world.given_out());
    for (url, page) in &pages {
        let visits = given.get(url).map_or(&[][..], Vec::as_slice);
        let n = count(page, "n");
        assert_eq!(n.map_or(0, |n| n + 1), visits.len() as u64, "n + 1 of {url}");
        assert_eq!(count(page, "X"), n.map(|_| replayed_changes(visits)), "X of {url}");
    }
    for url in given.keys() {
        assert!(pages.contains_key(url), "{url} was visited and is not known");
    }
    for counted in world.server.counts() {
        let n = count(&pages[&counted.url], "n");
        assert_eq!(n.map(|n| n + 1), Some(counted.count), "{}", counted.url);
    }
    assert_eq!(world.server.counts().len() as u32, world.server.info().pages + world.server.info().hosts);
}

/// Discovery, warm-up and scored cycles, each a process of its own.
fn whole_crawl(validators: Validators) -> (World, Vec<Value>) {
    let mut config = web(300, 4);
    config.validators = validators;
    let world = World::new(config, "");
    world.warm_up();
    let mut reports = Vec::new();
    let mut known = world.status()["pages"].as_u64().unwrap();
    for _ in 0..6 {
        let report = world.next_cycle();
        assert_eq!(count(&report, "score_visits"), Some(known / 20), "5 % of the known: {report}");
        assert_eq!(count(&report, "fetched"), Some(known / 20), "and nothing else: {report}");
        let rate = count(&report, "score_changed").unwrap() as f64 / (known / 20) as f64;
        assert_eq!(report["change_rate"].as_f64(), Some(rate), "{report}");
        assert_eq!(report["stopped_by"], "schedule");
        known = count(&report, "pages_known").unwrap();
        reports.push(report);
    }
    agrees_with_the_web(&world);
    world.is_sound();
    (world, reports)
}

#[test]
fn counters_are_those_of_the_web_without_validators() {
    let (world, reports) = whole_crawl(Validators::None);
    assert!(reports.iter().all(|r| r["not_modified"] == 0));
    assert!(reports.iter().any(|r| count(r, "score_changed") > Some(0)), "the web changes");
    let status = world.status();
    let cycles = count(&status, "generation").unwrap();
    assert_eq!(cycles, u64::from(world.server.clock()), "a generation a cycle, over all processes");
    assert_eq!(status["cycles"].as_array().unwrap().last(), reports.last(), "the report is kept");
    let violations = world.server.violations(std::time::Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0));
}

#[test]
fn counters_are_those_of_the_web_with_validators() {
    let (world, reports) = whole_crawl(Validators::Strong);
    assert!(reports.iter().any(|r| count(r, "not_modified") > Some(0)), "unchanged pages answer 304");
    let log = world.server.log(0).unwrap();
    let answered = log.iter().filter(|a| a.status == 304).count();
    assert!(answered > 300, "{answered} times 304: warm-up visits are conditional too");
    assert!(log.iter().all(|a| a.status != 304 || a.conditional));
}

#[test]
fn the_formula_decides_and_can_be_swapped() {
    let world = World::new(web(120, 3), "");
    world.warm_up();
    for (formula, column) in [("t", "last"), ("X", "X")] {
        succeeds(world.run(&["formula", "use", formula]));
        let before = world.pages();
        let report = world.next_cycle();
        assert_eq!(report["formula"], formula);
        let after = world.pages();
        let chosen = visited_in(&after, count(&report, "cycle").unwrap());
        assert_eq!(chosen.len() as u64, count(&report, "score_visits").unwrap());
        let ranks = |is_chosen: bool| {
            let fetched = before.iter().filter(|(_, p)| !p["n"].is_null());
            let ranks = fetched.filter(|(url, _)| chosen.contains(url.as_str()) == is_chosen);
            ranks.map(|(_, p)| count(p, column).unwrap()).collect::<Vec<_>>()
        };
        let (mut inside, mut outside) = (ranks(true), ranks(false));
        inside.sort_unstable();
        outside.sort_unstable();
        match column {
            "last" => assert!(inside.last() <= outside.first(), "the oldest: {inside:?} {outside:?}"),
            _ => assert!(inside.first() >= outside.last(), "the most changed: {inside:?} {outside:?}"),
        }
    }
    let line =
        succeeds(world.command(&["crawl", "--cycles", "1", "--json", "--formula", "age"]).output().unwrap());
    assert!(line.contains(r#""formula":"age""#), "the command line goes first: {line}");
}

fn json_of(world: &World, words: &[&str]) -> Value {
    serde_json::from_str(&succeeds(world.run(words))).unwrap()
}

#[test]
fn a_policy_without_a_formula_ranks_and_is_explained() {
    let world = World::new(web(120, 3), "[schedule]\npolicy = \"age\"\nformula = \"X\"");
    world.warm_up();
    let before = world.pages();
    let report = world.next_cycle();
    assert_eq!(report["formula"], "age");
    let pages = world.pages();
    let chosen = visited_in(&pages, count(&report, "cycle").unwrap());
    let last = |is_chosen: bool| {
        let fetched =
            before.iter().filter(|(url, p)| !p["n"].is_null() && chosen.contains(url.as_str()) == is_chosen);
        fetched.map(|(_, p)| count(p, "last").unwrap()).collect::<Vec<_>>()
    };
    assert!(last(true).iter().max() <= last(false).iter().min(), "the oldest");
    let (url, page) = pages.iter().find(|(_, p)| !p["n"].is_null()).unwrap();
    let explained = json_of(&world, &["explain", url, "--json"]);
    let age = count(&report, "cycle").unwrap() + 1 - count(page, "last").unwrap();
    assert_eq!((&explained["policy"], explained["score"].as_f64()), (&"age".into(), Some(age as f64)));
    let told = succeeds(world.run(&["explain", url]));
    assert!(told.contains("no formula ranks"), "{told}");
    let tried = json_of(&world, &["explain", url, "--json", "--formula", "n"]);
    assert_eq!((&tried["policy"], tried["score"].as_f64()), (&"formula".into(), page["n"].as_f64()));
}

#[test]
fn the_same_random_seed_repeats_the_same_choices() {
    let mut world = World::new(web(200, 4), "[cycle]\naudit_share = 0.5");
    let mut crawl = |data: &str, seed: &str| {
        world.data_dir = world.folder.path().join(data);
        world.server.set_clock(0).unwrap();
        let mut chosen = Vec::new();
        for cycle in 1..=8 {
            let mut command = world.crawl_command(1);
            // A constant leaves the choice to the lot.
            succeeds(command.args(["--formula", "1", "--random-seed", seed]).output().unwrap());
            world.server.advance().unwrap();
            let pages = world.pages();
            chosen.push(visited_in(&pages, cycle).into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
        }
        (chosen, world.pages())
    };
    let first = crawl("one", "5");
    let again = crawl("two", "5");
    assert_eq!(first.0, again.0);
    for (url, page) in &first.1 {
        for name in ["n", "X", "last", "in_links", "depth", "digest", "failures"] {
            assert_eq!(page[name], again.1[url][name], "{name} of {url}");
        }
    }
    let other = crawl("three", "6");
    assert_ne!(first.0, other.0, "another seed, another lot");
}

#[test]
fn a_redirect_is_followed_once_as_a_visit_of_its_own() {
    let world = World::new(web(60, 2), "");
    let page = world.lone_pages()[3];
    let host = world.server.url(page).split('/').take(3).collect::<Vec<_>>().join("/");
    let (from, to) = (world.server.url(page), format!("{host}/private/open-target"));
    world.server.set_faults(vec![world.fault_on(page, "redirect:/private/open-target")]);
    let mut first = None;
    for _ in 0..8 {
        let report = world.next_cycle();
        if first.is_none() && count(&report, "redirected") > Some(0) {
            let pages = world.pages();
            assert_eq!(count(&pages[&from], "n"), Some(0));
            assert_eq!(count(&pages[&to], "n"), Some(0), "visited in the same cycle");
            assert_eq!(pages[&from]["last"], pages[&to]["last"]);
            assert_eq!(pages[&from]["kind"], "redirect");
            assert_eq!(pages[&to]["kind"], "text");
            assert_eq!(world.asked(&to), 1);
            first = Some(report);
        }
    }
    assert!(first.is_some(), "the page was never asked for");
    let (pages, given) = (world.pages(), world.given_out());
    for url in [&from, &to] {
        assert_eq!(count(&pages[url], "n").map(|n| n + 1), Some(given[url].len() as u64), "{url}");
        assert_eq!(count(&pages[url], "X"), Some(0), "{url}");
        assert!(given[url].len() > 1, "{url} has its own warm-up");
    }
    // Another target is a change.
    world.server.set_faults(vec![world.fault_on(page, "redirect:/private/open-other")]);
    world.configure("[cycle]\npages = \"100%\"");
    let before = count(&pages[&from], "n").unwrap();
    world.next_cycle();
    let pages = world.pages();
    assert_eq!(count(&pages[&from], "n"), Some(before + 1));
    assert_eq!(count(&pages[&from], "X"), Some(1));
    assert_eq!(count(&pages[&format!("{host}/private/open-other")], "n"), Some(0));
}

#[test]
fn a_chain_of_redirects_ends_at_the_limit() {
    let world = World::new(web(40, 2), "[fetch]\nmax_redirects = 2");
    let page = world.lone_pages()[3];
    world.server.set_faults(vec![world.fault_on(page, "loop:0")]);
    for _ in 0..8 {
        world.next_cycle();
    }
    let pages = world.pages();
    let url = world.server.url(page);
    assert_eq!(pages[&url]["kind"], "redirect");
    assert_eq!(pages[&format!("{url}?hop=1")]["kind"], "redirect");
    let last = &pages[&format!("{url}?hop=2")];
    assert_eq!((&last["n"], &last["status"]), (&Value::Null, &Value::from("live")), "{last}");
    assert!(count(last, "failures") > Some(0), "one hop too many is a failure: {last}");
    assert!(!pages.contains_key(&format!("{url}?hop=3")));
    assert_eq!(world.asked(&format!("{url}?hop=3")), 0);
}
