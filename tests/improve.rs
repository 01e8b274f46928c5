//! A crawl that measures itself: the panel, what kept visits tell, reports, and nothing of it when it is off.

use crate::harness::{World, count, fails, json_lines, program, succeeds, web};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const WATCH: &str = "[improve]\nmode = \"watch\"\n[cycle]\npages = \"40%\"\naudit_share = 0.4\n";

fn exported(world: &World) -> Vec<Value> {
    json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])))
}

/// The rows of each page by cycle.
fn by_page(visits: &[Value]) -> BTreeMap<&str, Vec<&Value>> {
    let mut pages = BTreeMap::<&str, Vec<&Value>>::new();
    visits.iter().for_each(|visit| pages.entry(visit["url"].as_str().unwrap()).or_default().push(visit));
    pages
}

#[test]
fn kept_visits_say_how_their_pages_stood_and_the_panel_is_visited_in_every_cycle() {
    let world = World::new(web(200, 4), WATCH);
    let reports: Vec<Value> = (0..14).map(|_| world.next_cycle()).collect();
    let visits = exported(&world);
    let last_cycle = count(reports.last().unwrap(), "cycle").unwrap();
    let (mut panel_pages, mut ages) = (0, 0);
    for (url, rows) in by_page(&visits) {
        let mut last = None;
        for row in &rows {
            let cycle = count(row, "cycle").unwrap();
            match (last, count(row, "age")) {
                (None, age) => assert_eq!(age, None, "a first visit stood nowhere: {row}"),
                (Some(before), Some(age)) => {
                    assert_eq!(age, cycle - before, "{row}");
                    ages += 1;
                }
                // Nothing planned these.
                (Some(_), None) => assert!(row["share"] == "followed" || row["share"] == "asked", "{row}"),
            }
            if row["share"] == "score" {
                assert!(row["score"].is_number() && row["above_cutoff"] == true, "{row}");
            }
            if row["share"] == "panel" {
                assert!(row["score"].is_null() && row["above_cutoff"].is_null(), "{row}");
            }
            if !row["age"].is_null() {
                let expected = row["expected"].as_f64().unwrap();
                assert!(expected > 0.0 && expected < 1.0 && count(row, "bytes").is_some(), "{row}");
            }
            if row["outcome"] != "failed" && row["outcome"] != "skipped" {
                last = Some(cycle);
            }
        }
        // Drawn for the audit, then visited in every cycle.
        if let Some(entered) = rows.iter().position(|row| row["share"] == "panel") {
            panel_pages += 1;
            let cycles: Vec<_> = rows[entered..].iter().map(|row| count(row, "cycle").unwrap()).collect();
            assert_eq!(cycles, (cycles[0]..=last_cycle).collect::<Vec<_>>(), "{url}");
            let before = rows[..entered].last().expect("it was visited before");
            assert_eq!((&before["share"], count(before, "cycle")), (&"audit".into(), Some(cycles[0] - 1)));
        }
    }
    assert!(panel_pages > 2 && ages > 500, "{panel_pages} pages of a panel, {ages} visits with t");

    let of = |report: &Value, pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap();
    for report in &reports[6..] {
        let population = ["gone", "refused", "backing_off", "discovery_due", "warmup_due", "revisit_due"];
        let pages: f64 = population.iter().map(|gate| of(report, &format!("/population/{gate}"))).sum();
        assert!(pages > 100.0 && pages <= of(report, "/pages_known"), "{report}");
        let eligible = of(report, "/population/audit_eligible");
        assert_eq!(of(report, "/audit_eligible"), eligible);
        let expected = of(report, "/population/expected/changes");
        assert!(expected > 0.0 && expected < eligible, "{report}");
        for histogram in ["visits", "change_rate", "age", "depth"] {
            let bins = report.pointer(&format!("/population/histograms/{histogram}")).unwrap();
            let sum: f64 = bins.as_array().unwrap().iter().map(|bin| bin.as_f64().unwrap()).sum();
            assert_eq!(sum, of(report, "/population/revisit_due"), "{histogram}: {report}");
        }
        for (share, visits, changed) in
            [("score", "score_visits", "score_changed"), ("audit", "audit_visits", "audit_changed")]
        {
            assert_eq!(of(report, &format!("/found/{share}/visits")), of(report, &format!("/{visits}")));
            assert_eq!(of(report, &format!("/found/{share}/changed")), of(report, &format!("/{changed}")));
        }
    }
    let panel = |report: &Value| (of(report, "/found/panel/visits"), report["panel_visits"].as_f64());
    let (visited, counted) = panel(reports.last().unwrap());
    assert!(visited == counted.unwrap() && visited >= panel_pages as f64 - 2.0, "{visited} of {panel_pages}");
    world.is_sound();
}

