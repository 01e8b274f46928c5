//! What stops a page, as `explain` tells it: each gate with its evidence, and the crawl does as was told. Opt-outs, traps and blocks are
//! explained where they are tested.

use crate::daemon::{self, Daemon};
use crate::focused_crawl::{courses, focused};
use crate::harness::{World, count, succeeds, web};
use recrawl_crawl::parts::PARTS;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn explain(world: &World, url: &str) -> Value {
    serde_json::from_str(&succeeds(world.run(&["explain", url, "--json"]))).expect("explain speaks JSON")
}

/// The evidence of a gate, and what would lift it; none where the page is not stopped by it.
fn stopped(told: &Value, gate: &str) -> Option<(String, String)> {
    let at = told["stopped_by"].as_array().unwrap().iter().position(|by| by["gate"] == gate)?;
    let text = |value: &Value| value.as_str().expect("words").to_owned();
    Some((text(&told["stopped_by"][at]["evidence"]), text(&told["would_be_fetched_if"][at])))
}

#[test]
fn explain_has_the_fields_of_each_part() {
    let world =
        focused(courses(60), "[cycle]\npages = \"100%\"\n[focus]\nenabled = true\nterms = \"TERMS\"\n");
    world.crawl(1);
    let told = explain(&world, &world.server.seeds()[0]);
    for part in PARTS {
        for field in part.explained {
            assert!(told.get(field).is_some(), "{} explains nothing: {field} in {told}", part.name);
        }
    }
}

#[test]
fn explain_tells_which_pages_find_their_host_full() {
    let world = World::new(web(40, 2), "");
    world.warm_up();
    // Ties would be decided by a lot.
    let schedule = "[schedule]\nmax_per_host = 4\nties = \"index\"\nformula = \"age\"\n";
    world.configure(&format!("[cycle]\npages = \"100%\"\n{schedule}"));
    let before = world.pages();
    let host = world.server.seeds().remove(0);
    let told: Vec<(&String, Value)> =
        before.keys().filter(|url| url.starts_with(&host)).map(|url| (url, explain(&world, url))).collect();
    world.next_cycle();
    let after = world.pages();
    let (mut fetched, mut full) = (0, 0);
    for (url, told) in &told {
        if told["gate"] != "score" {
            continue;
        }
        let was_fetched = count(&after[*url], "last") > count(&before[*url], "last");
        fetched += u64::from(was_fetched);
        let stopped = stopped(told, "max_per_host");
        assert_eq!(stopped.is_none(), was_fetched, "{url}: {told}");
        let places = &told["host_places"];
        assert_eq!((count(places, "max_per_host"), count(places, "warmup")), (Some(4), Some(0)), "{places}");
        let (score, last) = (told["score"].as_f64().unwrap(), places["last_score"].as_f64().unwrap());
        assert!(if was_fetched { score >= last } else { score <= last }, "{url}: {told}");
        let Some((evidence, lifted)) = stopped else { continue };
        full += 1;
        assert!(
            evidence.contains("may have 4 pages per cycle") && evidence.contains(&format!("{last:.4}")),
            "{evidence}"
        );
        let needed = count(places, "before").unwrap() + 1;
        assert!(lifted.starts_with(&format!("set schedule.max_per_host to {needed} or more")), "{lifted}");
        assert!(told["visited_next"].as_str().unwrap().contains("may have 4 pages per cycle"), "{told}");
    }
    assert!(fetched == 4 && full > 3, "{fetched} fetched, {full} were told to be left");
    let (url, _) = told.iter().find(|(_, told)| stopped(told, "max_per_host").is_some()).unwrap();
    let text = succeeds(world.run(&["explain", url]));
    assert!(text.contains("            To fetch it: set schedule.max_per_host to "), "{text}");
}

#[test]
fn explain_promises_nothing_where_a_sample_of_siblings_comes_first() {
    let world = World::new(web(40, 2), "");
    world.warm_up();
    let url = world.lone_pages().into_iter().next().map(|page| world.server.url(page)).unwrap();
    let told = |rounds: u32| {
        let schedule = "[schedule]\nties = \"index\"\nformula = \"u_fresh_sib\"\n";
        world.configure(&format!("[cycle]\npages = \"100%\"\nrounds = {rounds}\n{schedule}"));
        explain(&world, &url)["visited_next"].as_str().unwrap().to_owned()
    };
    let (one, two) = (told(1), told(2));
    assert!(one.starts_with("in the next cycle: ") && !one.contains("siblings"), "{one}");
    assert!(
        two.starts_with("probably in the next cycle: ")
            && two.contains("one of a group of siblings before the last round"),
        "{two}"
    );
}

#[test]
fn explain_says_in_three_sentences_when_a_page_is_visited() {
    let world = World::new(web(40, 2), "[cycle]\npages = \"30%\"\n[schedule]\nformula = \"\"\n");
    world.crawl(12);
    let mut waits = 0;
    for (url, page) in world.pages() {
        let told = explain(&world, &url);
        let [shown, chance, when] =
            [0, 1, 2].map(|at| told["in_short"][at].as_str().expect("a sentence").to_owned());
        let (n, x, t) = (count(&page, "n"), count(&page, "X"), count(&page, "t"));
        if let (Some(n), Some(x), Some(t)) = (n.filter(|n| *n > 0), x, t) {
            assert!(
                shown.starts_with(&format!("{x} of {n} later visit")) && shown.contains("change 0."),
                "{shown}"
            );
            assert!(chance.contains(&format!(" {t} cycle")) && chance.ends_with(" %."), "{chance} {page:?}");
        }
        if told["gate"] == json!("score") {
            let next = told["visited_next"].as_str().unwrap();
            for (begins, said) in [
                ("in the next cycle: ", "Its score is high enough for the next cycle."),
                ("probably in the next cycle: ", "Its score is probably high enough for the next cycle."),
            ] {
                assert_eq!(when == said, next.starts_with(begins), "{told}");
            }
            let is_left = next.starts_with("not in the next cycle, ");
            assert_eq!(stopped(&told, "score").is_some(), is_left, "{told}");
            let is_told_to_wait = ["Its score is high enough in ", "Its score is not high "]
                .iter()
                .any(|it| when.starts_with(*it));
            assert_eq!(is_told_to_wait, is_left, "{told}");
            waits += u32::from(is_left);
        }
    }
    assert!(waits > 5, "{waits}");
}

