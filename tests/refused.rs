//! Pages that a rule keeps out: what they cost a cycle, and how they come back.

use crate::daemon::{self, Daemon};
use crate::harness::{World, count, host_of, succeeds, web};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Pages of the site, and every how many of them robots.txt may forbid: 30 %.
const PAGES: u32 = 300;
const DENIED: u32 = 90;
/// 1 % of them.
const K: u64 = 3;

/// A host of its own: 210 pages below /open/, 90 below /closed/, a robots.txt that the test decides.
struct Site {
    address: String,
    robots: Arc<Mutex<&'static str>>,
}

impl Site {
    fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let robots = Arc::new(Mutex::new(""));
        let rules = robots.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let rules = *rules.lock().expect("no panic under the lock");
                // Whoever hangs up early wants no answer.
                let _ = stream.and_then(|stream| answer(stream, rules));
            }
        });
        Site { address, robots }
    }

    fn say(&self, rules: &'static str) {
        *self.robots.lock().expect("no panic under the lock") = rules;
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn answer(mut stream: TcpStream, rules: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (kind, body) = match first.split(' ').nth(1) {
        Some("/robots.txt") => ("text/plain", rules.to_owned()),
        Some("/") => ("text/html", (0..PAGES).map(|n| format!("<a href={}>{n}</a> ", path(n))).collect()),
        path => ("text/html", format!("<p>a page of its own: {path:?}")),
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn path(page: u32) -> String {
    let folder = if page < DENIED { "closed" } else { "open" };
    format!("/{folder}/{page}")
}

const ROBOTS: &str =
    "[politeness]\nrobots_cache = \"1 ms\"\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"0 ms\"\n";

fn settings(pages: &str, scope: &str) -> String {
    format!("[cycle]\npages = \"{pages}\"\nwarmup = 1\n{ROBOTS}[scope]\n{scope}\n")
}

/// A crawl that has visited all pages.
fn visited(site: &Site) -> World {
    let world = World::new(web(1, 1), &settings("100%", ""));
    world.seeds(&[site.url("/")]);
    world.crawl(3);
    assert!(world.pages().values().all(|page| count(page, "n") >= Some(0)), "all were visited");
    world
}

fn sum(reports: &[Value], name: &str) -> u64 {
    reports.iter().map(|report| count(report, name).expect("a count")).sum()
}

fn refused(world: &World) -> usize {
    world.pages().values().filter(|page| page["status"] == "refused").count()
}

#[test]
fn pages_that_robots_txt_denies_take_no_place_of_k_and_come_back_with_the_rules() {
    let site = Site::start();
    let world = visited(&site);
    site.say("User-agent: *\nDisallow: /closed/\n");
    assert_eq!(count(&world.crawl(1)[0], "robots_denied"), Some(DENIED.into()));
    let before = world.pages();

    world.configure(&settings("1%", ""));
    let reports = world.crawl(34);
    let (denied, fetched) = (sum(&reports, "robots_denied"), sum(&reports, "fetched"));
    // Two: one page in 32 cycles is tried, so that an old robots.txt is fetched again.
    assert!(denied <= 2, "{denied} of {} places went to refusals", 34 * K);
    assert_eq!(fetched + denied, 34 * K, "and the others to pages");
    // One may have been let in by the last cycle, to be tried in the next.
    let kept_out = refused(&world);
    assert!([DENIED as usize - 1, DENIED as usize].contains(&kept_out), "{kept_out} are kept out");
    let told = succeeds(world.run(&["explain", &site.url("/closed/1")]));
    assert!(told.contains("none: forbidden by `Disallow:"), "{told}");
    let after = world.pages();
    assert_eq!(before.len(), after.len());
    assert_eq!(before[&site.url("/closed/1")]["n"], after[&site.url("/closed/1")]["n"], "nothing is lost");

    // The rules change. A cycle sees it, the next one lets the pages in, the one after that visits them.
    site.say("User-agent: *\nDisallow: /other/\n");
    world.crawl(2);
    assert_eq!(refused(&world), 0);
    world.configure(&settings("100%", ""));
    let report = world.crawl(1).remove(0);
    assert_eq!(
        (count(&report, "fetched"), count(&report, "robots_denied")),
        (Some(301), Some(0)),
        "{report}"
    );
}

#[test]
fn pages_outside_of_the_scope_come_back_in_the_cycle_after_it_was_widened() {
    let site = Site::start();
    let world = visited(&site);
    let narrow = format!("exclude = [\"{}*\"]", site.url("/closed/"));
    world.configure(&settings("100%", &narrow));
    world.crawl(1);
    assert_eq!(refused(&world), DENIED as usize);
    world.configure(&settings("1%", &narrow));
    let reports = world.crawl(5);
    assert_eq!((sum(&reports, "skipped"), sum(&reports, "fetched")), (0, 5 * K));

    world.configure(&settings("1%", ""));
    let told = succeeds(world.run(&["explain", &site.url("/closed/1")]));
    assert!(told.contains("none: refused by a rule or a takedown"), "{told}");
    world.crawl(1);
    assert_eq!(refused(&world), 0);
    world.configure(&settings("100%", ""));
    let report = world.crawl(1).remove(0);
    assert_eq!((count(&report, "fetched"), count(&report, "skipped")), (Some(301), Some(0)), "{report}");
}

#[test]
fn a_block_that_is_lifted_within_its_cycle_refuses_no_page_of_the_next_ones() {
    let again = "[cycle]\nperiod = \"100 ms\"\npages = \"100%\"\n";
    let world = daemon::world(100, 2, again);
    (0..4).for_each(|_| drop(world.next_cycle()));
    let before = refused(&world);
    daemon::configure(&world, &format!("{again}{}", daemon::SLOW));
    let daemon = Daemon::start(&world);
    daemon.until("under way", |s| s["cycle"]["in_flight"].as_u64() > Some(0));
    let first = world.server.seeds()[0].clone();
    let pattern = format!("{first}*").replace(':', "%3A").replace('/', "%2F");
    assert_eq!(daemon.change("PUT", &format!("/api/v1/blocks/{pattern}"), None), "done");
    daemon.until("refused", |s| s["cycle"]["skipped"].as_u64() > Some(0));
    assert_eq!(daemon.change("DELETE", &format!("/api/v1/blocks/{pattern}"), None), "done");
    let begun = daemon.status()["generation"].as_u64();
    let next = begun.map(|generation| generation + 2);
    daemon.until("a cycle and the next", |s| s["generation"].as_u64() >= next);
    let reports = daemon.get("/api/v1/cycles?last=9");
    daemon.stop();
    assert!(sum(reports.as_array().expect("reports"), "blocked") > 0, "{reports:#}");
    assert_eq!(refused(&world), before);
}

#[test]
fn a_takedown_that_ends_before_the_next_plan_lets_its_pages_back() {
    let world = World::new(web(60, 2), "[cycle]\npages = \"100%\"\n");
    world.warm_up();
    let before = refused(&world);
    let host = host_of(&world.server.seeds()[0]);
    succeeds(world.run(&["takedown", "--host", &host]));
    succeeds(world.run(&["takedown", "--host", &host, "--keep-crawling"]));
    world.crawl(2);
    assert_eq!(refused(&world), before);
}

#[test]
fn a_scope_that_was_narrow_for_the_rest_of_a_cycle_refuses_no_page_of_the_next_ones() {
    let wide = "[cycle]\npages = \"100%\"\n";
    let world = World::new(web(100, 2), "[cycle]\npages = \"100%\"\n");
    (0..4).for_each(|_| drop(world.next_cycle()));
    let before = refused(&world);
    // Slow enough to be stopped long before its end.
    world.configure(&format!("{wide}[politeness]\ndelay_per_host = \"500 ms\"\ndelay_per_latency = 0.0\n"));
    let asked = || world.server.log(0).expect("the log is in memory").len();
    let (begun, child) = (asked(), world.spawn_crawl(1));
    while asked() < begun + 8 {
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    succeeds(child.wait_with_output().unwrap());
    world.configure(&format!("{wide}[scope]\nexclude = [\"{}*\"]\n", world.server.seeds()[0]));
    let report = world.crawl(1).remove(0);
    assert!(count(&report, "skipped") > Some(0), "{report}");
    world.configure("[cycle]\npages = \"100%\"\n");
    world.crawl(2);
    assert_eq!(refused(&world), before);
}

#[test]
fn pages_of_a_host_that_is_down_take_no_place_of_k() {
    let settings = |share| format!("[cycle]\npages = \"{share}\"\nwarmup = 1\n");
    let world = World::new(web(120, 2), &settings("100%"));
    world.warm_up();
    let k = (world.pages().len() / 10) as u64;
    world.server.set_faults(vec!["1/=reset".parse().unwrap()]);
    world.crawl(1);
    world.configure(&settings("10%"));
    let reports = world.crawl(10);
    let (fetched, skipped) = (sum(&reports, "fetched"), sum(&reports, "skipped"));
    println!("{fetched} of {} places went to pages that answer, {skipped} to a host that is down", 10 * k);
    assert_eq!((fetched, skipped), (10 * k, 0));
    let home = &world.server.seeds()[0];
    let told = succeeds(world.run(&["explain", home]));
    assert!(told.contains("the host is skipped: back-off"), "{told}");
}
