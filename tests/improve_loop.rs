//! The loop of `improve`, as the console tells and changes it: step by step, by the API and by commands beside the daemon.

use crate::api::{ask, check};
use crate::daemon::{Daemon, PATIENCE, configure, world};
use crate::harness::*;
use recrawl_crawl::parts::improve::candidate::{BackTestFigures, FormulaCandidate};
use recrawl_formula::Formula;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const LOOP: &str = "[improve]\nmode = \"promote\"\nevery = 1000\nshadow_cycles = 2\nbefore_cycles = 1\n\
                    settling_cycles = 1\ntrial_cycles = 2\nguard_cycles = 3\nmax_loss = 0.9\ntrial_sites = 20\n\
                    [schedule]\nformula = \"n\"\n[cycle]\npages = \"30%\"\naudit_share = 0.4\n";

/// A crawl past its warm-up, with as many sites as a trial takes.
fn measured(settings: &str) -> World {
    let world = world(240, 24, settings);
    (0..6).for_each(|_| drop(world.next_cycle()));
    world
}

fn propose() -> String {
    LOOP.replace("\"promote\"", "\"propose\"")
}

/// A candidate as a back-test leaves it; its id.
pub fn offer(world: &World, expression: &str) -> String {
    offer_to(&world.data_dir, expression)
}

pub fn offer_to(data_dir: &Path, expression: &str) -> String {
    let back_test = BackTestFigures {
        fitness: "change_rate".into(),
        in_force: ("n".into(), 0.2),
        candidate: 0.22,
        closed_forms: vec![("p_eb_site".into(), 0.21)],
        gain: [0.01, 0.03],
        alpha: 0.025,
        coverage: [0.9, 0.95],
        sample: [1000, 80, 60],
        freshness: None,
    };
    let candidate =
        FormulaCandidate::new(&Formula::from_expression(expression).unwrap(), 6, back_test).unwrap();
    candidate.write(data_dir).unwrap();
    candidate.id()
}

/// What the console tells of the loop, each answer held to the document; then what `then` does.
fn look(world: &World, step: &str, id: Option<&str>, then: impl FnOnce(&Daemon, &Value)) {
    let daemon = Daemon::start(world);
    daemon.until("waiting", |status| status["state"] == "waiting");
    let document = daemon.get("/openapi.json");
    let candidate = id.map(|id| format!("/api/v1/improve/candidates/{id}"));
    let mut paths = vec![
        ("/api/v1/improve", "/api/v1/improve"),
        ("/api/v1/improve/history", "/api/v1/improve/history?limit=2"),
        ("/api/v1/whatif", "/api/v1/whatif"),
        ("/api/v1/savings", "/api/v1/savings"),
    ];
    paths.extend(candidate.as_deref().map(|path| ("/api/v1/improve/candidates/{id}", path)));
    for (route, path) in paths {
        let answer = ask(&daemon.address, "GET", path, false, "");
        assert!(answer.status == 200 || answer.status == 202, "{path}: {}", answer.status);
        check(&document, "GET", route, path, &answer);
    }
    let improve = daemon.get("/api/v1/improve");
    assert_eq!(improve["loop"]["step"], step, "{improve:#}");
    assert!(improve["loop"]["needs"][0].is_string(), "{improve:#}");
    let metrics = ask(&daemon.address, "GET", "/metrics", false, "").body;
    assert!(metrics.contains(&format!("recrawl_improve_step{{step=\"{step}\"}} 1")), "{metrics}");
    then(&daemon, &improve["loop"]);
    daemon.stop();
}

fn refused(daemon: &Daemon, path: &str, parts: [&str; 2]) {
    let (status, problem) = daemon.ask("POST", path, None);
    assert_eq!((status, &problem["type"]), (409, &"/problems/conflict".into()), "{problem}");
    let told = [&problem["detail"], &problem["todo"]].map(|text| text.as_str().unwrap());
    assert!(told.iter().zip(parts).all(|(told, part)| told.contains(part)), "{told:?}");
}