#[test]
fn explain_tells_until_when_a_failing_page_is_left_alone() {
    let world = World::new(web(30, 2), "[cycle]\npages = \"100%\"");
    world.warm_up();
    let page = world.lone_pages()[0];
    let url = world.server.url(page);
    world.server.set_faults(vec![world.fault_on(page, "status:500")]);
    // After the first failure it is due in the next cycle, after the second in the one after that.
    assert!(stopped(&explain(&world, &url), "back_off").is_none());
    world.next_cycle();
    let cycle = count(&world.next_cycle(), "cycle").unwrap();
    let told = explain(&world, &url);
    let (evidence, lifted) = stopped(&told, "back_off").unwrap_or_else(|| panic!("{told}"));
    assert_eq!(evidence, format!("2 consecutive failures, the last in cycle {cycle}"));
    assert!(lifted.starts_with(&format!("wait for cycle {},", cycle + 2)), "{lifted}");
    let asked = || world.asked(&url);
    let before = asked();
    world.next_cycle();
    assert_eq!(asked(), before, "as was told");
    world.next_cycle();
    assert!(asked() > before, "as was told");
}

#[test]
fn explain_tells_of_a_page_that_was_tried_and_never_there() {
    let world = World::new(web(30, 2), "[cycle]\npages = \"100%\"");
    let page = world.lone_pages()[0];
    let url = world.server.url(page);
    world.server.set_faults(vec![world.fault_on(page, "status:404")]);
    world.seeds(&[world.server.seeds(), vec![url.clone()]].concat());
    world.crawl(1);
    let told = succeeds(world.run(&["explain", &url]));
    assert!(told.contains("tried       HTTP status 404, in cycle 1 at 20"), "{told}");
    assert!(!told.contains("never fetched") && told.contains("tried in cycle 1: HTTP status 404"), "{told}");
}

#[test]
fn ranks_break_ties_by_the_crawls_seed() {
    let world = daemon::world(80, 2, "");
    world.warm_up();
    daemon::configure(&world, "[cycle]\npages = \"25%\"\n[schedule]\nformula = \"age\"\n");
    let crawl = || {
        world.server.advance().unwrap();
        succeeds(world.crawl_command(1).args(["--random-seed", "7"]).output().unwrap())
    };
    crawl();
    let before = world.pages();
    let explained: BTreeMap<&String, Value> = before.keys().map(|url| (url, explain(&world, url))).collect();
    let ranked: BTreeMap<u64, &String> =
        explained.iter().filter_map(|(url, told)| Some((count(told, "rank")?, *url))).collect();
    // Over the console it is the same, of one page and where another formula is compared.
    let daemon = Daemon::of(world.command(&["serve", "--random-seed", "7"]));
    for (rank, url) in ranked.iter().step_by(10) {
        assert_eq!(count(&daemon.page(url), "rank"), Some(*rank), "{url}");
    }
    let (status, compared) = daemon.ask("POST", "/api/v1/formulas/compare", Some(json!({"text": "0 - t"})));
    let moved = compared["rise"].as_array().unwrap().iter().chain(compared["fall"].as_array().unwrap());
    let moved: Vec<(u64, &str)> =
        moved.map(|row| (count(row, "rank").unwrap(), row["url"].as_str().unwrap())).collect();
    assert!(status == 200 && moved.len() > 20, "{compared}");
    for (rank, url) in moved {
        assert_eq!(ranked[&rank], url);
    }
    let expected: BTreeMap<&str, (f64, f64)> = compared["expected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| {
            let [rate, fresh] = ["change_rate", "freshness"].map(|key| choice[key].as_f64().unwrap());
            (choice["by"].as_str().unwrap(), (rate, fresh))
        })
        .collect();
    let (best, chance) = (expected["best"], expected["random"]);
    assert!(best.0 > chance.0 && best.1 > chance.1, "{expected:?}");
    for by in ["in_force", "candidate"] {
        assert!(expected[by].0 <= best.0 && expected[by].1 <= best.1, "{by}: {expected:?}");
    }
    daemon.stop();
    crawl();
    let after = world.pages();
    let fetched: BTreeSet<&String> = ranked
        .values()
        .filter(|url| count(&after[**url], "last") > count(&before[**url], "last"))
        .copied()
        .collect();
    let k = fetched.len();
    assert_eq!(ranked.values().take(k).copied().collect::<BTreeSet<_>>(), fetched, "{ranked:?}");
    // The places end among pages of equal score: the lot decided.
    let score = |rank: usize| explained[ranked[&(rank as u64)]]["score"].as_f64().unwrap();
    assert!(k > 5 && score(k) == score(k + 1), "{k}: {} {}", score(k), score(k + 1));
}
