//! Machines of a fleet that are cut off from their store, asleep, or whose store is killed: each in a network of its own,
//! with a real store, SeaweedFS.

use crate::crash::setting;
use crate::daemon;
use crate::fleet::{Fleet, HOSTS, PAGES, SETTINGS, StandBy};
use crate::harness::{PATIENCE, count, succeeds};
use crate::network::{self, Machine, StoreCut};
use crate::weed::{Weed, weed};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const NAMES: [&str; 3] = ["a", "b", "c"];
const DELAY: Duration = Duration::from_millis(40);
/// A process says so once its lease is over.
const STOPS: &str = "this process asks no host and ships nothing more: ";

/// A fleet of three machines and two partitions, so that one stands by.
struct NetworkFleet {
    fleet: Fleet,
    machines: BTreeMap<&'static str, Machine>,
    nodes: BTreeMap<&'static str, StandBy>,
    weed: Weed,
}

impl NetworkFleet {
    fn start(program: &std::path::Path) -> NetworkFleet {
        let settings = format!(
            "{SETTINGS}[politeness]\ndelay_per_host = \"{} ms\"\ndelay_per_latency = 0.0\n",
            DELAY.as_millis()
        );
        let world = daemon::world(PAGES, HOSTS, &settings);
        let folder = world.folder.path().join("weed");
        fs::create_dir(&folder).unwrap();
        let weed = Weed::start(program, &folder);
        let machines: BTreeMap<_, _> = NAMES.into_iter().zip((1..).map(Machine::new)).collect();
        let fleet = Fleet::begin_at(world, "s3://bucket/fleet".into(), Weed::variables(), &["127.1.0.4"]);
        let start = |name| (name, StandBy::start(machines[name].with(&fleet.command(name))));
        let nodes = NAMES.into_iter().map(start).collect();
        let all = NetworkFleet { fleet, machines, nodes, weed };
        all.until_whole(5);
        all
    }

    /// Waits until each partition has an owner that says so from now on: one that has lost it was heard within a lease, too.
    fn until_whole(&self, looks: u32) {
        let begun = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        loop {
            let status = self.fleet.status();
            let told = |name: &Value| {
                let node = status["nodes"].as_array().unwrap().iter().find(|node| node["name"] == *name);
                node.and_then(|node| count(node, "at"))
            };
            if status["partitions"].as_array().unwrap().iter().all(|one| told(&one["owner"]) > Some(now)) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{status}");
            thread::sleep(Duration::from_millis(200));
        }
        self.fleet.until_owned(2, looks, &self.nodes);
    }

