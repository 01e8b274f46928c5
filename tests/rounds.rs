//! Rounds: a crawl begins at once, goes on until its site is known, and waits for no slow host. To hosts,
//! rounds are invisible.

use crate::crash::{most_in_flight, setting};
use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, json_lines, replayed_changes, succeeds, web};
use crate::visits::rebuild_with_urgent;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use recrawl_mockweb::fault::FaultRule;
use recrawl_mockweb::{Config, Validators};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Everything that is found is visited at once.
const FILL: &str = "[cycle]\npages = \"100%\"\nfill = true\ndiscovery_min = 0\n";

/// The reports of a crawl with these words.
fn crawl(world: &World, words: &[&str]) -> Vec<Value> {
    let words = [&["crawl", "--json"], words].concat();
    let mut command = world.command(&words);
    command.arg("--seeds").arg(world.seed_file());
    json_lines(&succeeds(command.output().expect("the program runs")))
}

fn kinds(reports: &[Value]) -> Vec<&str> {
    reports.iter().map(|report| report["kind"].as_str().expect("a kind")).collect()
}

fn sum(reports: &[Value], name: &str) -> u64 {
    reports.iter().filter_map(|report| count(report, name)).sum()
}

/// Each page's counters are those of the web's own log: nothing lost, nothing twice.
fn accounts_agree(world: &World) {
    assert_eq!(not_recorded(world), 0);
}

/// Responses that are in no page's counters; those of all other pages are those of the web's own log.
fn not_recorded(world: &World) -> u64 {
    let (pages, given) = (world.pages(), world.given_out());
    let mut missing = 0;
    for (url, visits) in &given {
        let page = pages.get(url).unwrap_or_else(|| panic!("{url} is lost"));
        let (asked, recorded) = (visits.len() as u64, count(page, "n").map_or(0, |n| n + 1));
        assert!(recorded <= asked, "{url}: {recorded} visits recorded, {asked} given out");
        missing += asked - recorded;
        if recorded == asked {
            assert_eq!(count(page, "X"), Some(replayed_changes(visits)), "X of {url}");
        }
    }
    missing
}

/// The first two hosts, the largest, send this many bytes a second, ten times a second; a page has some 4,000.
fn slow(world: &World, bytes: u32) {
    let rule = |host| format!("{host}/=slow:{bytes}").parse::<FaultRule>().expect("a rule");
    world.server.set_faults(vec![rule(1), rule(2)]);
}

