//! What the program says of its work, and to whom: nobody has to listen.

use crate::harness::*;
use crate::serve::{Daemon, PATIENCE, QUICK, world};
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
    let world = world(300, 3, QUICK);
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
    let is_whole = || log.lock().unwrap().contains("stopping; the pages in flight are finished first");
    while !is_whole() {
        assert!(begun.elapsed() < PATIENCE, "{}", log.lock().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = log.lock().unwrap();
    let cycles = log.lines().filter(|line| line.contains("cycle committed")).count();
    assert!(cycles >= 3 && !log.contains("are lost"), "{log}");
}

#[test]
fn a_filter_that_is_none_ends_it_before_anything_is_touched() {
    let world = World::new(web(3, 1), "");
    let mut command = world.crawl_command(1);
    let said = fails(command.env("RECRAWL_LOG", "recrawl=loud").output().unwrap(), 2);
    assert!(said.contains("RECRAWL_LOG"), "{said}");
    assert!(!world.data_dir.exists());
}
