//! Who is told of changes: each at least once, by ids exactly once, whatever the receiver or a kill does.

use crate::crash::setting;
use crate::daemon::{self, Daemon, PATIENCE};
use crate::harness::*;
use data_encoding::BASE64;
use ring::hmac;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// 32 bytes in Base64, as `openssl rand -base64 32` gives them.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
/// All pages are visited in each cycle.
const ALL: &str = "[cycle]\npages = \"100%\"\nfill = true\n";

/// How a receiver treats the n-th message.
type Manners = fn(u64) -> Manner;

#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Take,
    /// Take it, and close the connection without an answer.
    LoseAnswer,
    Refuse,
    /// Answer late.
    Slow,
}

/// A webhook receiver. It ends with the test.
struct Receiver {
    url: String,
    /// What it took, in order; also what was sent again.
    taken: Arc<Mutex<Vec<Value>>>,
    asked: Arc<AtomicU64>,
}

impl Receiver {
    fn start(manners: Manners) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiver = Receiver { url, taken: Arc::default(), asked: Arc::default() };
        let (taken, asked) = (receiver.taken.clone(), receiver.asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, taken, asked) = (stream.unwrap(), taken.clone(), asked.clone());
                std::thread::spawn(move || answer_all(stream, manners, &taken, &asked));
            }
        });
        receiver
    }

    fn target(&self, more: &str) -> String {
        format!(
            "{ALL}[[notify]]\nname = \"desk\"\nwebhook = \"{}\"\nallow_addresses = [\"127.0.0.1\"]\n{more}",
            self.url
        )
    }

    /// The taken messages by id; all copies of one are equal.
    fn by_id(&self) -> BTreeMap<String, Value> {
        let mut by_id = BTreeMap::new();
        for message in self.taken.lock().unwrap().iter() {
            let data = &message["data"];
            let (id, what) = (data["id"].as_str().unwrap(), (data["url"].clone(), data["cycle"].clone()));
            if let Some(before) = by_id.insert(id.to_owned(), message.clone()) {
                assert_eq!((before["data"]["url"].clone(), before["data"]["cycle"].clone()), what);
            }
        }
        by_id
    }

    /// What was told, as kinds, cycles and pages.
    fn told(&self) -> BTreeSet<(String, u64, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let told = |message: &Value| {
            let data = &message["data"];
            (text(&data["kind"]), data["cycle"].as_u64().unwrap(), text(&data["url"]))
        };
        self.by_id().values().map(told).collect()
    }
}