#[test]
fn what_is_off_leaves_no_trace() {
    let world = World::new(web(80, 2), "[cycle]\npages = \"40%\"\naudit_share = 0.4\n");
    for _ in 0..6 {
        let report = world.next_cycle();
        for key in ["population", "found", "panel_visits"] {
            assert!(report.get(key).is_none(), "{key}: {report}");
        }
    }
    for row in exported(&world) {
        for column in ["age", "score", "above_cutoff", "expected", "bytes", "milliseconds"] {
            assert!(row[column].is_null(), "{column}: {row}");
        }
        assert!(row["share"] != "panel", "{row}");
    }
}

#[test]
fn a_crawl_that_cannot_be_measured_says_what_is_missing() {
    let world = World::new(web(10, 1), "");
    for (settings, what) in [
        (
            "[improve]\nmode = \"on\"\n",
            "improve.mode is \"on\"; write \"off\", \"watch\", \"propose\" or \"promote\"",
        ),
        ("[improve]\nmode = \"watch\"\n[cycle]\naudit_share = 0.0\n", "cycle.audit_share"),
        (
            "[improve]\nmode = \"propose\"\n[cycle]\naudit_share = 0.1\n[schedule]\npolicy = \"age\"\n",
            "schedule.policy",
        ),
        (
            "[improve]\nmode = \"watch\"\n[cycle]\naudit_share = 0.1\n[storage]\nkeep_visits = 0\n",
            "storage.keep_visits is 0",
        ),
        (
            "[improve]\nmode = \"promote\"\n[cycle]\naudit_share = 0.4\ndiscovery_share = 0.5\n",
            "cycle.discovery_share is the largest",
        ),
        (
            "[improve]\nmode = \"promote\"\n[cycle]\naudit_share = 0.1\n[storage]\nkeep_visits = 5\n",
            "at least 14 cycles",
        ),
    ] {
        world.configure(settings);
        let checked =
            program().args(["config", "check", "--config"]).arg(world.config_file()).output().unwrap();
        for output in [world.run(&["crawl", "--cycles", "1"]), checked] {
            let line = fails(output, 2);
            assert!(line.contains(what), "{line}");
        }
    }
}

const PROMOTE: &str = "[improve]\nmode = \"promote\"\nshadow_cycles = 3\nbefore_cycles = 5\nsettling_cycles = 2\n\
                       trial_cycles = 5\nguard_cycles = 3\nmax_loss = 0.9\ntrial_sites = 20\n[schedule]\n\
                       formula = \"n\"\n[cycle]\npages = \"30%\"\naudit_share = 0.4\n";