#[test]
fn one_seed_fills_a_whole_site_and_each_page_is_visited_once() {
    let world = World::new(web(300, 4), FILL);
    world.seeds(&world.server.seeds()[..1]);
    world.configure(&format!("{FILL}[scope]\nhosts = [\"*\"]\n"));
    let reports = crawl(&world, &["--until", "filled"]);
    let again = world.run(&["crawl", "--until", "filled"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && said.contains("nothing left to fill"), "{said}");
    assert_eq!(kinds(&reports)[..2], ["revisit", "fill"], "{reports:?}");
    assert!(kinds(&reports)[1..].iter().all(|kind| *kind == "fill") && reports.len() < 12, "{reports:?}");
    for (round, report) in (1..).zip(&reports) {
        assert_eq!((count(report, "round"), count(report, "cycle")), (Some(round), Some(1)), "{report}");
        assert_eq!(report["cycle_started"], reports[0]["started"], "{report}");
    }
    assert_eq!(world.server.counts().len() as u32, 300 + 4, "every page was found");
    assert_eq!(sum(&reports, "fetched"), sum(&reports, "first_visits"), "each once");
    let pages = world.pages();
    assert!(pages.values().all(|page| count(page, "t").is_none_or(|t| t == 1)), "one cycle ago");
    // A round more in the same cycle finds nothing, so this is the next cycle.
    world.server.advance().expect("a clock");
    let next = crawl(&world, &["--cycles", "1"]);
    assert_eq!((kinds(&next), count(&next[0], "cycle")), (vec!["revisit"], Some(2)));
    assert_eq!(count(&next[0], "round"), Some(reports.len() as u64 + 1));
    accounts_agree(&world);
    world.is_sound();
    // The cycles of the table are the rounds added up.
    let told = world.status();
    let cycles = told["cycles"].as_array().expect("a list");
    assert_eq!(
        cycles.iter().map(|cycle| count(cycle, "rounds").unwrap()).sum::<u64>(),
        reports.len() as u64 + 1
    );
    assert_eq!(count(&cycles[0], "fetched"), Some(sum(&reports, "fetched")));
    assert_eq!(count(&cycles[0], "scheduled"), Some(sum(&reports, "scheduled")));
}

#[test]
fn without_fill_a_cycle_is_one_round() {
    let world = World::new(web(60, 2), "");
    world.configure("[round]\nlinger = \"1 ms\"\nmax = \"1 ms\"");
    let reports = world.crawl(4);
    for report in &reports {
        assert_eq!((&report["round"], &report["kind"]), (&report["cycle"], &json!("revisit")), "{report}");
        assert_eq!((count(report, "carried"), &report["stopped_by"]), (Some(0), &json!("schedule")));
    }
    let told = fails(world.run(&["crawl", "--until", "filled"]), 2);
    assert!(told.contains("cycle.fill"), "{told}");
}

#[test]
fn links_of_one_page_fill_no_more_than_their_limit_a_cycle() {
    let world = World::new(web(300, 2), &format!("{FILL}fill_pages = 40\n"));
    let reports = crawl(&world, &["--cycles", "2"]);
    for cycle in 1..=2 {
        let fills: Vec<Value> = reports
            .iter()
            .filter(|r| count(r, "cycle") == Some(cycle) && r["kind"] == "fill")
            .cloned()
            .collect();
        let requested = ["fetched", "failed", "not_found", "robots_denied"].map(|name| sum(&fills, name));
        assert_eq!(requested.iter().sum::<u64>(), 40, "cycle {cycle}: {fills:?}");
    }
}

#[test]
fn a_host_gives_what_a_round_has_time_for_and_the_rest_in_the_next_ones() {
    let settings = format!("{FILL}[round]\nmax = \"200 ms\"\n[politeness]\ndelay_per_host = \"10 ms\"\n");
    let world = World::new(web(80, 1), &settings);
    let reports = crawl(&world, &["--until", "filled"]);
    assert!(reports.iter().all(|report| count(report, "scheduled") <= Some(20)), "{reports:?}");
    assert!(
        reports.len() > 4 && reports.iter().all(|report| count(report, "cycle") == Some(1)),
        "{reports:?}"
    );
    assert_eq!(world.server.counts().len(), 81, "every page was found");
    accounts_agree(&world);
}

#[test]
fn a_paused_host_costs_no_commits_and_goes_on_when_it_is_resumed() {
    let settings = "[cycle]\nfill = true\n[round]\nlinger = \"100 ms\"\n[scope]\nhosts = [\"*\"]\n";
    let world = daemon::world(60, 2, settings);
    let daemon = Daemon::start(&world);
    daemon.change("PUT", "/api/v1/hosts/127.1.0.1/pause", None);
    daemon.seed(&world.server.seeds());
    let asked = |host: &str| {
        let log = world.server.log(0).unwrap();
        log.iter().filter(|access| access.path != "/robots.txt" && access.host.starts_with(host)).count()
    };
    // Commits come to an end, however long the other host's pages take: a round a linger would be 20.
    let (mut commits, mut since) = (None, Instant::now());
    daemon.until("stalled", |s| {
        if commits != count(s, "generation") || s["state"] != "waiting" {
            (commits, since) = (count(s, "generation"), Instant::now());
        }
        since.elapsed() > Duration::from_secs(2) && asked("127.1.0.2") > 10
    });
    assert_eq!(asked("127.1.0.1"), 0);
    daemon.change("DELETE", "/api/v1/hosts/127.1.0.1/pause", None);
    daemon.until("filled", |s| s["state"] == "waiting" && asked("127.1.0.1") > 10);
    daemon.stop();
    accounts_agree(&world);
    assert_eq!(world.server.counts().len(), 62, "every page was found");
}

#[test]
fn k_in_three_parts_is_spent_as_in_one_and_no_page_is_visited_twice() {
    let settings = |rounds: &str, formula: &str| {
        format!(
            "[cycle]\npages = \"50%\"\nwarmup = 0\naudit_share = 0.2\nrounds = {rounds}\n\
             [schedule]\nformula = \"{formula}\"\n"
        )
    };
    let world = World::new(web(200, 3), &settings("1", "age"));
    world.warm_up();
    let mut totals = Vec::new();
    // The last one samples siblings in its first rounds.
    for (rounds, formula) in [("1", "age"), ("3", "age"), ("[0.6, 0.3]", "age"), ("3", "u_fresh_sib")] {
        world.configure(&settings(rounds, formula));
        let from = world.server.log(0).unwrap().len() as u64;
        world.server.advance().expect("a clock");
        let reports = crawl(&world, &["--cycles", "1"]);
        assert!(kinds(&reports).iter().all(|kind| *kind == "revisit"), "{reports:?}");
        let mut visits = BTreeMap::<_, u32>::new();
        for access in world.server.log(from).unwrap() {
            if access.path != "/robots.txt" {
                *visits.entry((access.host, access.path)).or_default() += 1;
            }
        }
        assert!(visits.values().all(|visits| *visits == 1), "{visits:?}");
        let drawn: Vec<u64> = reports.iter().map(|report| count(report, "audit_visits").unwrap()).collect();
        assert!(drawn[0] > 0 && drawn[1..].iter().all(|drawn| *drawn == 0), "drawn once: {drawn:?}");
        assert_eq!(sum(&reports, "scheduled"), sum(&reports, "of_k"));
        let last = &reports.last().unwrap()["estimates"]["freshness"];
        assert_eq!(last["effective"], reports[0]["estimates"]["freshness"]["effective"], "one sample");
        totals.push((reports.len(), sum(&reports, "of_k"), drawn[0]));
    }
    let rounds: Vec<usize> = totals.iter().map(|total| total.0).collect();
    assert_eq!(rounds, [1, 3, 2, 3]);
    assert!(totals.iter().all(|total| (total.1, total.2) == (totals[0].1, totals[0].2)), "{totals:?}");
    accounts_agree(&world);
    world.is_sound();
}

#[test]
fn a_slow_host_is_carried_into_the_next_round_with_its_share_and_keeps_nobody_waiting() {
    const SETTINGS: &str = "[cycle]\npages = \"100%\"\nfill = true\nwarmup = 0\naudit_share = 0.5\n\
                            [round]\nlinger = \"300 ms\"\n";
    let world = World::new(Config { validators: Validators::None, ..web(200, 4) }, SETTINGS);
    crawl(&world, &["--until", "filled"]);
    let known = world.pages().len() as u64;
    let before = world.server.log(0).unwrap().len();
    slow(&world, 20_000);
    world.server.advance().expect("a clock");
    let reports = crawl(&world, &["--cycles", "1"]);
    assert!(reports.len() > 2, "{reports:?}");
    let (first, last) = (&reports[0], reports.last().unwrap());
    assert_eq!((&first["kind"], &first["stopped_by"]), (&json!("revisit"), &json!("slow_hosts")), "{first}");
    assert!(count(first, "carried") > Some(0) && count(last, "carried") == Some(0), "{reports:?}");
    // Each page that was chosen is visited once, whatever its round.
    let log = world.server.log(before as u64).unwrap();
    let mut visits = BTreeMap::<_, u32>::new();
    log.iter()
        .filter(|a| a.path != "/robots.txt")
        .for_each(|a| *visits.entry((&a.host, &a.path)).or_default() += 1);
    assert!(visits.values().all(|visits| *visits == 1), "{visits:?}");
    let visited = sum(&reports, "fetched") + sum(&reports, "failed") + sum(&reports, "not_found");
    assert_eq!(visited, visits.len() as u64);
    // And so is the audit sample: half of the pages, each with its probability.
    let audit = |report: &Value| {
        let parts = ["unchanged", "changed", "not_found", "unanswered"].map(|part| &report["audit"][part]);
        let pages: u64 = parts.iter().filter_map(|part| count(part, "pages")).sum();
        (pages, parts.iter().filter_map(|part| part["weight"].as_f64()).sum::<f64>())
    };
    let eligible = count(first, "audit_eligible").unwrap();
    let (pages, weight) = reports.iter().map(audit).fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(pages.abs_diff(known / 2) <= known / 10, "{pages} of {known}");
    assert!((weight - eligible as f64).abs() < 1e-6, "they stand for {weight} of {eligible} pages");
    assert_ne!(first["estimates"]["freshness"], last["estimates"]["freshness"]);
    let whole = last["estimates"]["freshness"]["effective"].as_f64().unwrap();
    assert!((whole - pages as f64).abs() < 1.0, "{whole} beside {pages}");
    accounts_agree(&world);
    world.is_sound();
}

/// The pages of one host take about a second to come, the others do not. What these link to is visited meanwhile, in rounds of its own. The
/// last round of a run waits for it.
#[test]
fn a_page_in_flight_holds_no_round_up_and_is_answered_to_the_round_that_is_there() {
    let settings = format!("{FILL}[round]\nlinger = \"100 ms\"\n");
    for (until, has_next) in [(["--until", "filled"], true), (["--rounds", "1"], false)] {
        let world = World::new(web(24, 6), &settings);
        let url = world.server.seeds()[0].clone();
        world.server.set_faults(vec!["1/=slow:2000".parse().expect("a rule")]);
        let reports = crawl(&world, &until);
        assert_eq!(reports[0]["stopped_by"], "slow_hosts", "{}", reports[0]);
        assert_eq!(count(&reports[0], "failed"), Some(0));
        assert_eq!(count(&reports[0], "fetched") < Some(6), has_next, "{}", reports[0]);
        assert_eq!((world.asked(&url), count(&world.pages()[&url], "n")), (1, Some(0)), "{url}");
        accounts_agree(&world);
        world.is_sound();
    }
}

#[test]
fn killed_and_stopped_in_any_round_it_goes_on_and_hosts_notice_nothing() {
    const DELAY: u64 = 4;
    let settings = format!(
        "[cycle]\npages = \"100%\"\nfill = true\n[round]\nlinger = \"50 ms\"\n\
         [politeness]\ndelay_per_host = \"{DELAY} ms\"\n"
    );
    let world = World::new(web(90, 3), &settings);
    slow(&world, 20_000);
    let (mut generation, mut cycle, mut kills) = (0, 0, 0);
    for (stop, requests) in [5, 30, 60, 40, 90, 20, 70, 55, 80, 35, 25, 65].into_iter().enumerate() {
        let mut child = world.spawn_crawl(3);
        let from = world.server.log(0).unwrap().len();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none()
            && world.server.log(0).unwrap().len() < from + requests
            && begun.elapsed() < daemon::PATIENCE
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let signal = ["-TERM", "-KILL", "-INT", "-KILL"][stop % 4];
        // It may have ended.
        let _ = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        let ended = child.wait_with_output().unwrap();
        world.forgets_the_killed();
        kills += u64::from(ended.status.code().is_none());
        assert!(ended.status.success() || signal == "-KILL", "{ended:?}");
        if !world.data_dir.join("MANIFEST").exists() {
            continue;
        }
        world.is_sound();
        let status = world.status();
        let now = count(&status, "generation").unwrap();
        assert!(now >= generation, "a round is lost");
        generation = now;
        let last = status["cycles"].as_array().unwrap().last().and_then(|last| count(last, "cycle"));
        assert!((cycle..=now).contains(&last.unwrap_or(0)), "{status}");
        cycle = last.unwrap_or(0);
    }
    assert!(
        generation > cycle && cycle > 0 && kills > 2,
        "{generation} rounds, {cycle} cycles, {kills} kills"
    );
    crawl(&world, &["--rounds", "1"]);
    let missing = not_recorded(&world);
    assert!(missing <= kills * most_in_flight(), "{missing} visits are lost in {kills} kills");
    let violations = world.server.violations(Duration::from_millis(DELAY));
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0), "{violations:?}");
    assert_eq!((violations.host_gaps_under, violations.max_requests_per_host), (0, 1), "{violations:?}");
}

