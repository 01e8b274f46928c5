//! Fairness as site owners' pages meet it: a cycle that is cut short leaves nobody out for ever, and who is slow keeps
//! nobody else waiting. What a budget cuts is cut at the same place on a busy machine, so most of it is cut by budgets.

use crate::harness::{World, count};
use recrawl_mockweb::procedural::ProceduralConfig;
use recrawl_mockweb::{Config, Server, Validators, WebConfig};
use std::collections::{BTreeMap, BTreeSet};

/// Hosts of equal size, whose pages cost their bytes at each visit.
fn even_web(pages: u32, hosts: u32, domain: Option<&str>) -> Config {
    let web = ProceduralConfig {
        pages,
        hosts,
        seed: 7,
        page_bytes: 4_000,
        skew: 0.0,
        ..ProceduralConfig::default()
    };
    let web = Config::new(WebConfig::Procedural(web));
    Config { domain: domain.map(str::to_owned), validators: Validators::None, ..web }
}

/// The addresses of all pages.
fn urls(server: &Server) -> Vec<String> {
    (0..server.info().pages).map(|page| server.url(page)).collect()
}

/// Pages that were asked for since the line `from` of the log: host, with its port, and path.
fn asked(server: &Server, from: u64) -> Vec<(String, String)> {
    let log = server.log(from).expect("the log is in memory").into_iter();
    log.filter(|access| access.path != "/robots.txt").map(|access| (access.host, access.path)).collect()
}

#[test]
fn names_at_one_slow_address_leave_the_slots_to_others() {
    let world = World::new(even_web(12 * 30 + 150, 12 + 50, Some("mock.test")), "");
    let names = world.server.names();
    let slow: Vec<_> = (1..=12).map(|host| format!("{host}/=slow:8000").parse().expect("a rule")).collect();
    world.server.set_faults(slow);
    let overrides: Vec<String> = (0..)
        .zip(&names)
        .map(|(host, (name, address))| {
            format!("\"{name}\" = \"{}\"", if host < 12 { &names[0].1 } else { address })
        })
        .collect();
    // It ends before the slow names do: there are 300 of their pages, seconds each.
    let budget = "[budget]\nbytes_per_cycle = \"1 MB\"\n";
    world.configure(&format!(
        "[politeness]\ndelay_per_host = \"20 ms\"\ndelay_per_ip = \"20 ms\"\ndelay_per_latency = 0\n\
         [fetch]\nopen_hosts = 8\n[scope]\nhosts = [\"*.mock.test\"]\n{budget}[dns.overrides]\n{}\n",
        overrides.join("\n")
    ));
    world.seeds(&urls(&world.server));
    world.crawl(1);
    let is_slow = |host: &str| {
        let number = host.trim_start_matches('h').split('.').next().and_then(|n| n.parse::<u32>().ok());
        number.expect("h1.mock.test") <= 12
    };
    let order: Vec<bool> = asked(&world.server, 0).iter().map(|(host, _)| is_slow(host)).collect();
    let quick = order.iter().filter(|slow| !**slow).count();
    let last = order.iter().rposition(|slow| !*slow).map_or(order.len(), |last| last + 1);
    let before = order[..last].iter().filter(|slow| **slow).count();
    println!("{quick} of 150 pages elsewhere, {before} slow ones before the last of them");
    assert!(
        quick >= 150 && before < 75,
        "{quick} of 150 pages elsewhere, {before} slow ones before the last of them"
    );
}

#[test]
fn a_cycle_cut_short_leaves_no_small_host_out_for_ever() {
    const SMALL: u32 = 200;
    let world = World::new(even_web(8 * 50, 8, None), "");
    let small = Server::start(even_web(SMALL, SMALL, Some("small.test"))).expect("a second web starts");
    let names = small.names();
    let overrides: Vec<String> =
        names.iter().map(|(name, address)| format!("\"{name}\" = \"{address}\"")).collect();
    world.configure(&format!(
        "[fetch]\nopen_hosts = 8\n[budget]\nbytes_per_cycle = \"240 kB\"\n[dns.overrides]\n{}\n",
        overrides.join("\n")
    ));
    world.seeds(&[urls(&world.server), urls(&small)].concat());
    let mut reached = BTreeSet::new();
    let mut by_cycle = Vec::new();
    for _ in 0..10 {
        world.next_cycle();
        reached.extend(asked(&small, 0).into_iter().map(|(host, _)| host));
        by_cycle.push(reached.len());
    }
    println!("of {SMALL} small hosts reached by cycle: {by_cycle:?}");
    assert_eq!(reached.len(), SMALL as usize, "by cycle: {by_cycle:?}");
    // And the large ones have not lost their places: they were asked in the first cycle, and again.
    assert!(asked(&world.server, 0).len() > 100);
}

#[test]
fn a_host_with_little_room_is_visited_page_by_page_and_none_is_left_behind() {
    let world = World::new(
        even_web(400, 1, None),
        "[budget]\nbytes_per_host = \"116 kB\"\n[cycle]\npages = \"400\"\naudit_share = 0.05\n",
    );
    world.seeds(&urls(&world.server));
    let (mut visits, mut by_cycle, mut seen) = (BTreeMap::<String, u32>::new(), Vec::new(), 0);
    for _ in 0..40 {
        let report = world.next_cycle();
        assert!(count(&report, "skipped") > Some(200), "{report}");
        let all = asked(&world.server, 0);
        for (_, path) in &all[seen..] {
            *visits.entry(path.clone()).or_default() += 1;
        }
        seen = all.len();
        by_cycle.push(visits.len());
    }
    println!("{} visits; pages visited by cycle: {by_cycle:?}; most often {:?}", seen, visits.values().max());
    assert!(visits.len() >= 400, "by cycle: {by_cycle:?}");
}