/// A crawl that starves some pages learns a formula from its own visits, tries it and puts it in force; the web told it
/// what to expect of more visits.
#[test]
fn a_formula_learned_from_the_crawls_own_visits_is_tried_and_comes_into_force() {
    let world = World::new(web(900, 40), PROMOTE);
    let early = fails(world.run(&["improve", "run", "--cpu", "5 s"]), 2);
    assert!(early.contains("cannot open data directory") && early.contains("recrawl crawl URL"), "{early}");
    (0..20).for_each(|_| drop(world.next_cycle()));
    let run: Value =
        serde_json::from_str(&succeeds(world.run(&["improve", "run", "--cpu", "5 s", "--json"]))).unwrap();
    let candidate = &run["candidate"];
    let gain = |end: usize| candidate["back_test"]["gain"][end].as_f64().unwrap();
    assert!(gain(0) > 0.002 && gain(0) < gain(1), "{run}");
    let history = |world: &World| -> Value {
        serde_json::from_str(&succeeds(world.run(&["improve", "history", "--json"]))).unwrap()
    };
    let mut arms = 0;
    for cycle in 0..25 {
        let report = world.next_cycle();
        let overlap = report.pointer("/found/overlap").is_some();
        assert_eq!(overlap, cycle < 3, "{cycle}: {report}");
        arms += u32::from(report.pointer("/estimates/arms_freshness/1/value").is_some());
        let formula = &report["formula"];
        // It visits the same pages again and again, so no trial is waited for.
        assert_eq!(formula == "n", cycle < 3, "{cycle}: {formula}");
    }
    // They are looked at before and after, too.
    assert!((20..=25).contains(&arms), "{arms} cycles with arms");
    let told = history(&world);
    let events: Vec<&str> =
        told["events"].as_array().unwrap().iter().map(|event| event["what"].as_str().unwrap()).collect();
    let steps: Vec<&str> = events.into_iter().rev().filter(|what| *what != "alarm").collect();
    assert_eq!(steps, ["shadowed", "promoted", "kept"], "{told}");
    assert_eq!(told["loop"]["step"], "idle");
    world.is_sound();

    // What the operator chooses is left alone.
    succeeds(world.run(&["formula", "use", "t"]));
    drop(world.next_cycle());
    let told = history(&world);
    assert_eq!(told["events"][0]["what"], "operator_chose", "{told}");
    let refused = fails(world.run(&["improve", "promote"]), 1);
    assert!(refused.contains("no candidate waits"), "{refused}");
    let refused = fails(world.run(&["improve", "rollback"]), 1);
    assert!(refused.contains("formula rollback"), "{refused}");

    let forecast: Value =
        serde_json::from_str(&succeeds(world.run(&["whatif", "--pages", "2x", "--json"]))).unwrap();
    assert_eq!(forecast["enough"], true, "{forecast}");
    let [now, twice] = [0, 1].map(|at| forecast["forecasts"][at]["share"].as_f64().unwrap());
    assert!(now < twice && twice < 1.0, "{forecast}");
    let saved: Value = serde_json::from_str(&succeeds(world.run(&["savings", "--json"]))).unwrap();
    assert!(saved["plain"]["interval"].is_array(), "{saved}");
}

#[test]
fn a_young_crawl_says_what_is_missing() {
    let world = World::new(web(60, 2), WATCH);
    (0..4).for_each(|_| drop(world.next_cycle()));
    let forecast: Value = serde_json::from_str(&succeeds(world.run(&["whatif", "--json"]))).unwrap();
    assert_eq!((&forecast["enough"], &forecast["forecasts"]), (&false.into(), &serde_json::json!([])));
    let missing = forecast["missing"].to_string();
    assert!(missing.contains("100 are needed") && missing.contains("14 are needed"), "{missing}");
    let refused = fails(world.run(&["improve", "run"]), 1);
    assert!(refused.contains("too little to learn from"), "{refused}");
    let refused = fails(world.run(&["improve", "hold"]), 2);
    assert!(refused.contains("improve.mode"), "{refused}");
}

#[test]
fn a_young_crawl_does_not_say_that_its_pages_are_distributed_in_another_way() {
    let world = World::new(web(60, 2), WATCH);
    drop(world.next_cycle());
    let told = |cycles: u64| {
        let json = || -> Value {
            let json = succeeds(world.run(&["improve", "status", "--json"]));
            serde_json::from_str(&json).unwrap()
        };
        while count(&json(), "cycles").unwrap_or(0) < cycles {
            drop(world.next_cycle());
        }
        (json()["population"].clone(), succeeds(world.run(&["improve", "status"])))
    };
    for cycles in [1, 47] {
        let (population, text) = told(cycles);
        let nothing = json!({"cycles_needed": 48, "change_rate": null, "depth": null, "has_moved": null});
        assert_eq!(population, nothing);
        let line = format!("too few cycles to tell how they are distributed: {cycles} of 48");
        assert!(text.contains(&line) && !text.contains("in another way"), "{text}");
    }
    let (population, text) = told(48);
    assert_eq!(population["has_moved"], false, "{population}");
    // So few pages move by much by chance alone.
    let limit = population.pointer("/depth/limit").and_then(Value::as_f64).unwrap();
    assert!(limit > 0.25 && text.contains("large and beyond chance: stability by depth"), "{text}");
}
