//! The stream of events as others read it: of a daemon, over many files, and by readers that stand still.

use crate::daemon::{Daemon, PATIENCE, QUICK, configure, world};
use crate::harness::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// `FILE.9`, …, `FILE.1`, `FILE`, those of them that are there.
fn files(path: &Path) -> Vec<PathBuf> {
    let aside = (1..100).rev().map(|number| PathBuf::from(format!("{}.{number}", path.display())));
    aside.chain([path.to_owned()]).filter(|path| path.exists()).collect()
}

/// The cycles of some lines, in order, each with all its events; what no end follows is left out.
fn cycles(lines: &[Value]) -> Vec<(u64, u64)> {
    let mut told = Vec::new();
    let mut open = 0;
    for line in lines {
        match line["end_of_cycle"].as_u64() {
            None => open += 1,
            Some(cycle) => {
                let events = count(line, "events").expect("it says how many");
                assert!(open >= events, "cycle {cycle}: {open} {events}");
                told.extend((events > 0).then_some((cycle, events)));
                open = 0;
            }
        }
    }
    told
}

/// What each cycle had to visit, by the kept visits.
fn visited(world: &World) -> Vec<(u64, u64)> {
    let lines = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let mut cycles = std::collections::BTreeMap::new();
    for line in lines {
        *cycles.entry(count(&line, "cycle").expect("a cycle")).or_default() += 1;
    }
    cycles.into_iter().collect()
}

#[test]
fn a_daemons_events_go_on_over_many_files_and_after_kill_9() {
    let world = world(40, 2, QUICK);
    world.crawl(1);
    let file = world.folder.path().join("events.jsonl");
    let with_events = |extra: &str| {
        let tokens = world.folder.path().join("tokens");
        world.configure(&format!(
            "[serve]\nlisten = \"127.0.0.1:0\"\nrequests = 1000\ntokens = \"{}\"\nevents = \"{}\"\n{QUICK}\n{extra}",
            tokens.display(),
            file.display()
        ));
    };
    with_events("[events]\nmax_bytes = \"8 KiB\"\nkeep = 50");
    let daemon = Daemon::start(&world);
    daemon.until("files", |_| files(&file).len() > 2);
    daemon.kill();
    let daemon = Daemon::start(&world);
    let before = files(&file).len();
    daemon.until("more files", |_| files(&file).len() > before);
    // Somebody else puts it aside.
    with_events("");
    daemon.signal("-HUP");
    daemon.until("read anew", |_| {
        daemon.log.lock().unwrap().contains("taken=\"events.keep events.max_bytes\"")
    });
    let moved = world.folder.path().join("moved.jsonl");
    std::fs::rename(&file, &moved).unwrap();
    daemon.signal("-HUP");
    daemon.until("begun anew", |_| file.exists());
    let generation = daemon.status()["generation"].as_u64().unwrap();
    daemon.until("going on", |s| s["generation"].as_u64() > Some(generation + 1));
    let log = daemon.stop();
    assert!(!log.contains("ERROR"), "{log}");
    let mut all = files(&file);
    all.insert(all.len() - 1, moved);
    let mut told = Vec::new();
    for file in &all {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.ends_with('\n'), "{}: {text}", file.display());
        let lines = json_lines(&text);
        assert!(lines[0]["end_of_cycle"].is_u64() && lines.last().unwrap()["end_of_cycle"].is_u64());
        told.extend(cycles(&lines));
    }
    let visits: Vec<(u64, u64)> = visited(&world).into_iter().filter(|(cycle, _)| *cycle > 1).collect();
    assert_eq!(told, visits, "each cycle once, whole, in order");
}

#[test]
fn a_crawl_whose_printed_events_nobody_reads_ends_when_it_is_told_to() {
    let world = World::new(web(300, 3), QUICK);
    world.crawl(2);
    let start = |cycles: &[&str]| {
        let mut command = world.command(&["crawl", "--events", "-"]);
        command.args(cycles).env("RECRAWL_LOG", "info");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let mut child = start(&[]);
    // The lines of a cycle are larger than a pipe: 300 of some 180 bytes and more come each cycle.
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let committed = log.by_ref().filter(|line| line.contains("round committed")).take(2).count();
    assert_eq!(committed, 2, "it ended");
    let rest = std::thread::spawn(move || log.collect::<Vec<_>>());
    succeeds_to_end(&mut child);
    let mut first = String::new();
    child.stdout.take().unwrap().read_to_string(&mut first).unwrap();
    rest.join().unwrap();
    // Whoever reads then has the cycles that were printed whole, and the others from the next start.
    let whole = first.rfind('\n').map_or("", |end| &first[..=end]);
    let mut told = cycles(&json_lines(whole));
    let second = succeeds(start(&["--cycles", "1"]).wait_with_output().unwrap());
    told.extend(cycles(&json_lines(&second)));
    let visits: Vec<(u64, u64)> = visited(&world).into_iter().filter(|(cycle, _)| *cycle > 2).collect();
    assert_eq!(told, visits);
}

/// SIGTERM, and the end in time with exit code 0.
fn succeeds_to_end(child: &mut std::process::Child) {
    let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let begun = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("it can be waited for") {
            break ended;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_daemon_whose_printed_events_nobody_reads_waits_answers_and_ends() {
    let world = world(300, 3, QUICK);
    world.crawl(2);
    configure(&world, QUICK);
    let text = std::fs::read_to_string(world.config_file()).unwrap();
    std::fs::write(world.config_file(), text.replace("[serve]\n", "[serve]\nevents = \"-\"\n")).unwrap();
    let mut command = world.command(&["serve"]);
    command.stdout(Stdio::piped());
    let mut daemon = Daemon::of(command);
    let is_waiting =
        |s: &Value| s["state"] == "waiting" && s["reason"].as_str().is_some_and(|r| r.contains("events"));
    daemon.until("waiting for a reader", is_waiting);
    succeeds_to_end(&mut daemon.child);
    world.is_sound();
}
