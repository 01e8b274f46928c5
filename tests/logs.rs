//! What the program says of its work, and to whom: nobody has to listen.

use crate::daemon::{Daemon, PATIENCE, QUICK, configure, world};
use crate::harness::*;
use serde_json::{Value, json};
use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

/// Waits for the end of a process that was told to end.
fn ends(child: &mut Child) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_daemon_whose_log_nobody_reads_crawls_on_and_ends() {
    // Each cycle says as much as there are pages.
    let world = world(300, 3, &format!("{QUICK}\npages = \"100%\""));
    world.crawl(2);
    let mut command = world.command(&["serve"]);
    command.env("RECRAWL_LOG", "debug");
    let (mut daemon, mut unread) = Daemon::unheard(command);
    // The pipe takes 64 KiB, the queue 1 MiB: then lines are lost, and cycles are committed all the same.
    let full = daemon.until("full", |s| s["log_lines_lost"].as_u64() > Some(0));
    let generation = full["generation"].as_u64().unwrap();
    daemon.until("crawling on", |s| s["generation"].as_u64() > Some(generation + 1));
    daemon.signal("-TERM");
    let ended = ends(&mut daemon.child);
    assert!(ended.success(), "{ended}");
    // What it had said lies in the pipe, which took no more.
    let mut heard = Vec::new();
    unread.read_to_end(&mut heard).unwrap();
    assert!(heard.len() > 32 << 10, "{}", heard.len());
    world.is_sound();
}

#[test]
fn all_that_was_said_is_out_at_the_end() {
    let world = world(300, 3, QUICK);
    world.crawl(2);
    let mut command = world.command(&["serve"]);
    command.env("RECRAWL_LOG", "debug");
    let daemon = Daemon::of(command);
    daemon.until("some cycles", |s| s["generation"].as_u64() > Some(4));
    let log = daemon.log.clone();
    daemon.signal("-TERM");
    let mut daemon = daemon;
    let ended = ends(&mut daemon.child);
    assert!(ended.success(), "{ended}");
    let begun = Instant::now();
    let is_whole = || log.lock().unwrap().contains("stopping after the pages in flight");
    while !is_whole() {
        assert!(begun.elapsed() < PATIENCE, "{}", log.lock().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = log.lock().unwrap();
    let cycles = log.lines().filter(|line| line.contains("round committed")).count();
    assert!(cycles >= 3 && !log.contains("dropped here"), "{log}");
}

#[test]
fn a_filter_that_is_none_ends_it_before_anything_is_touched() {
    let world = World::new(web(3, 1), "");
    let mut command = world.crawl_command(1);
    let said = fails(command.env("RECRAWL_LOG", "recrawl=loud").output().unwrap(), 2);
    assert!(said.contains("RECRAWL_LOG"), "{said}");
    assert!(!world.data_dir.exists());
}

/// The log of a crawl in JSON, line by line.
fn json_log(world: &World, cycles: u32, filter: &str) -> Vec<Value> {
    world.configure(&format!("[log]\nformat = \"json\"\nfilter = \"{filter}\""));
    let output = world.crawl_command(cycles).output().expect("the program runs");
    let log = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    succeeds(output);
    json_lines(&log)
}

/// A field of the spans that a line was told in.
fn of_spans<'l>(line: &'l Value, field: &str) -> Option<&'l Value> {
    line["spans"].as_array()?.iter().find_map(|span| span.get(field))
}

#[test]
fn lines_in_json_carry_cycle_and_host_and_a_cycle_has_one_of_its_own() {
    let world = World::new(web(40, 3), "");
    let log = json_log(&world, 3, "debug");
    for line in &log {
        let is_whole = ["timestamp", "level", "message"].iter().all(|field| line[*field].is_string());
        assert!(is_whole, "{line}");
    }
    let told = |message: &str| log.iter().filter(|line| line["message"] == message).collect::<Vec<_>>();
    let cycles = told("round committed");
    let reports = world.run(&["export", "cycles", "--out", "-"]);
    let reports = json_lines(&succeeds(reports));
    assert_eq!((cycles.len(), reports.len()), (3, 3));
    for (line, report) in cycles.iter().zip(&reports) {
        assert_eq!(line["level"], "INFO");
        for figure in ["cycle", "scheduled", "fetched", "changed", "seconds"] {
            assert_eq!(line[figure], report[figure], "{figure} of {line}");
        }
    }
    let visits = told("visited");
    let scheduled: u64 = reports.iter().filter_map(|report| count(report, "scheduled")).sum();
    assert!(visits.len() as u64 >= scheduled && scheduled > 20, "{} {scheduled}", visits.len());
    for line in &visits {
        let host = of_spans(line, "host").and_then(Value::as_str).expect("a host");
        assert!(line["url"].as_str().unwrap().contains(&format!("//{host}")), "{line}");
        assert!(
            (1..=3).contains(&of_spans(line, "cycle").and_then(Value::as_u64).expect("a cycle")),
            "{line}"
        );
    }
    // What the fetcher tells of a host, too.
    let robots = told("robots.txt");
    assert!(!robots.is_empty());
    for line in robots {
        assert!(of_spans(line, "host").is_some() && of_spans(line, "cycle").is_some(), "{line}");
    }
    // How it ends is a line like any other.
    let error = world.crawl_command(1).arg("--events").arg(world.config_file()).output().unwrap();
    let lines = json_lines(&String::from_utf8(error.stderr).unwrap());
    let last = lines.last().expect("it says why it ends");
    assert_eq!((error.status.code(), &last["level"]), (Some(2), &json!("ERROR")));
}

#[test]
fn what_is_logged_is_read_anew_on_sighup_and_the_answer_names_it() {
    let world = world(40, 2, QUICK);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let said = |what: &str| daemon.log.lock().unwrap().matches(what).count();
    daemon.until("a cycle", |_| said("round committed") > 0);
    assert_eq!(said("visited"), 0);
    configure(&world, &format!("{QUICK}\n[log]\nfilter = \"warn,recrawl=debug\"\nformat = \"json\""));
    daemon.signal("-HUP");
    daemon.until("told", |_| said("configuration reloaded taken=\"log.filter\"") == 1);
    daemon.until("told more", |_| said("visited") > 0);
    assert_eq!(said("restart the daemon to apply changes of: log.format"), 1);
    // From less to more and back, it is told in either case.
    configure(&world, &format!("{QUICK}\n[log]\nfilter = \"error\""));
    daemon.signal("-HUP");
    daemon.until("told", |_| said("configuration reloaded taken=\"log.filter\"") == 2);
    let cycles = said("round committed");
    let generation = daemon.status()["generation"].as_u64().unwrap();
    daemon.until("quiet cycles", |s| s["generation"].as_u64() > Some(generation + 2));
    assert!(said("round committed") <= cycles + 1);
    // One that is none changes nothing.
    configure(&world, &format!("{QUICK}\n[log]\nfilter = \"recrawl=loud\""));
    daemon.signal("-HUP");
    daemon.until("told", |_| said("kept the previous configuration") == 1 && said("log.filter: ") == 1);
    daemon.stop();
}