/// RECRAWL_KILLS sets how often the daemon is killed, RECRAWL_KILL_SEED when, and what it is asked before, RECRAWL_ROUNDS
/// the rounds of a cycle.
#[test]
fn a_daemon_killed_in_rounds_of_all_kinds_goes_on_and_hosts_notice_nothing() {
    const DELAY: u64 = 4;
    const PAGES: u32 = 300;
    let (kills, seed) = (setting("RECRAWL_KILLS", 12), setting("RECRAWL_KILL_SEED", 1));
    let rounds = setting("RECRAWL_ROUNDS", 2);
    let mut lot = StdRng::seed_from_u64(seed);
    let settings = format!(
        "[cycle]\npages = \"40%\"\nfill = true\nperiod = \"2 s\"\nrounds = {rounds}\n\
         [schedule]\nformula = \"\"\nobjective = \"balanced\"\n[storage]\nkeep_visits = 10000\n[round]\nlinger = \"50 ms\"\n[scope]\nhosts = [\"*\"]\n[politeness]\ndelay_per_host = \"{DELAY} ms\"\n"
    );
    let world = daemon::world(PAGES, 3, &settings);
    slow(&world, 40_000);
    let seeds = world.server.seeds();
    let mut generation = 0;
    for kill in 0..kills {
        world.server.set_clock(kill as u32).unwrap();
        let daemon = Daemon::start(&world);
        if kill == 0 {
            daemon.seed(&seeds);
        }
        // In a round of each kind in turn.
        let kind = ["fill", "revisit", "urgent"][kill as usize % 3];
        let begun = Instant::now();
        let mut asks_at = begun + Duration::from_millis(lot.random_range(0..400));
        while daemon.status()["cycle"]["kind"] != kind && begun.elapsed() < daemon::PATIENCE {
            if Instant::now() >= asks_at {
                asks_at += Duration::from_millis(lot.random_range(50..800));
                let url = world.server.url(lot.random_range(0..PAGES));
                let asked = json!({ "url": url });
                // It may not be known yet.
                let (status, document) = daemon.ask("POST", "/api/v1/recrawl", Some(asked));
                assert!([200, 202, 404].contains(&status), "{document}");
                daemon.seed(&[format!("{}never-linked-{}", seeds[kill as usize % 3], lot.random::<u32>())]);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(lot.random_range(0..150)));
        daemon.kill();
        world.forgets_the_killed();
        if !world.data_dir.join("MANIFEST").exists() {
            continue;
        }
        world.is_sound();
        let now = count(&world.status(), "generation").unwrap();
        assert!(now >= generation, "a round is lost");
        generation = now;
    }
    // The round that was begun last.
    crawl(&world, &["--rounds", "1"]);
    let rounds = json_lines(&succeeds(world.run(&["export", "rounds", "--out", "-"])));
    let of_kind = |kind| rounds.iter().filter(|report| report["kind"] == kind).count();
    let [revisits, fills, urgent] = ["revisit", "fill", "urgent"].map(of_kind);
    let missing = not_recorded(&world);
    // And t.
    rebuild_with_urgent(&world);
    let given: usize = world.given_out().values().map(Vec::len).sum();
    println!(
        "{kills} kills: {revisits} revisit rounds, {fills} fill rounds, {urgent} urgent rounds; {given} responses \
         given out, {missing} of them not recorded"
    );
    assert!(revisits > 0 && fills > 0 && urgent > 0, "{rounds:?}");
    assert!(missing <= kills * most_in_flight(), "{missing} visits are lost in {kills} kills");
    let violations = world.server.violations(Duration::from_millis(DELAY));
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0), "{violations:?}");
    assert_eq!((violations.host_gaps_under, violations.max_requests_per_host), (0, 1), "{violations:?}");
    world.is_sound();
}