#[test]
fn each_step_of_the_loop_is_told_and_what_does_not_apply_is_refused() {
    let world = measured(LOOP);
    let id = offer(&world, "t");
    look(&world, "idle", Some(&id), |daemon, stands| {
        assert_eq!(stands["waiting"]["id"], *id);
        refused(daemon, "/api/v1/improve/promote", ["no candidate waits", "recrawl improve run"]);
        refused(daemon, "/api/v1/improve/rollback", ["no promoted formula", "recrawl formula rollback"]);
        // Too young a crawl: what is missing, and no interval from nothing.
        let begun = Instant::now();
        let forecast = loop {
            let (status, forecast) = daemon.ask("GET", "/api/v1/whatif", None);
            if status == 200 {
                break forecast;
            }
            assert!(forecast["state"] == "computing" && begun.elapsed() < PATIENCE, "{forecast}");
            // The console answers a limited number of requests a second.
            std::thread::sleep(Duration::from_millis(100));
        };
        assert_eq!((&forecast["enough"], &forecast["forecasts"]), (&false.into(), &json!([])));
        let cycles = forecast["missing"].as_array().unwrap().iter().find(|one| one["needed"] == 14);
        assert!(cycles.is_some_and(|cycles| cycles["there"].as_u64() < Some(14)), "{forecast}");
        let again = ask(&daemon.address, "GET", "/api/v1/savings", false, "");
        assert_eq!(again.status, 200, "both are computed once a cycle");
    });
    world.next_cycle();
    world.next_cycle();
    look(&world, "shadow", Some(&id), |_, stands| {
        assert_eq!(stands["candidate"]["expression"], "t");
        assert_eq!((&stands["beside"], &stands["waiting"]), (&"n".into(), &Value::Null));
        assert!(stands["shadow"]["overlap"].as_f64().unwrap() < 1.0, "{stands:#}");
    });
    world.next_cycle();
    look(&world, "trial", Some(&id), |daemon, stands| {
        assert_eq!(stands["trial"]["phase"], "settling", "{stands:#}");
        refused(daemon, "/api/v1/improve/promote", ["its trial runs", "hold the loop"]);
        refused(daemon, "/api/v1/improve/run", ["a candidate is tried", "hold the loop"]);
    });
    (0..2).for_each(|_| drop(world.next_cycle()));
    look(&world, "trial", Some(&id), |_, stands| {
        let trial = &stands["trial"];
        assert_eq!(trial["phase"], "measured", "{stands:#}");
        assert!(trial["effect"]["low"].as_f64() < trial["effect"]["high"].as_f64(), "{stands:#}");
        assert_eq!(trial["arms"].as_array().unwrap().len(), 3, "{stands:#}");
    });
    (0..2).for_each(|_| drop(world.next_cycle()));
    look(&world, "guard", Some(&id), |daemon, _| {
        refused(daemon, "/api/v1/improve/promote", ["in force already", "recrawl improve rollback"]);
        assert_eq!(daemon.change("POST", "/api/v1/improve/rollback", None), "next_cycle");
        assert_eq!(daemon.change("POST", "/api/v1/improve/rollback", None), "already");
        assert_eq!(daemon.get("/api/v1/improve")["loop"]["asked"]["who"], "anna");
    });
    assert_eq!(world.next_cycle()["formula"], "n", "taken back with the next cycle");
    look(&world, "idle", Some(&id), |daemon, stands| {
        assert_eq!(stands["quarantine"][0]["id"], *id);
        let told = daemon.get(&format!("/api/v1/improve/candidates/{id}"));
        assert_eq!((&told["state"], &told["candidate"]), (&"quarantined".into(), &Value::Null));
        let events: Vec<&str> =
            told["events"].as_array().unwrap().iter().map(|event| event["what"].as_str().unwrap()).collect();
        assert_eq!(events, ["rolled_back", "promoted", "trial_began", "shadowed"]);
        let (status, _) = daemon.ask("GET", "/api/v1/improve/candidates/none", None);
        assert_eq!(status, 404);
    });
    world.is_sound();
}

