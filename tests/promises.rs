//! Promises to visit pages in time: kept, counted, and refused by the limit that binds.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, fails, json_lines, succeeds, web};
use recrawl_mockweb::fault::FaultRule;
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, WebConfig};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Periods within which a promised page is visited.
const WITHIN: u64 = 8;
/// Cycles of a crawl that keeps its promise.
const CYCLES: u64 = 30;

/// A promise for the first host of the web.
fn promise(world: &World, within: &str) -> String {
    format!("[[promises]]\nmatch = \"{}*\"\nwithin = \"{within}\"\nshare = 0.95\n", world.server.seeds()[0])
}

fn promises(world: &World) -> Value {
    serde_json::from_str(&succeeds(world.run(&["promises", "--json"]))).unwrap()
}

/// A formula that visits the same pages again and again, and starves the others.
const STARVES: &str = "[schedule]\nformula = \"n\"\n";

#[test]
fn a_promise_is_kept_over_many_cycles_with_failures_and_counted() {
    let settings = format!("{STARVES}[cycle]\npages = \"40%\"\nfill = true\nwarmup = 0\n");
    let world = daemon::world(90, 3, &settings);
    // Pages only: robots.txt stays.
    world.server.set_faults(vec!["/=status@0.02:500".parse::<FaultRule>().unwrap()]);
    world.crawl(1);
    // A cycle has several times as long as one takes here and now, from the start of a program to its end.
    let begun = Instant::now();
    world.crawl(1);
    let period = 1 + (4 * begun.elapsed()).as_secs();
    let (settings, within) =
        (settings + &format!("period = \"{period} s\"\n"), format!("{} s", WITHIN * period));
    daemon::configure(&world, &format!("{settings}{}", promise(&world, &within)));
    let daemon = Daemon::start(&world);
    let status =
        daemon.until_within(Duration::from_secs(period * CYCLES * 10), "crawled long enough", |status| {
            status["last"]["cycle"].as_u64() >= Some(CYCLES)
        });
    assert_eq!(status.pointer("/promises/made"), Some(&1.into()), "{}", status["promises"]);
    assert_eq!(status.pointer("/promises/limited"), Some(&0.into()), "{}", status["promises"]);
    let by_daemon = daemon.get("/api/v1/promises");
    assert!(succeeds(world.run(&["promises"])).contains(&format!("within {within}")));
    let log = daemon.stop();
    assert!(!log.contains("cannot be kept"), "{log}");

    // What the web saw: gaps of pages on the first host, the open ones too.
    let given = world.given_out();
    let access_log = world.server.log(0).unwrap();
    let end = access_log.iter().map(|access| access.ms).max().unwrap();
    let (mut gaps, mut within) = (0u64, 0u64);
    for visits in given.iter().filter(|(url, _)| url.starts_with(&world.server.seeds()[0])).map(|(_, v)| v) {
        let times: Vec<u64> = visits.iter().map(|access| access.ms).chain([end]).collect();
        for pair in times.windows(2) {
            gaps += 1;
            within += u64::from(pair[1] - pair[0] <= WITHIN * period * 1_000);
        }
    }
    assert!(gaps > 100, "{gaps} gaps");
    assert!(within as f64 >= 0.95 * gaps as f64, "{within} of {gaps} gaps");

    let told = &by_daemon["promises"][0];
    let share = told["kept_share"].as_f64().unwrap();
    assert!(share >= 0.95, "{told}");
    assert!(count(told, "refused") > Some(0), "robots.txt keeps some out: {told}");
    let classes = ["kept", "late", "never_visited", "gone", "refused", "backing_off", "kept_out"];
    let sum: u64 = classes.iter().map(|class| count(told, class).unwrap()).sum();
    let pages = world.pages();
    let known = pages.keys().filter(|url| url.starts_with(&world.server.seeds()[0])).count();
    assert_eq!(sum, known as u64, "each page is counted once: {told}");
    assert!(told["limit"].is_null() && count(told, "every") > Some(2), "{told}");

    // Each promised visit is recorded as such, on the promised host alone, and is no visit by score.
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let promised: Vec<&Value> = visits.iter().filter(|visit| visit["share"] == "promised").collect();
    assert!(promised.len() > 50, "{} promised visits", promised.len());
    let prefix = &world.server.seeds()[0];
    assert!(promised.iter().all(|visit| visit["url"].as_str().unwrap().starts_with(prefix)));
    let cycles = json_lines(&succeeds(world.run(&["export", "cycles", "--out", "-"])));
    for cycle in cycles.iter().skip(2) {
        let planned = count(&cycle["promises"][0], "planned").unwrap();
        assert!(planned <= count(cycle, "of_k").unwrap() / 2 + 1, "{cycle}");
    }
    assert!(succeeds(world.run(&["status"])).contains("1 promise, "));
    world.is_sound();
}

/// A crawl that knows its pages, without a promise.
fn crawled(web: Config) -> World {
    let world = World::new(web, "[cycle]\npages = \"100%\"\n");
    (0..3).for_each(|_| drop(world.next_cycle()));
    world
}

