//! HTTP as operators meet it: validators that lie, and what fetching may cost.

use crate::harness::{World, count, replayed_changes, succeeds, web};
use recrawl_mockweb::{Config, Validators};
use serde_json::Value;

/// Every page is visited in every cycle.
const EVERYTHING: &str = "[cycle]\npages = \"100%\"\n";

/// `recrawl status --host H --json` of the web's first host.
fn host(world: &World) -> Value {
    let seed = world.server.seeds()[0].clone();
    let text = succeeds(world.run(&["status", "--json", "--host", seed.trim_end_matches('/')]));
    let hosts: Value = serde_json::from_str(&text).expect("status speaks JSON");
    hosts[0].clone()
}

/// Changes that all pages were seen to have.
fn changes_seen(world: &World) -> u64 {
    world.pages().values().filter_map(|page| count(page, "X")).sum()
}

#[test]
fn a_host_that_answers_304_while_its_pages_change_is_found_out() {
    let liar = Config { validators: Validators::Lying, ..web(60, 1) };
    let world = World::new(liar, &format!("{EVERYTHING}[fetch]\nvalidator_checks = 0\n"));
    for _ in 0..8 {
        world.next_cycle();
    }
    assert_eq!(
        (changes_seen(&world), &host(&world)["validators"]),
        (0, &"believed".into()),
        "it looks static"
    );

    world.configure(&format!("{EVERYTHING}[fetch]\nvalidator_checks = \"10%\"\n"));
    let mut cycles = 0;
    while host(&world)["validators"] == "believed" {
        world.next_cycle();
        cycles += 1;
        assert!(cycles < 40, "{}", host(&world));
    }
    let found = host(&world);
    assert_eq!(found["validators"], "lying", "{found}");
    let text = succeeds(world.run(&["explain", &world.server.url(3)]));
    assert!(text.contains("validators  not trusted since cycle"), "{text}");
    // From now on every page is seen as it is.
    world.next_cycle();
    let held = world.server.held().pages;
    assert!(held.iter().all(|page| page.held == page.now), "{held:?}");
    let log = world.server.log(0).unwrap();
    let last: Vec<_> = log.iter().filter(|a| a.cycle == world.server.clock()).collect();
    let conditional = last.iter().filter(|a| a.conditional).count();
    assert!(conditional * 4 < last.len(), "{conditional} of {} are tests", last.len());
    assert!(changes_seen(&world) > 0);
}

#[test]
fn a_tag_that_is_new_at_every_visit_is_no_change_and_is_not_sent_for_long() {
    let restless = Config { validators: Validators::Restless, ..web(40, 1) };
    let world = World::new(restless, EVERYTHING);
    for _ in 0..8 {
        world.next_cycle();
    }
    assert_eq!(host(&world)["validators"], "vain", "{}", host(&world));
    let given = world.given_out();
    for (url, page) in world.pages().iter().filter(|(url, _)| given.contains_key(*url)) {
        assert_eq!(count(page, "X"), Some(replayed_changes(&given[url])), "{url}");
    }
    assert!(changes_seen(&world) > 0, "the web changes");
    let log = world.server.log(0).unwrap();
    let last: Vec<_> = log.iter().filter(|a| a.cycle == world.server.clock()).collect();
    let conditional = last.iter().filter(|a| a.conditional && a.path != "/robots.txt").count();
    assert!(conditional * 4 < last.len(), "{conditional} of {} are tests", last.len());
}

#[test]
fn honest_validators_are_believed_whatever_changes() {
    let world = World::new(web(60, 1), &format!("{EVERYTHING}[fetch]\nvalidator_checks = 1\n"));
    for _ in 0..8 {
        world.next_cycle();
    }
    let known = host(&world);
    assert_eq!(
        (&known["validators"], count(&known, "changes_hidden")),
        (&"believed".into(), Some(0)),
        "{known}"
    );
    assert!(count(&known, "changes_shown") > Some(0), "{known}");
    // Every 304 was checked, and is no visit of its own.
    let log = world.server.log(0).unwrap();
    let answered = log.iter().filter(|a| a.status == 304 && a.path != "/robots.txt").count();
    assert!(answered > 50, "{answered}");
    for (url, given) in world.given_out() {
        let visits = given.iter().filter(|a| a.status == 200).count() as u64;
        assert_eq!(count(&world.pages()[&url], "n"), Some(visits - 1), "{url}");
    }
}

#[test]
fn a_host_that_has_cost_its_bytes_is_left_for_the_cycle() {
    let world = World::new(web(60, 2), &format!("{EVERYTHING}[storage]\narchive = false\n"));
    world.crawl(4);
    let before = world.pages();
    world.configure(&format!(
        "{EVERYTHING}[budget]\nbytes_per_host = \"20 kB\"\n[fetch]\nvalidator_checks = 1\n"
    ));
    let report = world.next_cycle();
    let [fetched, skipped] = ["fetched", "skipped"].map(|name| count(&report, name).unwrap());
    assert!(fetched > 4 && skipped > 20, "{report}");
    assert!(
        count(&report, "bytes").unwrap() < 2 * (20_000 + 20_000),
        "a page more than fits, on each host: {report}"
    );
    assert_eq!(report["stopped_by"], "schedule");
    // What was not looked at is as it was.
    let after = world.pages();
    let untouched = before.iter().filter(|(url, page)| after[*url] == **page).count() as u64;
    assert_eq!(untouched, count(&report, "pages_known").unwrap() - fetched, "{report}");
    world.is_sound();
}

#[test]
fn a_cycle_that_has_cost_its_bytes_ends_also_after_an_interruption() {
    let world = World::new(
        web(200, 4),
        "[politeness]\ndelay_per_host = \"5 ms\"\n[budget]\nbytes_per_cycle = \"150 kB\"\n",
    );
    world.seeds(&(0..200).map(|page| world.server.url(page)).collect::<Vec<_>>());
    let asked = || world.server.log(0).unwrap().len();
    let mut running = world.spawn_crawl(1);
    while asked() < 12 {
        assert!(running.try_wait().unwrap().is_none(), "the crawl goes on");
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let report = world.crawl(1).remove(0);
    assert_eq!(report["stopped_by"], "byte_budget", "{report}");
    let bytes = count(&report, "bytes").unwrap();
    assert!((150_000..250_000).contains(&bytes), "both runs, and the requests under way: {report}");
    assert!(count(&report, "skipped") > Some(50), "{report}");
    let failed = world.pages().values().filter(|page| count(page, "failures") != Some(0)).count();
    assert_eq!(failed, 0, "not looked at is not failed");
}