#[test]
fn commands_beside_a_daemon_decide_through_it() {
    let world = measured(&propose());
    offer(&world, "t");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let asked = |daemon: &Daemon| daemon.get("/api/v1/improve")["loop"]["asked"]["what"].clone();
    look(&world, "proposed", None, |daemon, _| {
        let said = succeeds(world.run(&["improve", "promote"]));
        assert!(said.contains("t: in force from cycle 10 on"), "{said}");
        assert_eq!(asked(daemon), "promote");
        let told = succeeds(world.run(&["improve", "history"]));
        assert!(told.contains("waits for an operator") && told.contains("shadowed t: gain"), "{told}");
        let refused = fails(world.run(&["improve", "rollback"]), 1);
        assert!(refused.contains("hold the loop to drop it"), "{refused}");
        succeeds(world.run(&["improve", "hold"]));
        assert_eq!(asked(daemon), Value::Null);
        succeeds(world.run(&["improve", "release"]));
        succeeds(world.run(&["improve", "promote"]));
    });
    let log = std::fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap();
    let kinds: Vec<String> = json_lines(&log)
        .iter()
        .filter(|line| line["result"] == "begun")
        .map(|line| line["change"]["kind"].as_str().unwrap().to_owned())
        .collect();
    let decided =
        ["promote_candidate", "roll_back_candidate", "hold_loop", "release_loop", "promote_candidate"];
    assert_eq!(kinds, decided, "{log}");
    assert_eq!(world.next_cycle()["formula"], "t");
}

/// A promotion in the middle of a cycle leaves the cycle as it was planned, in all its rounds.
#[test]
fn a_promotion_comes_with_the_next_cycle_and_not_before() {
    let world = measured(&propose());
    offer(&world, "t");
    (0..3).for_each(|_| drop(world.next_cycle()));
    let slow =
        "rounds = 2\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"100 ms\"\ndelay_per_latency = 0.0\n";
    configure(&world, &(propose() + slow));
    let daemon = Daemon::start(&world);
    // Held in the middle of a cycle, so that it is the same cycle when the promotion arrives.
    let cycle = loop {
        daemon.until("fetching", |status| status["cycle"]["stage"] == "fetching");
        daemon.change("PUT", "/api/v1/pause", None);
        if let Some(cycle) = daemon.status()["cycle"]["cycle"].as_u64() {
            break cycle;
        }
        daemon.change("DELETE", "/api/v1/pause", None);
    };
    assert_eq!(daemon.change("POST", "/api/v1/improve/promote", None), "next_cycle");
    daemon.change("DELETE", "/api/v1/pause", None);
    daemon.until("two cycles on", |status| status["last"]["cycle"].as_u64() > Some(cycle));
    let reports = daemon.get("/api/v1/cycles?last=20");
    let formula = |of: u64| {
        let report = reports.as_array().unwrap().iter().find(|report| report["cycle"] == of);
        report.unwrap_or_else(|| panic!("{of}: {reports}"))["formula"].clone()
    };
    assert_eq!((formula(cycle), formula(cycle + 1)), ("n".into(), "t".into()));
    daemon.until("guarded", |_| {
        let stands = daemon.get("/api/v1/improve")["loop"].clone();
        (&stands["step"], &stands["asked"]) == (&"guard".into(), &Value::Null)
    });
    daemon.stop();
}

