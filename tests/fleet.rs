//! A fleet of processes, which know one another only by a store.

use crate::daemon::{self, Daemon};
use crate::harness::{PATIENCE, Pages, World, count, fails, succeeds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

pub const PAGES: u32 = 90;
pub const HOSTS: u32 = 6;
/// Cycles follow each other, and each visits all.
pub const SETTINGS: &str = "[fetch]\ntimeout = \"4 s\"\n[cycle]\nperiod = \"500 ms\"\npages = \"100%\"\n[storage]\nsync_every = \"0 s\"\n\
                        [vault]\nship = \"1 ms\"\n";

pub struct Fleet {
    pub world: World,
    pub address: String,
    /// Of the environment of each process.
    variables: Vec<(&'static str, String)>,
}

impl Fleet {
    pub fn begin(cuts: &[&str]) -> Fleet {
        Fleet::begin_in(daemon::world(PAGES, HOSTS, SETTINGS), cuts)
    }

    pub fn begin_in(world: World, cuts: &[&str]) -> Fleet {
        let bucket = world.folder.path().join("bucket");
        fs::create_dir(&bucket).unwrap();
        let address = format!("file://{}", bucket.display());
        let nothing = fails(world.run(&["fleet", "begin", &address]), 2);
        assert!(nothing.contains("holds no crawl to begin with"), "{nothing}");
        let short = fails(world.run(&["fleet", "begin", &address, "--lease", "11 s"]), 2);
        assert!(short.contains("fetch.timeout: 4 s is too long"), "{short}");
        let fleet = Fleet::begin_at(world, address, Vec::new(), cuts);
        let again = fails(fleet.begin_again(cuts), 2);
        assert!(again.contains("a fleet is here already"), "{again}");
        fleet
    }

    /// A fleet elsewhere, whose processes find its store by these variables.
    pub fn begin_at(
        world: World,
        address: String,
        variables: Vec<(&'static str, String)>,
        cuts: &[&str],
    ) -> Fleet {
        let fleet = Fleet { world, address, variables };
        let told = succeeds(fleet.begin_again(cuts));
        assert!(told.contains("start a process for each"), "{told}");
        fleet
    }

    fn begin_again(&self, cuts: &[&str]) -> std::process::Output {
        let mut command = self.program();
        command.args(["fleet", "begin", &self.address, "--lease", "12 s"]);
        cuts.iter().for_each(|cut| _ = command.args(["--cut", cut]));
        command.arg("--config").arg(self.world.config_file()).current_dir(&self.world.folder);
        command.output().unwrap()
    }

    pub fn program(&self) -> Command {
        let mut command = crate::harness::program();
        command.envs(self.variables.clone());
        command
    }

    pub fn command(&self, name: &str) -> Command {
        self.command_in(name, name)
    }

    /// A process whose data directory has another name.
    fn command_in(&self, name: &str, folder: &str) -> Command {
        let mut command = self.program();
        command.args(["serve", "--fleet", &self.address, "--name", name]);
        command.arg("--config").arg(self.world.config_file());
        command.arg("--data-dir").arg(self.world.folder.path().join(folder));
        command.arg("--seeds").arg(self.world.seed_file());
        command
    }

    pub fn status(&self) -> Value {
        let told =
            succeeds(self.program().args(["fleet", "status", &self.address, "--json"]).output().unwrap());
        serde_json::from_str(&told).unwrap()
    }

    /// The state of each partition, and its owner.
    pub fn owners(&self) -> BTreeMap<u64, (String, Option<String>)> {
        let status = self.status();
        let one = |partition: &Value| {
            let owner = partition["owner"].as_str().map(str::to_owned);
            (count(partition, "partition").unwrap(), (partition["state"].as_str().unwrap().to_owned(), owner))
        };
        status["partitions"].as_array().unwrap().iter().map(one).collect()
    }

    /// Waits until all partitions, of which there are so many, have been owned for so long.
    pub fn until_owned(&self, partitions: usize, looks: u32, nodes: &BTreeMap<&str, StandBy>) {
        let (begun, mut whole) = (Instant::now(), 0);
        while whole < looks {
            let owners = self.owners();
            // A command may own one as well.
            let is_owned = |(state, owner): &(String, Option<String>)| {
                state == "owned" && owner.as_ref().is_some_and(|owner| nodes.contains_key(owner.as_str()))
            };
            let is_whole = owners.len() == partitions && owners.values().all(is_owned);
            whole = if is_whole { whole + 1 } else { 0 };
            let logs = || nodes.values().map(|node| node.log.lock().unwrap().clone()).collect::<Vec<_>>();
            assert!(begun.elapsed() < PATIENCE, "{owners:?}\n{}", logs().join("\n\n"));
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// `recrawl fleet WHAT` with these words behind the address.
    pub fn order(&self, what: &str, words: &[&str]) -> std::process::Output {
        let mut command = self.program();
        command.args(["fleet", what, &self.address]).args(words);
        command.output().unwrap()
    }

    /// The pages of all partitions, each as its owner knows it.
    pub fn together(&self, owners: BTreeMap<u64, (String, Option<String>)>) -> Pages {
        let mut together = Pages::new();
        for (partition, (_, owner)) in owners {
            for (url, page) in self.pages_of(&owner.unwrap(), partition) {
                assert!(together.insert(url.clone(), page).is_none(), "{url} is in two partitions");
            }
        }
        together
    }

    /// What a node knows of a partition.
    pub fn pages_of(&self, name: &str, partition: u64) -> Pages {
        let folder = self.world.folder.path().join(name).join(format!("partition-{partition}"));
        let mut command = self.program();
        command.args(["export", "pages", "--out", "-", "--data-dir"]).arg(folder);
        let lines = crate::harness::json_lines(&succeeds(command.output().unwrap()));
        lines.into_iter().map(|line| (line["url"].as_str().unwrap().to_owned(), line)).collect()
    }
}

/// A process that owns nothing yet, and what it says.
pub struct StandBy {
    pub child: Child,
    pub log: Arc<Mutex<String>>,
}

impl StandBy {
    pub fn start(mut command: Command) -> StandBy {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (log, lines) =
            (Arc::new(Mutex::new(String::new())), BufReader::new(child.stderr.take().unwrap()));
        let told = log.clone();
        thread::spawn(move || {
            lines
                .lines()
                .map_while(Result::ok)
                .for_each(|line| told.lock().unwrap().push_str(&format!("{line}\n")));
        });
        StandBy { child, log }
    }

    pub fn until(&self, says: &str) {
        let begun = Instant::now();
        while !self.log.lock().unwrap().contains(says) {
            assert!(begun.elapsed() < PATIENCE, "it does not say {says:?}: {}", self.log.lock().unwrap());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    pub fn stop(mut self) -> String {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success(), "{}", self.log.lock().unwrap());
        self.log.lock().unwrap().clone()
    }
}

/// Waits until the nodes have visited so many pages together.
fn all_visited(nodes: &[Daemon], pages: u64) {
    let begun = Instant::now();
    loop {
        let visited: u64 = nodes.iter().map(|node| count(&node.status(), "visited").unwrap()).sum();
        if visited == pages {
            return;
        }
        let logs =
            || nodes.iter().map(|node| node.log.lock().unwrap().clone()).collect::<Vec<_>>().join("\n\n");
        assert!(begun.elapsed() < PATIENCE, "{visited} of {pages} visited:\n{}", logs());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn three_processes_are_one_crawl_and_a_fourth_takes_the_place_of_one_that_is_killed() {
    let fleet = Fleet::begin(&["127.1.0.3", "127.1.0.5"]);
    assert!(fleet.owners().values().all(|(state, owner)| state == "never owned" && owner.is_none()));
    let nodes: Vec<Daemon> = ["a", "b", "c"].map(|name| Daemon::of(fleet.command(name))).into();
    let fourth = StandBy::start(fleet.command("d"));
    fourth.until("stands by");
    // One crawl of the same web knows as much.
    fleet.world.crawl(12);
    let alone: Vec<String> = fleet.world.pages().into_keys().collect();
    all_visited(&nodes, count(&fleet.world.status(), "visited").unwrap());
    let owners = fleet.owners();
    assert!(owners.values().all(|(state, _)| state == "owned"), "{owners:?}");
    let names: Vec<&str> = owners.values().filter_map(|(_, owner)| owner.as_deref()).collect();
    assert_eq!(names.len(), 3, "{owners:?}");

    // Each sees all.
    let owners_seen_by = |status: &Value| {
        let partitions = status["fleet"]["partitions"].as_array().unwrap();
        partitions.iter().filter(|one| one["owner"].is_string() && count(one, "cycle") > Some(0)).count()
    };
    nodes[0].until("all are seen", |status| {
        owners_seen_by(status) == 3 && status["fleet"]["nodes"].as_array().unwrap().len() == 4
    });

    // What is decided at one is in force at all, and a seed goes to whose site it is.
    nodes[0].change("PUT", "/api/v1/pause", None);
    nodes.iter().for_each(|node| drop(node.until("paused", |status| status["state"] == "paused")));
    nodes[2].change("DELETE", "/api/v1/pause", None);
    nodes.iter().for_each(|node| drop(node.until("resumed", |status| status["state"] != "paused")));
    // At the same moment at two: all end as the last of the one list says.
    thread::scope(|scope| {
        scope.spawn(|| nodes[0].change("PUT", "/api/v1/pause", None));
        scope.spawn(|| nodes[1].change("DELETE", "/api/v1/pause", None));
    });
    let decisions = fs::read_dir(fleet.world.folder.path().join("bucket/decisions")).unwrap();
    let last = decisions.map(|file| file.unwrap().path()).max().unwrap();
    let decided = String::from_utf8_lossy(&fs::read(&last).unwrap()).to_lowercase();
    let (is_paused, number) = (!decided.contains("resume"), last.file_name().unwrap().to_owned());
    assert_eq!((number.to_str(), decided.contains("pause")), (Some("0000000003"), is_paused), "{decided}");
    let alike = |status: &Value| (status["state"] == "paused") == is_paused;
    nodes.iter().for_each(|node| drop(node.until("as the last decision says", alike)));
    nodes[2].change("DELETE", "/api/v1/pause", None);
    nodes.iter().for_each(|node| drop(node.until("resumed again", |status| status["state"] != "paused")));
    let new = fleet.world.server.seeds()[0].clone() + "no/such/page";
    let told: Vec<String> = nodes.iter().map(|node| node.seed(std::slice::from_ref(&new))).collect();
    let begun = Instant::now();
    while fleet.world.asked(&new) == 0 {
        assert!(begun.elapsed() < PATIENCE, "nobody asks for {new}: {told:?}");
        thread::sleep(Duration::from_millis(50));
    }

    let of_b = *owners.iter().find(|(_, (_, owner))| owner.as_deref() == Some("b")).unwrap().0;
    let [a, b, c] = nodes.try_into().unwrap_or_else(|_| panic!("three"));
    b.kill();
    fourth.until(&format!("takes partition {of_b} over from b, silent for"));
    fourth.until(&format!("restored partition {of_b}"));
    fourth.until("owns partition");
    let begun = Instant::now();
    while fleet.owners()[&of_b] != ("owned".into(), Some("d".into())) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", fleet.owners());
        thread::sleep(Duration::from_millis(50));
    }
    let told = succeeds(fleet.order("status", &[]));
    assert!(told.contains(&format!("it owned partition {of_b} (epoch 1)")), "{told}");
    let status = fleet.status();
    let of_node = |name: &str| {
        let nodes = status["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!([of_node("a"), of_node("b")], ["owner", "silent"], "{status}");
    let is_silent = |node: &Value| node["name"] == "b" && node["is_silent"] == true;
    a.until("b is silent", |status| {
        owners_seen_by(status) == 3 && status["fleet"]["nodes"].as_array().unwrap().iter().any(is_silent)
    });
    let logs = [a.stop(), c.stop(), fourth.stop()];
    assert!(logs.iter().all(|log| !log.contains("refused links")), "{logs:?}");
    let owners = fleet.owners();
    assert!(owners.values().all(|(state, _)| state == "free"), "{owners:?}");

    // Each page has one partition, and all together have all.
    let mut together = Pages::new();
    for partition in 1..=3 {
        let owner = ["a", "c", "d"].into_iter().find(|name| {
            fleet.world.folder.path().join(name).join(format!("partition-{partition}")).exists()
        });
        for (url, page) in fleet.pages_of(owner.unwrap(), partition) {
            assert!(together.insert(url.clone(), page).is_none(), "{url} is in two partitions");
        }
    }
    together.remove(&new);
    assert_eq!(together.into_keys().collect::<Vec<_>>(), alone);
}

#[test]
fn a_process_that_starts_again_goes_on_at_once_and_what_is_wrong_is_told() {
    let fleet = Fleet::begin(&[]);
    let node = Daemon::of(fleet.command("a"));
    node.until("visited", |status| count(status, "visited") > Some(20));
    node.kill();
    let node = Daemon::of(fleet.command("a"));
    // Nobody crawls there as if it were alone; a takedown reaches the vault.
    let folder = fleet.world.folder.path().join("a").join("partition-1");
    let in_folder = |words: &[&str]| {
        let mut command = crate::harness::program();
        command.args(words).arg("--config").arg(fleet.world.config_file()).arg("--data-dir").arg(&folder);
        command.output().unwrap()
    };
    let alone = fails(in_folder(&["crawl", "--cycles", "1"]), 2);
    assert!(alone.contains("is a partition of a fleet; run `recrawl serve --fleet"), "{alone}");
    let (page, row) = fleet.pages_of("a", 1).into_iter().find(|(_, row)| !row["n"].is_null()).unwrap();
    assert!(count(&row, "n").is_some(), "{row}");
    // The process steps aside, once its round is committed.
    succeeds(in_folder(&["takedown", "--page", &page]));
    let log = node.stop();
    assert!(log.contains("partition 1 goes on in"), "{log}");
    // Another machine has nothing, and begins with all.
    let other = Daemon::of(fleet.command("b"));
    assert!(count(&other.status(), "visited") > Some(20));
    let log = other.stop();
    assert!(fleet.pages_of("b", 1)[&page]["n"].is_null(), "{page} was taken down");
    assert!(log.contains("restored partition 1 in"), "{log}");
    // The first one is older than the vault now, which keeps nothing of the page: so goes the old copy.
    let node = Daemon::of(fleet.command("a"));
    let log = node.stop();
    assert!(log.contains("another process owns partition 1"), "{log}");
    assert!(log.contains("restored partition 1 in"), "{log}");

    let fails_with = |command: &mut Command, says: &str| {
        let told = fails(command.output().unwrap(), 2);
        assert!(told.contains(says), "{told}");
    };
    fails_with(
        fleet.command("no name").stdin(Stdio::null()),
        "--name \"no name\": 1 to 64 letters, digits or -",
    );
    fleet.world.configure("[cycle]\nrounds = 2");
    fails_with(&mut fleet.command("a"), "cycle.rounds: a crawl of a fleet cannot do this yet");
    fleet.world.configure("[storage]\nvault = \"file:///elsewhere\"");
    fails_with(
        &mut fleet.command("a"),
        "storage.vault: the vault of a partition lies in the store of its fleet",
    );
    let empty = format!("file://{}", fleet.world.folder.path().join("empty").display());
    fs::create_dir(fleet.world.folder.path().join("empty")).unwrap();
    let status = crate::harness::program().args(["fleet", "status", &empty]).output().unwrap();
    assert!(fails(status, 2).contains("no fleet was begun here"));
}

#[test]
fn a_crawl_becomes_a_fleet_of_one_partition_and_goes_on() {
    let world = daemon::world(PAGES, HOSTS, SETTINGS);
    world.crawl(6);
    let before = world.pages();
    let bucket = world.folder.path().join("bucket");
    fs::create_dir(&bucket).unwrap();
    let address = format!("file://{}", bucket.display());
    let cut = fails(world.run(&["fleet", "begin", &address, "--cut", "127.1.0.3"]), 2);
    assert!(cut.contains("a crawl that has pages begins as one partition"), "{cut}");
    succeeds(world.run(&["fleet", "begin", &address, "--lease", "12 s"]));
    let fleet = Fleet { world, address, variables: Vec::new() };
    let node = Daemon::of(fleet.command("a"));
    node.until("a cycle more", |status| count(status, "generation") > Some(7));
    let log = node.stop();
    assert!(log.contains("restored partition 1 in"), "{log}");
    assert_eq!(
        fleet.pages_of("a", 1).into_keys().collect::<Vec<_>>(),
        before.into_keys().collect::<Vec<_>>()
    );
    // The crawl that it was made of is no data directory of a process.
    let old = crate::harness::program()
        .args(["serve", "--fleet", &fleet.address, "--name", "b", "--config"])
        .arg(fleet.world.config_file())
        .arg("--data-dir")
        .arg(&fleet.world.data_dir)
        .output()
        .unwrap();
    assert!(fails(old, 2).contains("; use another data directory here"));
    // Nor is it crawled beside the fleet.
    let beside = fails(fleet.world.run(&["crawl", "--rounds", "1"]), 2);
    assert!(beside.contains("goes on with this crawl"), "{beside}");
}

/// Whatever happens to processes and their disks, and even if one sleeps for longer than its lease, each page is in one
/// partition, all are known, and no host is asked by two at once or too soon.
#[test]
#[expect(clippy::disallowed_methods, reason = "more trouble is asked for by a documented variable")]
fn processes_die_sleep_and_lose_their_disks_and_the_pages_are_those_of_one_crawl() {
    let trouble = std::env::var("RECRAWL_FLEET_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let fleet = Fleet::begin(&["127.1.0.3", "127.1.0.5"]);
    let polite = format!("{SETTINGS}[politeness]\ndelay_per_host = \"40 ms\"\ndelay_per_latency = 0.0\n");
    daemon::configure(&fleet.world, &polite);
    let mut rng = StdRng::seed_from_u64(11);
    let names = ["a", "b", "c", "d"];
    let mut nodes: BTreeMap<&str, StandBy> =
        names.iter().map(|name| (*name, StandBy::start(fleet.command(name)))).collect();
    for event in 0..trouble {
        thread::sleep(Duration::from_millis(rng.random_range(300..6_000)));
        let name = names[rng.random_range(0..names.len())];
        let mut node = nodes.remove(name).unwrap();
        if event % 3 == 2 {
            // Asleep for longer than its lease: when it wakes, it may believe that it is an owner.
            node.signal("-STOP");
            thread::sleep(Duration::from_millis(rng.random_range(1_000..15_000)));
            node.signal("-CONT");
            nodes.insert(name, node);
            continue;
        }
        node.child.kill().unwrap();
        node.child.wait().unwrap();
        if event % 3 == 1 {
            fs::remove_dir_all(fleet.world.folder.path().join(name)).unwrap();
        }
        nodes.insert(name, StandBy::start(fleet.command(name)));
    }
    // Some cycles without trouble: what is on its way arrives.
    fleet.until_owned(3, 40, &nodes);
    let owners = fleet.owners();
    let manners = fleet.world.server.violations(Duration::from_millis(40));
    assert_eq!((manners.forbidden, manners.before_robots), (0, 0));
    assert_eq!(manners.max_requests_per_host, 1, "no host is asked by two");
    assert_eq!(manners.host_page_gaps_under, 0, "{} gaps under the delay", manners.host_page_gaps_under);
    for log in nodes.into_values().map(StandBy::stop) {
        assert!(!log.contains("round failed"), "a lease that is over is no failure: {log}");
    }
    let alone = fleet.world.data_dir.clone();
    fleet.world.crawl(12);
    let known: Vec<String> = fleet.world.pages().into_keys().collect();
    assert!(alone.exists() && known.len() > 100, "{} pages", known.len());
    assert_eq!(fleet.together(owners).into_keys().collect::<Vec<_>>(), known);
}

/// A partition is divided while it is crawled, a process that stands by takes the new one, and an owner is drained, and another
/// gives its partition to a process that is named: no page is lost, none is in two, and no host is asked by two at once or too soon.
#[test]
fn a_partition_is_divided_while_it_is_crawled_and_an_owner_is_drained() {
    let fleet = Fleet::begin(&["127.1.0.4"]);
    let polite = format!("{SETTINGS}[politeness]\ndelay_per_host = \"40 ms\"\ndelay_per_latency = 0.0\n");
    daemon::configure(&fleet.world, &polite);
    let config = fleet.world.config_file().display().to_string();
    let split = |partition: &str, at: &str| {
        let scratch = fleet.world.folder.path().display().to_string();
        fleet.order("split", &[partition, "--at", at, "--config", &config, "--scratch", &scratch])
    };
    for (partition, at, says) in [
        ("7", "127.1.0.2", "the fleet has no partition 7"),
        ("1", "127.1.0.5", "127.1.0.5 does not lie in partition 1"),
        ("1", "http://a/", "is no host"),
        ("1", "127.1.0.2", "partition 1 has no pages yet"),
    ] {
        let told = fails(split(partition, at), 2);
        assert!(told.contains(says), "{told}");
    }
    let mut nodes: BTreeMap<&str, StandBy> =
        ["a", "b", "c"].iter().map(|name| (*name, StandBy::start(fleet.command(name)))).collect();
    fleet.until_owned(2, 5, &nodes);
    let told = succeeds(split("1", "127.1.0.2"));
    assert!(told.contains("gives partition 1 up after its round"), "{told}");
    assert!(told.contains("partition 1 is divided at 127.1.0.2: partition 3 has"), "{told}");
    fleet.until_owned(3, 10, &nodes);
    let log: String = nodes.values().map(|node| node.log.lock().unwrap().clone()).collect();
    assert!(log.contains("was divided: dropped what is another's"), "{log}");
    assert!(log.contains("it is taken again by the new map"), "the other owner has noticed: {log}");
    assert!(!log.contains("partition 2 was divided"), "{log}");
    let other = nodes[fleet.owners()[&2].1.clone().unwrap().as_str()].log.lock().unwrap().clone();
    assert!(!other.contains("nothing more of what was removed here"), "{other}");
    assert!(log.contains("handed partition 1 over (epoch 1)"), "{log}");

    // A name that is taken, and a page of another partition.
    let told = fails(fleet.command_in("a", "second").output().unwrap(), 2);
    assert!(told.contains("--name a: another process of this fleet has that name"), "{told}");
    let [first, last] = [1, 2].map(|id| fleet.owners()[&id].1.clone().unwrap());
    let page = fleet.pages_of(&last, 2).into_keys().next().unwrap();
    let folder = fleet.world.folder.path().join(&first).join("partition-1");
    let within = |words: &[&str], folder: &Path| {
        let mut command = crate::harness::program();
        command.args(words).args(["--config", &config, "--data-dir"]).arg(folder).output().unwrap()
    };
    let told = fails(within(&["show", &page, "--html"], &folder), 2);
    assert!(told.contains(&format!("partition 2 of the fleet has this host, which {last} owns")), "{told}");
    let told = fails(within(&["status", "--host", "127.1.0.5"], &folder), 2);
    let elsewhere = format!("127.1.0.5: partition 2 of the fleet has this host, which {last} owns");
    assert!(told.contains(&elsewhere), "{told}");
    let told = succeeds(within(&["status"], &folder));
    let own = format!("partition 1 of {}: {first} owns it (epoch ", fleet.address);
    assert!(told.contains(&own) && told.contains("its lease is 12 s"), "{told}");
    let told = fails(within(&["status"], folder.parent().unwrap()), 2);
    assert!(told.contains(&format!("partition in --data-dir {}", folder.display())), "{told}");

    let nobody = fails(fleet.order("drain", &["--name", "z"]), 2);
    assert!(nobody.contains("no such process; there are: a, b, c"), "{nobody}");
    let name = fleet.owners()[&3].1.clone().unwrap();
    let told = succeeds(fleet.order("drain", &["--name", &name]));
    assert!(told.contains("it owns partition 3") && told.contains("has ended"), "{told}");
    let mut drained = nodes.remove(name.as_str()).unwrap();
    assert!(drained.child.wait().unwrap().success());
    assert_eq!(fleet.owners()[&3], ("free".into(), None), "{}", drained.log.lock().unwrap());
    drained.until("freed partition 3");
    nodes.insert("d", StandBy::start(fleet.command("d")));
    nodes["d"].until("takes partition 3, which its owner has freed");
    nodes["d"].until("owns partition 3");
    fleet.until_owned(3, 40, &nodes);

    // One that stands by takes a partition from an owner, which stands by from then on.
    let giver = fleet.owners()[&2].1.clone().unwrap();
    for (to, says) in [("z", "no such process; there are: "), ("d", "--to d: owns partition 3")] {
        let told = fails(fleet.order("move", &["2", "--to", to]), 2);
        assert!(told.contains(says), "{told}");
    }
    nodes.insert("e", StandBy::start(fleet.command("e")));
    nodes["e"].until("stands by");
    let told = succeeds(fleet.order("move", &["2", "--to", "e"]));
    assert!(told.contains(&format!("{giver} gives partition 2 up after its round, for e")), "{told}");
    assert!(told.contains("e owns partition 2"), "{told}");
    nodes["e"].until("takes partition 2, which its owner has handed over");
    nodes[giver.as_str()].until("handed partition 2 over");
    nodes[giver.as_str()].until("stands by");
    fleet.until_owned(3, 50, &nodes);

    let owners = fleet.owners();
    let manners = fleet.world.server.violations(Duration::from_millis(40));
    assert_eq!((manners.forbidden, manners.before_robots, manners.max_requests_per_host), (0, 0, 1));
    assert_eq!(manners.host_page_gaps_under, 0, "{} gaps under the delay", manners.host_page_gaps_under);
    nodes.into_values().for_each(|node| drop(node.stop()));
    fleet.world.crawl(12);
    let known: Vec<String> = fleet.world.pages().into_keys().collect();
    assert!(known.len() > 100, "{} pages", known.len());
    assert_eq!(fleet.together(owners).into_keys().collect::<Vec<_>>(), known);
}

/// `kill -9` of the command at any moment: the fleet goes on as it was, or is divided; and a page is in one partition.
#[test]
#[expect(clippy::disallowed_methods, reason = "more trouble is asked for by a documented variable")]
fn a_split_that_is_killed_changes_nothing_and_can_be_made_again() {
    let kills = std::env::var("RECRAWL_FLEET_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let fleet = Fleet::begin(&[]);
    let nodes: BTreeMap<&str, StandBy> =
        ["a", "b"].iter().map(|name| (*name, StandBy::start(fleet.command(name)))).collect();
    fleet.until_owned(1, 10, &nodes);
    let split = || {
        let mut command = crate::harness::program();
        command.args(["fleet", "split", &fleet.address, "1", "--at", "127.1.0.4", "--config"]);
        command.arg(fleet.world.config_file()).arg("--scratch").arg(fleet.world.folder.path());
        command
    };
    let mut rng = StdRng::seed_from_u64(5);
    for _ in 0..kills {
        let mut command = split().stdout(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(command.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert!(told.contains("gives partition 1 up after its round"), "{told}");
        thread::sleep(Duration::from_millis(rng.random_range(0..4_000)));
        command.kill().unwrap();
        command.wait().unwrap();
        let partitions = fleet.owners().len();
        fleet.until_owned(partitions, 5, &nodes);
        if fleet.owners().len() == 2 {
            break;
        }
    }
    if fleet.owners().len() == 1 {
        succeeds(split().output().unwrap());
    }
    fleet.until_owned(2, 40, &nodes);
    let owners = fleet.owners();
    nodes.into_values().for_each(|node| drop(node.stop()));
    fleet.world.crawl(12);
    let known: Vec<String> = fleet.world.pages().into_keys().collect();
    assert_eq!(fleet.together(owners).into_keys().collect::<Vec<_>>(), known);
}

/// A process whose restores fail is drained as any other.
#[test]
fn a_drain_is_heard_while_restores_fail() {
    let fleet = Fleet::begin(&[]);
    let folder = fleet.world.folder.path().join("b");
    fs::create_dir(&folder).unwrap();
    // In place of the partition's folder.
    fs::write(folder.join("partition-1"), "").unwrap();
    let mut node = StandBy::start(fleet.command("b"));
    node.until("cannot look for a partition, trying again");
    let told = succeeds(fleet.order("drain", &["--name", "b"]));
    assert!(told.contains("it stands by") && told.contains("b has ended"), "{told}");
    assert!(node.child.wait().unwrap().success(), "{}", node.log.lock().unwrap());
}

/// A newer program has put a format in force that this one does not know.
#[test]
fn a_program_that_does_not_know_the_format_of_its_fleet_refuses_and_one_that_runs_ends() {
    let fleet = Fleet::begin(&[]);
    let mut node = StandBy::start(fleet.command("a"));
    node.until("owns partition 1");
    let mut second = StandBy::start(fleet.command("b"));
    second.until("stands by");
    let nodes = fleet.status()["nodes"].clone();
    assert!(nodes.as_array().unwrap().iter().all(|node| node["format"] == 1), "{nodes}");
    let formats = fleet.world.folder.path().join("bucket/format");
    let known = fs::read_to_string(formats.join("0000000001")).unwrap();
    assert!(known.contains("\"format\":1"), "the format in force has an object: {known}");
    // Its form may be another as well.
    fs::write(formats.join("0000000002"), "of the future").unwrap();
    let says =
        "this fleet has format 2, and this program knows formats up to 1; install the version of the other";
    for node in [&mut node, &mut second] {
        assert_eq!(node.child.wait().unwrap().code(), Some(2), "{}", node.log.lock().unwrap());
        node.until(says);
    }
    node.until("gave up partition 1: the fleet has a newer format");
    for command in [&mut fleet.command("a"), fleet.program().args(["fleet", "status", &fleet.address])] {
        let told = fails(command.output().unwrap(), 2);
        assert!(told.contains(says), "{told}");
    }
    // It has shipped all, and left.
    fs::remove_file(formats.join("0000000002")).unwrap();
    assert_eq!(fleet.owners()[&1], ("free".into(), None));
    assert_eq!(fleet.status()["nodes"], serde_json::json!([]), "no other version waits for them");
}
