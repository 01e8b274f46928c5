//! Processes of a fleet whose hosts share addresses, as the addresses see them.

use crate::daemon::{self, Daemon};
use crate::fleet::{Fleet, StandBy};
use crate::harness::{PATIENCE, World, count, web};
use recrawl_mockweb::Config;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

const HOSTS: u32 = 40;
const DELAY: Duration = Duration::from_millis(200);
/// Of the hosts, in the order of partitions.
const CUTS: [&str; 2] = ["h2.test", "h31.test"];

/// Each host is a site, and each address serves ten of them.
fn world() -> World {
    let web = Config { domain: Some("test".into()), addresses: Some(4), ..web(160, HOSTS) };
    let world = daemon::world_of(web, "");
    let names = world.server.names();
    let overrides: Vec<String> =
        names.iter().map(|(name, address)| format!("\"{name}\" = \"{address}\"")).collect();
    let settings = format!(
        "[fetch]\ntimeout = \"4 s\"\n[cycle]\nperiod = \"500 ms\"\npages = \"100%\"\n[storage]\nsync_every = \"0 s\"\n\
         [politeness]\ndelay_per_ip = \"{0} ms\"\ndelay_per_host = \"{0} ms\"\ndelay_per_latency = 0.0\n[dns.overrides]\n{1}\n",
        DELAY.as_millis(),
        overrides.join("\n")
    );
    daemon::configure(&world, &settings);
    world
}

/// Requests of each partition at each address.
fn asked(fleet: &Fleet) -> BTreeMap<(usize, Ipv4Addr), u64> {
    let addresses: BTreeMap<String, Ipv4Addr> = fleet.world.server.names().into_iter().collect();
    let mut asked = BTreeMap::new();
    for host in fleet.world.server.violations(DELAY).hosts {
        let name = host.host.split(':').next().unwrap();
        // Names of one length below a domain are in the order of partitions.
        let partition = CUTS.iter().filter(|cut| **cut <= name).count();
        *asked.entry((partition, addresses[name])).or_default() += host.requests;
    }
    asked
}

fn until(what: &str, is_so: impl Fn() -> bool, told: impl Fn() -> String) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not {what}: {}", told());
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn an_address_of_three_partitions_keeps_its_delay_also_when_one_is_taken_over() {
    let fleet = Fleet::begin_in(world(), &CUTS);
    let nodes: Vec<Daemon> = ["a", "b", "c"].map(|name| Daemon::of(fleet.command(name))).into();
    let fourth = StandBy::start(fleet.command("d"));
    fourth.until("stands by");
    let logs = || {
        let logs: Vec<String> = nodes.iter().map(|node| node.log.lock().unwrap().clone()).collect();
        format!("{:?}\n{}", asked(&fleet), logs.join("\n\n"))
    };
    // Each partition asks each address, and one in a few turns.
    let all_asked = |least: u64| {
        let asked = asked(&fleet);
        asked.len() == 12 && asked.values().all(|requests| *requests >= least)
    };
    until("all addresses are asked by all", || all_asked(4), logs);
    let status = nodes[0].status();
    assert_eq!(count(&status["fleet"], "turns_unknown_ms"), Some(0), "{status}");
    assert!(count(&status["fleet"], "clock_bound_ms") < Some(1_000), "{status}");

    let owners = fleet.owners();
    let of_b = *owners.iter().find(|(_, (_, owner))| owner.as_deref() == Some("b")).unwrap().0;
    let [a, b, c] = nodes.try_into().unwrap_or_else(|_| panic!("three"));
    b.kill();
    fourth.until(&format!("restored partition {of_b}"));
    fourth.until("its turns at addresses that others may ask begin then");
    let before = asked(&fleet);
    let of_partition = |asked: &BTreeMap<(usize, Ipv4Addr), u64>| -> Vec<u64> {
        asked
            .iter()
            .filter(|((place, _), _)| *place as u64 + 1 == of_b)
            .map(|(_, requests)| *requests)
            .collect()
    };
    let goes_on = || {
        let now = of_partition(&asked(&fleet));
        now.iter().zip(of_partition(&before)).filter(|(now, before)| *now > before).count() > 1
    };
    until("the new owner has turns", goes_on, || fourth.log.lock().unwrap().clone());

    let manners = fleet.world.server.violations(DELAY);
    assert_eq!(manners.address_gaps_under, 0, "{:?}", manners.addresses);
    assert_eq!((manners.host_gaps_under, manners.max_requests_per_host, manners.forbidden), (0, 1, 0));
    let most = manners.addresses.iter().map(|address| address.max_requests).max();
    assert_eq!(most, Some(1), "{:?}", manners.addresses);
    let logs = [a.stop(), c.stop(), fourth.stop()];
    assert!(logs.iter().all(|log| !log.contains("ERROR")), "{}", logs.join("\n\n"));
}