/// Learning is asked for, fails for want of sites, and says so.
#[test]
fn a_learner_that_fails_says_why() {
    let world = world(60, 2, &propose());
    (0..3).for_each(|_| drop(world.next_cycle()));
    let daemon = Daemon::start(&world);
    daemon.until("waiting", |status| status["state"] == "waiting");
    assert_eq!(daemon.change("POST", "/api/v1/improve/run", None), "next_round");
    let begun = Instant::now();
    loop {
        let learner = daemon.get("/api/v1/improve")["loop"]["learner"].clone();
        if learner["ended"]["has_learned"] == false {
            assert_eq!((&learner["failures"], &learner["running_since"]), (&1.into(), &Value::Null));
            let why = learner["ended"]["why"].as_str().unwrap();
            assert!(why.contains("too little to learn from"), "{why}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{learner}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(daemon.change("PUT", "/api/v1/improve/hold", None), "done");
    refused(&daemon, "/api/v1/improve/run", ["an operator holds the loop", "release it"]);
    daemon.stop();
}

/// A learner that is killed failed, and is due only after `every` cycles; one that a daemon's end took with it begins again.
#[test]
fn a_learner_ends_with_its_daemon_and_begins_again_with_the_next() {
    let often = LOOP.replace("every = 1000", "every = 20\nlearn_cpu = \"10 min\"");
    let world = measured(&(often.clone() + "[politeness]\ndelay_per_host = \"1 ms\"\n"));
    (0..15).for_each(|_| drop(world.next_cycle()));
    configure(&world, &often.replace("[cycle]\n", "[cycle]\nperiod = \"200 ms\"\n"));
    let running = |daemon: &Daemon| {
        let begun = Instant::now();
        loop {
            let learner = daemon.get("/api/v1/improve")["loop"]["learner"].clone();
            if learner["running_since"].is_u64() {
                return learner;
            }
            assert!(begun.elapsed() < PATIENCE, "{learner}\n{}", daemon.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let child = |daemon: &Daemon| {
        let id = daemon.child.id();
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let children =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        children.collect::<String>().trim().to_owned()
    };
    let is_gone = |id: &str| {
        let begun = Instant::now();
        while std::fs::metadata(format!("/proc/{id}")).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "the learner {id} is left");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    // One whose daemon ended before the system knew that it is to end with it, ends by itself.
    let orphan = fails(world.run(&["improve", "run", "--child-of", "1"]), 1);
    assert!(orphan.contains("the daemon that started this learner has ended"), "{orphan}");
    let daemon = Daemon::start(&world);
    running(&daemon);
    let killed = child(&daemon);
    daemon.kill();
    is_gone(&killed);
    let daemon = Daemon::start(&world);
    let learner = running(&daemon);
    assert_eq!(learner["last"], Value::Null, "it has not ended: {learner}");
    let stopped = child(&daemon);
    daemon.stop();
    is_gone(&stopped);
    let daemon = Daemon::start(&world);
    running(&daemon);
    let sent = std::process::Command::new("kill").args(["-9", &child(&daemon)]).status();
    assert!(sent.unwrap().success());
    daemon.until("told", |_| {
        let learner = daemon.get("/api/v1/improve")["loop"]["learner"].clone();
        learner["ended"]["has_learned"] == false && learner["last"].is_u64()
    });
    let learner = daemon.get("/api/v1/improve")["loop"]["learner"].clone();
    assert!(learner["ended"]["why"].as_str().unwrap().contains("signal: 9"), "{learner}");
    assert_eq!(learner["next"], learner["last"].as_u64().unwrap() + 20, "{learner}");
    daemon.stop();
}

#[test]
fn a_crawl_that_tries_nothing_says_what_to_set() {
    let world = world(20, 1, "");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let improve = daemon.get("/api/v1/improve");
    assert_eq!(
        (&improve["mode"], &improve["watch"], &improve["loop"]),
        (&"off".into(), &Value::Null, &Value::Null)
    );
    assert!(improve["todo"].as_str().unwrap().contains("improve.mode"));
    let forecast = daemon.get("/api/v1/whatif");
    let missing = json!([{"what": "audited pages", "there": 0, "needed": 100}]);
    assert_eq!((&forecast["enough"], &forecast["missing"]), (&false.into(), &missing), "at once");
    for path in ["promote", "rollback", "run"] {
        refused(&daemon, &format!("/api/v1/improve/{path}"), ["nothing is tried", "improve.mode"]);
    }
    let refused = fails(world.run(&["improve", "hold"]), 1);
    assert!(refused.contains("improve.mode"), "{refused}");
    let metrics = ask(&daemon.address, "GET", "/metrics", false, "").body;
    assert!(!metrics.contains("recrawl_improve_"), "{metrics}");
    daemon.stop();
}