/// Answers the requests of a connection, and checks each.
fn answer_all(mut stream: TcpStream, manners: Manners, taken: &Mutex<Vec<Value>>, asked: &AtomicU64) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut line, mut head) = (String::new(), BTreeMap::new());
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            if let Some((name, value)) = line.split_once(':') {
                head.insert(name.to_lowercase(), value.trim().to_owned());
            }
            line.clear();
        }
        if line.is_empty() {
            return;
        }
        let mut body = vec![0; head["content-length"].parse().unwrap()];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let message: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(head["webhook-id"], message["data"]["id"].as_str().unwrap());
        if let Some(signature) = head.get("webhook-signature") {
            let signed =
                [format!("{}.{}.", head["webhook-id"], head["webhook-timestamp"]).as_bytes(), &body].concat();
            let key = hmac::Key::new(hmac::HMAC_SHA256, b"01234567890123456789012345678901");
            let signature = BASE64.decode(signature.strip_prefix("v1,").unwrap().as_bytes()).unwrap();
            hmac::verify(&key, &signed, &signature).expect("it is signed");
        }
        let status = match manners(asked.fetch_add(1, Relaxed)) {
            Manner::Take => 204,
            Manner::LoseAnswer => {
                taken.lock().unwrap().push(message);
                return;
            }
            Manner::Refuse => 500,
            Manner::Slow => {
                std::thread::sleep(Duration::from_millis(300));
                204
            }
        };
        if status == 204 {
            taken.lock().unwrap().push(message);
        }
        if write!(stream, "HTTP/1.1 {status} .\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// The changes of all cycles after `after`, as the kept visits tell them.
fn changes(world: &World, after: u64, kinds: &[&str]) -> BTreeSet<(String, u64, String)> {
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let mut found = BTreeSet::new();
    for visit in visits {
        let kind = match visit["changed"].as_bool() {
            Some(true) => "changed",
            None if visit["outcome"] == "fetched" => "new",
            _ => continue,
        };
        let cycle = visit["cycle"].as_u64().unwrap();
        if cycle > after && kinds.contains(&kind) {
            found.insert((kind.to_owned(), cycle, visit["url"].as_str().unwrap().to_owned()));
        }
    }
    found
}

#[test]
fn each_change_is_told_with_its_texts_signed_and_once() {
    let receiver = Receiver::start(|_| Manner::Take);
    let secret = "changes = [\"changed\", \"new\"]\nsecrets = [\"env:HOOK_SECRET\"]\n";
    let world = daemon::world_of(web(60, 3), &receiver.target(secret));
    let with_secret = |mut command: std::process::Command| {
        let output = command.env("HOOK_SECRET", SECRET).output().expect("the program runs");
        succeeds(output)
    };
    for _ in 0..3 {
        with_secret(world.crawl_command(1));
        world.server.advance().unwrap();
    }
    let told = with_secret(world.command(&["notify", "send"]));
    assert!(told.contains("messages delivered"), "{told}");
    daemon::configure(&world, ALL);
    let expected = changes(&world, 0, &["changed", "new"]);
    assert!(expected.iter().any(|(kind, ..)| kind == "changed"), "the web changes");
    assert_eq!(receiver.told(), expected);
    assert_eq!(receiver.taken.lock().unwrap().len(), expected.len(), "none was sent twice");
    let mut with_texts = 0;
    for message in receiver.by_id().values() {
        let data = &message["data"];
        let text = |key: &str| data[key].as_str().map(str::to_owned);
        assert_eq!(data["no_text"], Value::Null, "{message}");
        if data["kind"] == "changed" {
            with_texts += 1;
            let (old, new, difference) =
                (text("old_text").unwrap(), text("new_text").unwrap(), text("difference").unwrap());
            assert_ne!(old, new);
            for line in difference.lines().skip(3).filter(|line| line.starts_with('+')) {
                assert!(new.contains(&line[1..]), "{line}\n{new}");
            }
        }
    }
    assert!(with_texts > 3);
}

#[test]
fn a_crawl_without_targets_writes_nothing_of_them() {
    let world = daemon::world_of(web(20, 1), ALL);
    world.crawl(2);
    assert!(!world.data_dir.join("notify.json").exists());
    let refused = fails(world.run(&["notify", "send"]), 2);
    assert!(refused.contains("no target is configured"), "{refused}");
}

#[test]
fn a_killed_daemon_and_a_receiver_that_loses_answers_lose_no_change() {
    let receiver = Receiver::start(|n| match n % 7 {
        2 => Manner::LoseAnswer,
        4 => Manner::Refuse,
        5 => Manner::Slow,
        _ => Manner::Take,
    });
    let world = daemon::world_of(
        web(300, 5),
        &format!(
            "[storage]\nkeep_visits = 10000\n{}",
            receiver.target("changes = [\"changed\", \"new\"]\ntext = \"1 KiB\"\n")
        ),
    );
    world.crawl(1);
    let kills = setting("RECRAWL_KILLS", 3);
    for n in 0..kills {
        let mut daemon = Daemon::start(&world);
        world.server.advance().unwrap();
        // Whatever it does then: fetching, committing, telling.
        std::thread::sleep(Duration::from_millis(100 + n * 797 % 1500));
        daemon.child.kill().unwrap();
        daemon.child.wait().unwrap();
        world.crawl(1);
    }
    let expected = changes(&world, 0, &["changed", "new"]);
    let daemon = Daemon::start(&world);
    let begun = Instant::now();
    while receiver.told() != expected {
        assert!(begun.elapsed() < PATIENCE * 3, "{} of {} told", receiver.told().len(), expected.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    daemon.stop();
    let (ids, sent) = (receiver.by_id().len(), receiver.taken.lock().unwrap().len());
    assert_eq!(ids, expected.len(), "ids make it exactly once");
    eprintln!("{kills} kills, {ids} changes told, {} of them again", sent - ids);
}

#[test]
fn a_receiver_that_is_down_is_shown_and_told_all_when_it_is_up() {
    let world = daemon::world_of(web(60, 2), ALL);
    // Nobody listens there, nor does another test at an address of its own.
    let port = TcpListener::bind("127.77.0.1:0").unwrap().local_addr().unwrap().port();
    let target = format!(
        "{ALL}[[notify]]\nname = \"desk\"\nwebhook = \"http://127.77.0.1:{port}/\"\nallow_addresses = [\"127.77.0.1\"]\n\
         changes = [\"new\"]\n"
    );
    daemon::configure(&world, &target);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let status = daemon.until("failing", |status| status["notify"][0]["failing_since"].is_u64());
    assert!(status["notify"][0]["error"].as_str().unwrap().starts_with("cannot connect"), "{status}");
    let also = status["health"].to_string();
    assert!(also.contains("changes cannot be delivered to: desk"), "{also}");
    daemon.stop();
    let told = succeeds(world.run(&["notify", "status"]));
    assert!(told.contains("desk: 0 messages delivered") && told.contains("cannot connect"), "{told}");
    let failed = fails(world.run(&["notify", "send"]), 1);
    assert!(failed.contains("failed and will be retried"), "{failed}");
    // It is up at another address, which the same target has now.
    let receiver = Receiver::start(|_| Manner::Take);
    daemon::configure(&world, &receiver.target("changes = [\"new\"]\n"));
    succeeds(world.run(&["notify", "send"]));
    assert_eq!(receiver.told(), changes(&world, 0, &["new"]));
}

/// A page is left alone for one cycle after its first failure, two after its second, four after its third.
#[test]
fn a_page_that_is_missing_is_told_once_after_three_tries_and_again_when_it_is_back() {
    let receiver = Receiver::start(|_| Manner::Take);
    let kinds = "changes = [\"failed\", \"not_found\", \"back\"]\ntext = \"0 B\"\n";
    let world = daemon::world_of(web(20, 2), &receiver.target(kinds));
    let told = || {
        succeeds(world.run(&["notify", "send"]));
        receiver.told()
    };
    world.crawl(1);
    let visited: BTreeSet<String> =
        world.pages().into_iter().filter(|(_, page)| page["n"] == 0).map(|(url, _)| url).collect();
    world.server.set_faults(vec!["1/=status:403".parse().unwrap(), "2/=status:404".parse().unwrap()]);
    (2..5).for_each(|_| drop(world.next_cycle()));
    assert!(told().is_empty(), "two tries");
    world.next_cycle();
    let missing = told();
    assert!(missing.iter().all(|(_, cycle, _)| *cycle == 5), "{missing:?}");
    let of = |kind: &str, from: &BTreeSet<(String, u64, String)>| -> BTreeSet<String> {
        from.iter().filter(|(is, ..)| is == kind).map(|(.., url)| url.clone()).collect()
    };
    let host = |number: usize| host_of(&world.server.seeds()[number]);
    let visited_of = |number: usize| -> BTreeSet<String> {
        visited.iter().filter(|url| host_of(url) == host(number)).cloned().collect()
    };
    assert!(visited_of(0).len() > 2 && visited_of(1).len() > 2, "{visited:?}");
    assert_eq!(of("failed", &missing), visited_of(0));
    assert_eq!(of("not_found", &missing), visited_of(1));
    let data = receiver.by_id().into_values().next().unwrap()["data"].clone();
    assert!(data["reason"].as_str().unwrap().starts_with("HTTP status 40"), "{data}");

    world.server.set_faults(Vec::new());
    (6..10).for_each(|_| drop(world.next_cycle()));
    let all = told();
    assert_eq!(of("back", &all), visited, "each is there again");
    assert_eq!(all.len(), 2 * visited.len(), "nothing else, and nothing twice");
    assert_eq!(receiver.taken.lock().unwrap().len(), all.len());
}

/// Only a target of notifications made the merge write down what this list is of.
#[test]
fn pages_that_died_and_came_back_are_listed_without_a_target() {
    let world = daemon::world_of(web(20, 2), ALL);
    world.crawl(1);
    let visited = world.pages().into_iter().filter(|(_, page)| page["n"] == 0).count();
    world.server.set_faults(vec!["1/=status:403".parse().unwrap(), "2/=status:404".parse().unwrap()]);
    (2..6).for_each(|_| drop(world.next_cycle()));
    world.server.set_faults(Vec::new());
    (6..10).for_each(|_| drop(world.next_cycle()));
    let listed = |kinds: &[&str]| -> BTreeMap<String, usize> {
        let said = succeeds(world.run(&[&["changes", "--json", "--limit", "1000"], kinds].concat()));
        let list: Value = serde_json::from_str(&said).unwrap();
        let mut counts = BTreeMap::new();
        for change in list["changes"].as_array().unwrap() {
            *counts.entry(change["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        counts
    };
    let all = listed(&[]);
    assert!(all["failed"] > 2 && all["not_found"] > 2, "{all:?}");
    assert_eq!(all["failed"] + all["not_found"], visited, "each once: {all:?}");
    assert_eq!(all["back"], visited, "{all:?}");
    assert_eq!(listed(&["--changes", "back"]), BTreeMap::from([("back".to_owned(), visited)]));
    let daemon = Daemon::start(&world);
    let died = daemon.get("/api/v1/changes?changes=failed&limit=1000");
    assert_eq!(died["changes"].as_array().unwrap().len(), all["failed"], "{died}");
    daemon.stop();
}

#[test]
fn a_takedown_removes_what_waits_of_its_pages() {
    let receiver = Receiver::start(|_| Manner::Take);
    let world = daemon::world_of(web(60, 2), &receiver.target("changes = [\"new\"]\n"));
    world.crawl(1);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let dead =
        receiver.target("changes = [\"new\"]\n").replace(&receiver.url, &format!("http://127.0.0.1:{port}/"));
    daemon::configure(&world, &dead);
    fails(world.run(&["notify", "send"]), 1);
    let stored = || std::fs::read_to_string(world.data_dir.join("notify.json")).unwrap();
    let host = host_of(&world.server.seeds()[0]);
    assert!(stored().contains(&host), "{}", stored());
    let done = succeeds(world.run(&["takedown", "--host", &host, "--json"]));
    let done: Value = serde_json::from_str(&done).unwrap();
    assert!(count(&done["removed"], "messages") > Some(0), "{done}");
    assert!(!stored().contains(&host), "{}", stored());
    daemon::configure(&world, &receiver.target("changes = [\"new\"]\n"));
    succeeds(world.run(&["notify", "send"]));
    let told = receiver.told();
    assert!(!told.is_empty() && told.iter().all(|(_, _, url)| host_of(url) != host), "{told:?}");
}

#[test]
fn the_seeds_alone_are_crawled_and_notified_of() {
    let receiver = Receiver::start(|_| Manner::Take);
    let world = daemon::world_of(web(60, 2), ALL);
    let text =
        receiver.target("changes = [\"new\"]\n").replace(ALL, &format!("{ALL}[scope]\nmax_depth = 0\n"));
    daemon::configure(&world, &text);
    world.crawl(2);
    succeeds(world.run(&["notify", "send"]));
    let seeds: BTreeSet<String> = world.server.seeds().iter().map(ToString::to_string).collect();
    let told: BTreeSet<String> = receiver.told().into_iter().map(|(_, _, url)| url).collect();
    assert_eq!(told, seeds);
}

#[test]
fn seeds_out_of_scope_are_summed_up() {
    let world = daemon::world_of(web(10, 2), "[scope]\ninclude = [\"https://example.com/prices/*\"]\n");
    let output = world.crawl_command(1).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let number = world.server.seeds().len();
    assert!(
        text.contains(&format!("seeds out of scope are never visited: {number}, such as http")),
        "{text}"
    );
}

#[test]
fn the_path_of_a_webhook_is_not_shown() {
    let receiver = Receiver::start(|_| Manner::Take);
    let world = daemon::world_of(web(10, 1), &receiver.target(""));
    let shown =
        succeeds(program().args(["config", "show", "--config"]).arg(world.config_file()).output().unwrap());
    let origin = receiver.url.strip_suffix("hook").unwrap();
    assert!(shown.contains(&format!("{origin}(hidden)")) && !shown.contains("/hook"), "{shown}");
}

/// A script in the world's folder.
fn script(world: &World, name: &str, text: &str) -> String {
    let path = world.folder.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    json_lines(&std::fs::read_to_string(path).unwrap())
}

/// Processes that leave the group, the session, the parent and the environment of a command.
const STRAYING: &str = "setsid sleep \"$1\" & setsid sh -c '(setsid sleep \"$1\" &) ; exec setsid sleep \"$1\"' sh \"$1\" & \
     (env -i setsid setsid sleep \"$1\" &) & (trap '' TERM HUP; setsid sh -c 'sleep \"$1\" & sleep \"$1\"' sh \"$1\" &)";

#[test]
fn all_that_a_command_starts_is_killed_at_its_end_and_nothing_else() {
    let world = daemon::world_of(web(10, 1), ALL);
    let begun = world.folder.path().join("begun");
    let (ends, hangs) = (
        script(&world, "ends", &format!("{STRAYING}; exit \"$2\"")),
        script(&world, "hangs", &format!("{STRAYING}; echo begun >\"$2\"; wait; sleep \"$1\"")),
    );
    // No other process has such a time.
    let of = |number: u32| format!("{}.{number}", 900_000 + std::process::id());
    let (first, second, third, other) = (of(1), of(2), of(3), of(4));
    let target = |name: &str, words: [&str; 3], timeout: &str| {
        format!(
            "[[notify]]\nname = \"{name}\"\ncommand = {words:?}\nchanges = [\"new\"]\ntimeout = \"{timeout}\"\n"
        )
    };
    let targets = [
        target("ends", [&ends, &first, "0"], "5 min"),
        target("fails", [&ends, &second, "3"], "5 min"),
        target("hangs", [&hangs, &third, begun.to_str().unwrap()], "1 s"),
        target("none", ["/no/such/program", "", ""], "5 min"),
    ];
    daemon::configure(&world, &format!("{ALL}{}", targets.concat()));
    let mut beside = std::process::Command::new("sleep").arg(&other).spawn().unwrap();
    let told = succeeds(world.run(&["notify", "test", "ends", "--json"]));
    assert_eq!(
        serde_json::from_str::<Value>(&told).unwrap(),
        serde_json::json!({"target": "ends", "delivered": true})
    );
    assert!(!is_running(&first));
    let failed = fails(world.run(&["notify", "test", "fails"]), 1);
    assert!(failed.contains("exit status: 3") && !is_running(&second), "{failed}");
    let tried = Instant::now();
    // On a busy machine it may be killed before it begins.
    while !begun.exists() {
        assert!(tried.elapsed() < PATIENCE, "it never begins");
        let failed = fails(world.run(&["notify", "test", "hangs"]), 1);
        assert!(failed.contains("no answer within 1 s") && !is_running(&third), "{failed}");
    }
    let failed = fails(world.run(&["notify", "test", "none"]), 1);
    assert!(failed.contains("cannot start /no/such/program: No such file"), "{failed}");
    assert!(is_running(&other));
    beside.kill().unwrap();
    beside.wait().unwrap();
}

#[test]
fn a_killed_daemon_leaves_no_process_of_a_command() {
    let world = daemon::world_of(web(10, 1), ALL);
    let begun = world.folder.path().join("begun");
    let hangs = script(&world, "hangs", &format!("{STRAYING}; echo begun >\"$2\"; wait; sleep \"$1\""));
    let time = format!("{}.5", 900_000 + std::process::id());
    let words = [&hangs, &time, begun.to_str().unwrap()];
    daemon::configure(
        &world,
        &format!(
            "{ALL}[[notify]]\nname = \"hangs\"\ncommand = {words:?}\nchanges = [\"new\"]\ntimeout = \"1 h\"\n"
        ),
    );
    world.crawl(1);
    let mut daemon = Daemon::start(&world);
    let wait = |is_done: &dyn Fn() -> bool, what: &str| {
        let started = Instant::now();
        while !is_done() {
            assert!(started.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait(&|| begun.exists(), "it never begins");
    assert!(is_running(&time));
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    wait(&|| !is_running(&time), "what the command started outlives the daemon");
}

#[test]
fn a_command_may_write_many_errors_and_the_last_is_shown() {
    let world = daemon::world_of(web(10, 1), ALL);
    let noisy = script(
        &world,
        "noisy",
        "yes no room | head -n 100000 >&2 || exit 9; echo 'the end' >&2; exit \"$1\"",
    );
    for (code, told) in [(0, ""), (1, "exit status: 3: the end")] {
        let status = if code == 0 { "0" } else { "3" };
        daemon::configure(
            &world,
            &format!(
                "{ALL}[[notify]]\nname = \"noisy\"\ncommand = [{noisy:?}, {status:?}]\ntimeout = \"5 min\"\n"
            ),
        );
        let output = world.run(&["notify", "test", "noisy"]);
        match code {
            0 => assert!(succeeds(output).contains("delivered")),
            code => assert!(fails(output, code).contains(told)),
        }
    }
}

/// Is there a process with this word in its command line?
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    let lines = processes.filter_map(|process| std::fs::read(process.ok()?.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
}

#[test]
fn a_command_reads_the_message_and_is_killed_if_it_hangs() {
    let world = daemon::world_of(web(30, 1), ALL);
    let (good, bad) = (world.folder.path().join("good"), world.folder.path().join("begun"));
    std::fs::create_dir(&good).unwrap();
    let take = script(&world, "take", "cat >\"$1/$RECRAWL_ID\"");
    // The shell that it starts has its name, too.
    let hang = script(&world, "hang", "(sleep 600; true) & echo begun >>\"$1\"; wait");
    let fail = script(&world, "fail", "echo no room left >&2; exit 3");
    let target = |name: &str, program: &str, argument: &Path, timeout: &str| {
        format!(
            "[[notify]]\nname = \"{name}\"\ncommand = [\"{program}\", \"{}\"]\nchanges = [\"new\"]\ntimeout = \"{timeout}\"\n",
            argument.display()
        )
    };
    let targets = [
        target("take", &take, &good, "5 min"),
        target("hang", &hang, &bad, "300 ms"),
        target("fail", &fail, &bad, "5 min"),
    ];
    daemon::configure(&world, &format!("{ALL}{}", targets.concat()));
    world.crawl(1);
    let told = fails(world.run(&["notify", "send"]), 1);
    let told = format!("{told}{}", succeeds(world.run(&["notify", "status"])));
    assert!(
        told.contains("hang: 0 messages delivered") && told.contains("no answer within 300 ms"),
        "{told}"
    );
    assert!(told.contains("exit status: 3: no room left"), "{told}");
    let taken =
        std::fs::read_dir(&good).unwrap().map(|file| lines(&file.unwrap().path()).len()).sum::<usize>();
    assert_eq!(taken, changes(&world, 0, &["new"]).len());
    // On a busy machine it may be killed before it begins; then it is tried again.
    let begun = Instant::now();
    while !bad.exists() {
        assert!(begun.elapsed() < PATIENCE, "it never begins");
        fails(world.run(&["notify", "send"]), 1);
    }
    while is_running(&hang) {
        assert!(begun.elapsed() < PATIENCE, "what it started was not killed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_has_a_line_for_each_change_also_by_a_template() {
    let world = daemon::world_of(web(30, 1), ALL);
    let (plain, made) = (world.folder.path().join("plain"), world.folder.path().join("made"));
    let target = |name: &str, path: &Path, more: &str| {
        format!("[[notify]]\nname = \"{name}\"\nfile = \"{}\"\nchanges = [\"new\"]\n{more}", path.display())
    };
    let template = "template = '{\"say\": {{ (kind ~ \" \" ~ url ~ status)|tojson }}}'\ntext = \"0 B\"\n";
    daemon::configure(
        &world,
        &format!("{ALL}{}{}", target("plain", &plain, ""), target("made", &made, template)),
    );
    world.crawl(1);
    succeeds(world.run(&["notify", "send"]));
    succeeds(world.run(&["notify", "send"]));
    let expected = changes(&world, 0, &["new"]);
    assert_eq!((lines(&plain).len(), lines(&made).len()), (expected.len(), expected.len()));
    let said: BTreeSet<String> =
        lines(&made).iter().map(|line| line["say"].as_str().unwrap().into()).collect();
    assert_eq!(said, expected.iter().map(|(kind, _, url)| format!("{kind} {url}")).collect());
}

#[test]
fn messages_keep_the_rate_of_their_target() {
    let world = daemon::world_of(web(5, 1), ALL);
    let path = world.folder.path().join("told");
    let target = format!(
        "[[notify]]\nname = \"told\"\nfile = \"{}\"\nchanges = [\"new\"]\nrate = \"2/s\"\n",
        path.display()
    );
    daemon::configure(&world, &format!("{ALL}{target}"));
    world.crawl(1);
    let begun = Instant::now();
    succeeds(world.run(&["notify", "send"]));
    let told = lines(&path).len() as u32;
    assert!(told > 3 && begun.elapsed() >= Duration::from_millis(500) * (told - 1), "{told}");
}

/// A mail server that takes one mail, and says what it took.
pub fn mail_server() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, mails) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let reader = BufReader::new(stream.try_clone().unwrap());
            let (mut mail, mut is_data) = (String::new(), false);
            write!(stream, "220 test\r\n").unwrap();
            for line in reader.lines().map_while(Result::ok) {
                if is_data && line != "." {
                    mail += &format!("{line}\n");
                    continue;
                }
                let answer = match line.split(' ').next().unwrap_or_default() {
                    "DATA" => "354 go on",
                    "QUIT" => "221 bye",
                    "RCPT" if line.contains("nobody@") => "550 no such user",
                    "." => {
                        sender.send(std::mem::take(&mut mail)).unwrap();
                        "250 taken"
                    }
                    _ => "250 yes",
                };
                is_data = line == "DATA";
                write!(stream, "{answer}\r\n").unwrap();
            }
        }
    });
    (port, mails)
}

#[test]
fn mail_has_subject_text_and_id() {
    let (port, mails) = mail_server();
    let world = daemon::world_of(web(10, 1), ALL);
    daemon::configure(
        &world,
        &format!(
            "{ALL}[[notify]]\nname = \"me\"\nsmtp = \"smtp://127.0.0.1:{port}\"\nallow_addresses = [\"127.0.0.1\"]\n\
         from = \"Recrawl <crawl@a.test>\"\nto = [\"nobody@a.test\", \"you@a.test\"]\nsubject = \"{{{{ kind }}}}: {{{{ title }}}}\"\n\
         template = \"{{{{ url }}}}\\n{{{{ difference }}}}\"\n"
        ),
    );
    let told = succeeds(world.run(&["notify", "test", "me"]));
    assert_eq!(told, "delivered a test message to target me\n");
    let mail = mails.recv_timeout(PATIENCE).unwrap();
    for part in [
        "Subject: changed: Example",
        "To: nobody@a.test, you@a.test",
        "Message-ID: <test_",
        "MIME-Version: 1.0",
        "Auto-Submitted: auto-generated",
        "https://example.com/",
        "+after",
    ] {
        assert!(mail.contains(part), "{part} in\n{mail}");
    }
}

/// Doubles a text or list, so that 60 times are more than any machine has. The last ones need no loop.
const DOUBLING: [&str; 6] = [
    "{% set ns = namespace(a='x') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
    "{% set ns = namespace(a=['x']) %}{% for i in range(60) %}{% set ns.a = (ns.a + ns.a)|list %}{% endfor %}{{ ns.a }}",
    "{% macro m(a, n) %}{% if n %}{{ m(a ~ a, n - 1) }}{% else %}{{ a }}{% endif %}{% endmacro %}{{ m('x', 60) }}",
    "{% set ns = namespace(a='x') %}{% for i in range(60) %}{% set b %}{{ ns.a }}{{ ns.a }}{% endset %}{% set ns.a = b %}{% endfor %}",
    "{% set a = 'x' * 9999 %}{% set a = a|replace('x', a) %}{% set a = a|replace('x', a) %}",
    "{{ ('x' * 99999999) ~ ('x' * 99999999) ~ ('x' * 99999999) ~ ('x' * 99999999) }}",
];

#[test]
fn a_template_has_a_limit_of_memory_and_time() {
    let world = daemon::world_of(web(10, 1), ALL);
    let check = |key: &str, template: &str| {
        let target = "smtp = \"smtps://a.test\"\nfrom = \"a@a.test\"\nto = [\"b@a.test\"]\n";
        world.configure(&format!("{ALL}[[notify]]\nname = \"desk\"\n{target}{key} = \"{template}\"\n"));
        fails(program().args(["config", "check", "--config"]).arg(world.config_file()).output().unwrap(), 2)
    };
    for template in DOUBLING {
        for key in ["template", "subject"] {
            let error = check(key, template);
            let told = format!("[[notify]] \"desk\": {key}: it needs more than 256 MiB of memory");
            assert!(error.contains(&told), "{template}: {error}");
        }
    }
    let slow =
        "{% set a = 'x' * 9999999 %}{% for i in range(9999) %}{% if a|upper == url %}{% endif %}{% endfor %}";
    let error = check("template", slow);
    assert!(error.contains("\"desk\": template: it takes more than 5 s of processor time"), "{error}");
}

#[test]
fn what_is_wrong_with_a_target_is_said_at_once() {
    let world = daemon::world_of(web(10, 1), ALL);
    let hook = "webhook = \"http://127.0.0.1:8080/\"\n";
    let check = || program().args(["config", "check", "--config"]).arg(world.config_file()).output().unwrap();
    for (target, told) in [
        ("", "set exactly one of webhook, command, file, smtp; none is set"),
        ("webhook = \"http://a.test/\"\nfile = \"x\"", "webhook, file are set"),
        ("webhook = \"http://127.0.0.1:4711/hook\"", "is the console of this crawl"),
        ("webhook = \"http://localhost:4711/hook\"", "is the console of this crawl"),
        ("webhook = \"a.test\"", "webhook (hidden): not a URL"),
        (&format!("{hook}rate = \"10\""), "rate: \"10\": write a number and a unit of time"),
        (&format!("{hook}template = '{{{{ url'"), "template: line 1"),
        (&format!("{hook}template = '{{{{ nothing }}}}'"), "has no field"),
        (&format!("{hook}template = 'is {{{{ url }}}}'"), "makes no JSON"),
        (
            &format!(
                "{hook}template = '{{% for a in range(9999) %}}{{% for b in range(9999) %}}x{{% endfor %}}{{% endfor %}}'"
            ),
            "steps",
        ),
        (&format!("{hook}digest = 'day'\ntemplate = '{{{{ url|tojson }}}}'"), "has no field"),
        (&format!("{hook}changes = ['changd']"), "\"changd\" is no kind of change"),
        (&format!("{hook}changes = []"), "changes is empty"),
        (&format!("{hook}pages = ['a/b']"), "pages: "),
        (&format!("{hook}digest = 'week'"), "digest is \"week\""),
        (&format!("{hook}secrets = ['geheim']"), "secrets are not allowed in the configuration"),
        (&format!("{hook}to = ['a@a.test']"), "to has no effect with webhook"),
        ("smtp = \"http://a.test\"\nfrom = \"a@a.test\"\nto = [\"b@a.test\"]", "write smtp://"),
        ("smtp = \"smtps://a.test\"\nfrom = \"a@a.test\"\nto = [\"b\"]", "\"b\" is no e-mail address"),
        (
            "smtp = \"smtps://a.test\"\nfrom = \"a@a.test\"\nto = [\"b@c@d\"]",
            "\"b@c@d\" is no e-mail address",
        ),
        (&format!("{hook}template = '{{\"text\": \"{{{{ title }}}}\"}}'"), "makes no JSON"),
    ] {
        let text =
            format!("{ALL}[serve]\nlisten = \"127.0.0.1:4711\"\n[[notify]]\nname = \"desk\"\n{target}\n");
        world.configure(&text);
        let error = fails(check(), 2);
        assert!(error.contains(told) && error.contains("desk"), "{target}: {error}");
    }
    daemon::configure(
        &world,
        &format!("{ALL}[storage]\nkeep_visits = 0\n[[notify]]\nname = \"desk\"\n{hook}"),
    );
    assert!(fails(check(), 2).contains("storage.keep_visits"));
    daemon::configure(
        &world,
        &format!("{ALL}[storage]\nkeep_visits = 2\n[[notify]]\nname = \"desk\"\n{hook}")
            .replace("[cycle]\n", "[cycle]\nperiod = \"1 h\"\n"),
    );
    let warned = succeeds(check());
    assert!(warned.contains("keep_visits is 2 cycles of 1 h") && warned.contains("ok"), "{warned}");
    // Without allow_addresses, no request is sent.
    let receiver = Receiver::start(|_| Manner::Take);
    daemon::configure(&world, &receiver.target("").replace("allow_addresses = [\"127.0.0.1\"]\n", ""));
    let refused = fails(world.run(&["notify", "test", "desk"]), 1);
    assert!(refused.contains("notify.allow_addresses"), "{refused}");
    assert_eq!(receiver.asked.load(Relaxed), 0);
    let unknown = fails(world.run(&["notify", "test", "desks"]), 2);
    assert!(unknown.contains("there are: desk"), "{unknown}");
}

/// Only messages for which the condition holds are sent; a mistake in it is refused with its place.
#[test]
fn a_condition_keeps_back_what_it_does_not_hold_for() {
    let (receiver, all) = (Receiver::start(|_| Manner::Take), Receiver::start(|_| Manner::Take));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("http://{}/", listener.local_addr().unwrap());
    let price = Arc::new(AtomicU64::new(20));
    let shown = price.clone();
    serve_each(listener, move |_, _| {
        let price = shown.load(Relaxed);
        (
            "text/html",
            String::new(),
            format!("<title>Shoe</title><p>7 of 9</p><p class=price>EUR {price},50</p>"),
        )
    });
    let world = World::new(web(1, 1), "");
    let rule = format!("[[pages]]\nmatch = \"{page}\"\ninclude = [\".price\"]\n");
    let target = |name: &str, receiver: &Receiver, when: &str| {
        receiver.target(when).replace("desk", name).replace(ALL, "")
    };
    let targets = target("cheap", &receiver, "when = \"number < 15 and old_number >= 15\"\n")
        + &target("all", &all, "");
    world.configure(&format!("{ALL}{rule}{targets}"));
    world.seeds(&[page]);
    for next in [20, 18, 14, 13, 16, 12] {
        price.store(next, Relaxed);
        world.crawl(1);
        succeeds(world.run(&["notify", "send"]));
    }
    let numbers = |receiver: &Receiver| -> Vec<String> {
        let taken = receiver.taken.lock().unwrap();
        taken.iter().map(|message| message["data"]["new_text"].as_str().unwrap().trim().to_owned()).collect()
    };
    assert_eq!(numbers(&all), ["EUR 18,50", "EUR 14,50", "EUR 13,50", "EUR 16,50", "EUR 12,50"]);
    assert_eq!(numbers(&receiver), ["EUR 14,50", "EUR 12,50"]);
    world.configure(&target("cheap", &receiver, "when = \"price < 15\"\n"));
    let line = fails(world.run(&["notify", "send"]), 2);
    assert!(line.contains("when: character 1: \"price\" is no field"), "{line}");
}