#[test]
fn the_rounds_of_a_cycle_share_its_budget_of_bytes() {
    const BUDGET: u64 = 150_000;
    let world = World::new(web(200, 2), &format!("{FILL}[budget]\nbytes_per_cycle = \"{BUDGET} B\"\n"));
    let reports = crawl(&world, &["--cycles", "2"]);
    for cycle in 1..=2 {
        let rounds: Vec<Value> =
            reports.iter().filter(|r| count(r, "cycle") == Some(cycle)).cloned().collect();
        let bytes = sum(&rounds, "bytes");
        assert!((BUDGET..BUDGET + 33 * 8_000).contains(&bytes), "cycle {cycle}: {bytes}: {rounds:?}");
        assert_eq!(rounds.last().unwrap()["stopped_by"], "byte_budget", "{rounds:?}");
    }
}

#[test]
fn a_daemon_crawls_its_seeds_at_once_and_what_is_asked_for_within_seconds() {
    const SETTINGS: &str = "[cycle]\nfill = true\n[scope]\nhosts = [\"*\"]\n";
    let world = daemon::world(60, 2, SETTINGS);
    let seeds = world.server.seeds();
    let mut command = world.command(&["serve", "--seed", &seeds[0], "--contact", "me@example.org"]);
    command.arg("--random-seed").arg("3");
    let daemon = Daemon::of(command);
    let known =
        daemon.until("filled", |status| status["state"] == "waiting" && status["pages"].as_u64() > Some(60));
    assert!(known["next_cycle_at"].as_u64() > known["now"].as_u64().map(|now| now + 3_600_000), "{known}");
    // Both hosts are known now. A page of one is asked for again, and a new seed is given.
    let rounds = count(&known, "generation").unwrap();
    let (page, before) = (world.server.url(7), world.asked(&world.server.url(7)));
    daemon.change("POST", "/api/v1/recrawl", Some(json!({"url": page})));
    daemon.until("asked again", |status| count(status, "generation") > Some(rounds));
    assert_eq!(world.asked(&page), before + 1);
    let seed = format!("{}never-linked", seeds[1]);
    assert_eq!(daemon.seed(std::slice::from_ref(&seed)), "next_round");
    daemon.until("visited", |_| world.asked(&seed) == 1);
    daemon.stop();
    accounts_agree(&world);
    world.is_sound();
}