    /// The names of processes that own a partition.
    fn owners(&self) -> Vec<&'static str> {
        let owners = self.fleet.owners();
        let is_owner = |name: &&str| owners.values().any(|(_, owner)| owner.as_deref() == Some(*name));
        NAMES.into_iter().filter(is_owner).collect()
    }

    /// How often a process said that its lease is over.
    fn stops(&self, name: &str) -> usize {
        self.nodes[name].log.lock().unwrap().matches(STOPS).count()
    }

    /// Waits until a process has said so once more.
    fn until_stopped(&self, name: &str, before: usize) {
        let begun = Instant::now();
        while self.stops(name) == before {
            assert!(begun.elapsed() < PATIENCE, "{name} goes on: {}", self.nodes[name].log.lock().unwrap());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until another process has a partition of this one.
    fn until_replaced(&self, name: &str) {
        let begun = Instant::now();
        while self.owners().contains(&name) {
            assert!(begun.elapsed() < PATIENCE, "nobody takes the place of {name}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// An owner is cut off: it stops, another takes its partition, and it stands by once its store is back.
    fn cut_owner(&self, how: StoreCut) {
        let name = self.owners()[0];
        let before = self.stops(name);
        self.machines[name].cut(how);
        self.until_stopped(name, before);
        self.until_replaced(name);
        self.machines[name].heal();
        self.until_heard(name);
    }

    /// Waits until a process tells of itself again.
    fn until_heard(&self, name: &str) {
        let told = || {
            let nodes = self.fleet.status()["nodes"].clone();
            let node = nodes.as_array().unwrap().iter().find(|node| node["name"] == name);
            node.and_then(|node| count(node, "at"))
        };
        let (begun, before) = (Instant::now(), told());
        while told() == before {
            assert!(begun.elapsed() < PATIENCE, "{name} is silent: {}", self.nodes[name].log.lock().unwrap());
            thread::sleep(Duration::from_millis(200));
        }
        println!("{name} is heard after {:.1} s", begun.elapsed().as_secs_f32());
    }

    /// All are cut off: nobody asks any host, and then all go on.
    fn cut_all(&self) {
        let owners: Vec<_> = self.owners().into_iter().map(|name| (name, self.stops(name))).collect();
        self.machines.values().for_each(|machine| machine.cut(StoreCut::Whole));
        owners.iter().for_each(|(name, before)| self.until_stopped(name, *before));
        let web = &self.fleet.world.server;
        while !web.is_idle() {
            thread::sleep(Duration::from_millis(20));
        }
        let asked = web.log(0).unwrap().len();
        thread::sleep(Duration::from_secs(3));
        assert_eq!(web.log(0).unwrap().len(), asked, "nobody asks a host without the store");
        self.machines.values().for_each(Machine::heal);
    }

    /// An owner sleeps until another has its partition. When it wakes, it believes that it is the owner.
    fn put_to_sleep(&self) {
        let name = self.owners()[0];
        let before = self.stops(name);
        self.nodes[name].signal("-STOP");
        self.until_replaced(name);
        self.nodes[name].signal("-CONT");
        self.until_stopped(name, before);
    }

    /// The fleet has all pages of one crawl, each once, with whole vaults; and its hosts were treated well.
    fn ends_as_one_crawl(self) {
        self.until_whole(40);
        let NetworkFleet { fleet, nodes, weed, machines } = self;
        let owners = fleet.owners();
        let manners = fleet.world.server.violations(DELAY);
        assert_eq!((manners.forbidden, manners.before_robots), (0, 0));
        assert_eq!(manners.max_requests_per_host, 1, "no host is asked by two");
        assert_eq!(manners.host_page_gaps_under, 0, "{} gaps under the delay", manners.host_page_gaps_under);
        println!("{} requests", fleet.world.server.log(0).unwrap().len());
        nodes.into_values().for_each(|node| drop(node.stop()));
        for partition in owners.keys() {
            let vault = format!("{}/p/{partition:010}", fleet.address);
            let mut verify = fleet.program();
            let told = verify.args(["vault", "verify", "--vault", &vault]).output().unwrap();
            assert!(succeeds(told).starts_with("ok: "), "{vault}");
        }
        drop((machines, weed));
        fleet.world.crawl(12);
        let known: Vec<String> = fleet.world.pages().into_keys().collect();
        assert!(known.len() > 100, "{} pages", known.len());
        assert_eq!(fleet.together(owners).into_keys().collect::<Vec<_>>(), known);
    }
}

/// RECRAWL_FLEET_CUTS sets how often something is cut off or falls asleep, RECRAWL_KILL_SEED what and when.
#[test]
fn machines_that_are_cut_off_or_asleep_ask_nobody_and_the_pages_are_those_of_one_crawl() {
    let Some(weed) = weed() else {
        eprintln!("SKIPPED, 1 test: no SeaweedFS; scripts/weed-server.sh installs it");
        return;
    };
    let name =
        "fleet_network::machines_that_are_cut_off_or_asleep_ask_nobody_and_the_pages_are_those_of_one_crawl";
    if !network::is_inside(name) {
        return;
    }
    let (cuts, seed) = (setting("RECRAWL_FLEET_CUTS", 4), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let fleet = NetworkFleet::start(&weed);
    for cut in 0..cuts {
        thread::sleep(Duration::from_millis(lot.random_range(0..3_000)));
        let begun = Instant::now();
        // Each kind in turn; then by lot.
        match if cut < 4 { cut } else { lot.random_range(0..4) } {
            0 => fleet.cut_owner(StoreCut::Whole),
            1 => fleet.cut_owner(StoreCut::Answers),
            2 => fleet.put_to_sleep(),
            _ => fleet.cut_all(),
        }
        let over = begun.elapsed();
        fleet.until_whole(3);
        println!(
            "cut {cut}: {:.1} s, whole after {:.1} s",
            over.as_secs_f32(),
            begun.elapsed().as_secs_f32()
        );
    }
    fleet.ends_as_one_crawl();
}

/// RECRAWL_STORE_KILLS sets how often.
#[test]
fn a_store_that_is_killed_again_and_again_loses_nothing_of_a_fleet() {
    let Some(weed) = weed() else {
        eprintln!("SKIPPED, 1 test: no SeaweedFS; scripts/weed-server.sh installs it");
        return;
    };
    if !network::is_inside("fleet_network::a_store_that_is_killed_again_and_again_loses_nothing_of_a_fleet") {
        return;
    }
    let (kills, seed) = (setting("RECRAWL_STORE_KILLS", 1), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let mut fleet = NetworkFleet::start(&weed);
    for kill in 0..kills {
        thread::sleep(Duration::from_millis(lot.random_range(0..6_000)));
        let begun = Instant::now();
        fleet.weed.kill_and_start();
        let up = begun.elapsed();
        fleet.until_whole(3);
        println!(
            "kill {kill}: up after {:.1} s, whole after {:.1} s",
            up.as_secs_f32(),
            begun.elapsed().as_secs_f32()
        );
    }
    fleet.ends_as_one_crawl();
}