/// What a start with these settings is refused with.
fn refused(world: &World, settings: &str, within: &str) -> String {
    let data_dir = format!("[storage]\ndata_dir = \"{}\"\n", world.data_dir.display());
    world.configure(&format!("{settings}{data_dir}{}", promise(world, within)));
    let config = world.config_file();
    let checked =
        crate::harness::program().args(["config", "check", "--config"]).arg(&config).output().unwrap();
    let checked = fails(checked, 2);
    for command in ["crawl", "serve"] {
        let mut words = vec![command];
        words.extend(["--cycles", "1"].into_iter().filter(|_| command == "crawl"));
        assert_eq!(fails(world.run(&words), 2), checked, "{command}");
    }
    checked
}

#[test]
fn a_promise_is_refused_by_the_period() {
    let world = World::new(web(10, 1), "");
    let told = refused(&world, "[cycle]\nperiod = \"1 d\"\n", "6 h");
    assert!(told.contains("visited at most once a cycle of 1 d, which is more than 6 h"), "{told}");
    let told = refused(&world, "[cycle]\nperiod = \"1 s\"\n", "1 h");
    assert!(told.contains("storage.keep_visits must be at least 3602"), "{told}");
}

#[test]
fn a_promise_is_refused_by_pages_times_delay() {
    let world = crawled(web(40, 2));
    let told = refused(
        &world,
        "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"500 ms\"\n",
        "5 s",
    );
    assert!(told.contains("127.1.0.1 at a delay of 500 ms take"), "{told}");
    assert!(told.contains("politeness.delay_per_host"), "{told}");
}

#[test]
fn a_promise_is_refused_by_a_crawl_delay() {
    let procedural = ProceduralConfig {
        pages: 4,
        hosts: 1,
        seed: 7,
        crawl_delay_seconds: Some(1),
        ..ProceduralConfig::default()
    };
    let world = crawled(Config::new(WebConfig::Procedural(procedural)));
    let told = refused(&world, "[cycle]\npages = \"100%\"\npages_min = 100\nperiod = \"1 s\"\n", "2 s");
    assert!(told.contains("at a Crawl-delay of 1 s take"), "{told}");
}

#[test]
fn a_promise_is_refused_by_the_budget_and_by_the_limit_of_a_host() {
    let world = crawled(web(40, 2));
    // Longer than the period, in which nothing ran: that is no cycle which took longer.
    std::thread::sleep(Duration::from_millis(1_500));
    let told = refused(&world, "[cycle]\npages = 4\nperiod = \"1 s\"\n", "2 s");
    assert!(told.contains("half of k is 2") && told.contains("cycle.pages"), "{told}");
    let settings =
        "[cycle]\npages = \"100%\"\npages_min = 100\nperiod = \"1 s\"\n[schedule]\nmax_per_host = 2\n";
    let told = refused(&world, settings, "2 s");
    assert!(told.contains("schedule.max_per_host allows 2"), "{told}");
}

#[test]
fn a_promise_that_can_no_longer_be_kept_is_shown_and_the_crawl_goes_on() {
    let settings = "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\nfill = true\n[politeness]\ndelay_per_host = \"80 ms\"\n";
    let world = daemon::world(60, 1, settings);
    // Nothing is known at the start, so nothing speaks against it.
    daemon::configure(&world, &format!("{settings}{}", promise(&world, "2 s")));
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    // The budget may be the first limit, while few pages are known.
    let status = daemon.until("limited by the delay", |status| {
        status.pointer("/promises/limited") == Some(&1.into())
            && daemon.get("/api/v1/cycles?last=1").to_string().contains("host_delay")
    });
    assert_eq!(status["state"].as_str().map(|state| state != "stopping"), Some(true));
    let told = daemon.get("/api/v1/promises");
    assert_eq!(told.pointer("/promises/0/limit/limit"), Some(&"host_delay".into()), "{told}");
    let log = daemon.stop();
    assert!(log.contains("cannot be kept"), "{log}");
}

#[test]
fn without_pages_below_a_prefix_a_plan_is_the_same_as_without_promises() {
    let mut world = World::new(web(60, 3), "[cycle]\npages = \"40%\"\naudit_share = 0.1\n");
    let plain = world.data_dir.clone();
    let with_promise = world.folder.path().join("promised");
    let elsewhere = "[[promises]]\nmatch = \"https://elsewhere.example/*\"\nwithin = \"3 d\"\n";
    for _ in 0..6 {
        world.server.advance().unwrap();
        for (folder, promise) in [(&plain, ""), (&with_promise, elsewhere)] {
            world.configure(&format!("[cycle]\npages = \"40%\"\naudit_share = 0.1\n{promise}"));
            world.data_dir.clone_from(folder);
            let report = world.crawl(1).remove(0);
            assert_eq!(report.get("promises").is_some(), !promise.is_empty(), "{report}");
        }
    }
    let visits = |world: &World| -> Vec<Value> {
        let mut visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
        visits.iter_mut().for_each(|visit| visit["time"] = Value::Null);
        visits
    };
    let of_promise = visits(&world);
    let told = promises(&world);
    assert!(told.pointer("/promises/0/kept_share").is_some_and(Value::is_null), "{told}");
    world.data_dir = plain;
    assert_eq!(visits(&world), of_promise);
    assert!(of_promise.iter().all(|visit| visit["share"] != "promised"));
    world.configure("");
    assert_eq!(promises(&world)["promises"], Value::Array(Vec::new()));
}
