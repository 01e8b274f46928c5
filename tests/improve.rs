//! A crawl that measures itself: the panel, what kept visits tell, reports, and nothing of it when it is off.

use crate::harness::{World, count, fails, json_lines, succeeds, web};
use serde_json::Value;
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
        ("[improve]\nmode = \"on\"\n", "improve.mode is \"on\"; write \"off\" or \"watch\""),
        ("[improve]\nmode = \"watch\"\n[cycle]\naudit_share = 0.0\n", "cycle.audit_share"),
        ("[improve]\nmode = \"watch\"\n[storage]\nkeep_visits = 0\n", "storage.keep_visits"),
    ] {
        world.configure(settings);
        let line = fails(world.run(&["crawl", "--cycles", "1"]), 2);
        assert!(line.contains(what), "{line}");
    }
}
