//! Commands beside a running daemon, through its control socket, and without one: the same answers both ways.

use crate::daemon::{self, Daemon, SLOW};
use crate::harness::*;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

fn socket(world: &World) -> PathBuf {
    world.data_dir.join("control.sock")
}

fn told(world: &World, words: &[&str]) -> String {
    succeeds(world.run(words))
}

fn document(world: &World, words: &[&str]) -> Value {
    serde_json::from_str(&told(world, &[words, &["--json"]].concat())).expect("JSON")
}

/// A daemon that has committed what the seeds lead to, and waits for the next cycle.
fn settled(world: &World) -> Daemon {
    let daemon = Daemon::start(world);
    daemon.until("waiting", |s| s["state"] == "waiting" && s["cycle"].is_null());
    daemon
}

#[test]
fn the_socket_is_the_owners_and_goes_with_the_daemon() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let meta = fs::metadata(socket(&world)).unwrap();
    assert!(meta.file_type().is_socket() && meta.permissions().mode() & 0o777 == 0o600);
    daemon.kill();
    assert!(socket(&world).exists(), "nobody removed it");
    // Nobody answers: the commands use the directory.
    assert_eq!(document(&world, &["status"])["state"], "stopped");
    assert_eq!(document(&world, &["block", "a.test"])["did"], "done");
    let daemon = Daemon::start(&world);
    assert_eq!(
        document(&world, &["block", "a.test"])["did"],
        "already",
        "the daemon answers at the same place"
    );
    daemon.stop();
    assert!(!socket(&world).exists());
}

#[test]
fn a_data_directory_with_a_long_path_has_a_socket_too() {
    let mut world = daemon::world(10, 1, "");
    world.data_dir = world.folder.path().join("d".repeat(150)).join("data");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    assert!(told(&world, &["pause"]).contains("crawl paused"));
    assert_eq!(daemon.status()["state"], "paused");
    daemon.stop();
}

/// Each change, by the daemon and then by the directory: the same words, the same decisions, both logged.
#[test]
fn decisions_are_made_beside_a_daemon_and_without_one_alike() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let changes = [
        &["pause"][..],
        &["pause"],
        &["resume"],
        &["pause", "a.test:8080"],
        &["resume", "a.test"],
        &["block", "https://b.test/x/"],
        &["unblock", "https://b.test/x/"],
        &["unblock", "https://b.test/x/"],
        &["block", "*.c.test"],
    ];
    let wrong = ["block", "*"];
    let run = || {
        let answers = changes.map(|words| document(&world, words));
        let refused = fails(world.run(&wrong), 2);
        (answers, refused)
    };
    let daemon = settled(&world);
    let beside = run();
    assert_eq!(daemon.get("/api/v1/controls")["blocks"][0]["what"], "*.c.test");
    daemon.stop();
    let log = json_lines(&fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap());
    assert_eq!(log.len(), 2 * (changes.len() + 1));
    assert!(log.iter().all(|line| line["name"].as_str().unwrap().starts_with("user ")), "{log:?}");
    told(&world, &["unblock", "*.c.test"]);
    assert_eq!(run(), beside);
    let decisions: Value =
        serde_json::from_str(&fs::read_to_string(world.data_dir.join("decisions.json")).unwrap()).unwrap();
    assert_eq!(decisions["decisions"]["blocked"]["*.c.test"]["who"], "command line", "{decisions}");
    let dids: Vec<&Value> = beside.0.iter().map(|answer| &answer["did"]).collect();
    let expected = ["done", "already", "done", "done", "done", "done", "done", "already", "done"];
    assert_eq!(dids, expected.map(|did| json!(did)).each_ref());
    let words = |at: usize| beside.0[at]["detail"].as_str().unwrap();
    assert_eq!(words(1), "the crawl is already paused");
    assert!(words(3).ends_with("until it is resumed; no page of it is known"), "{}", words(3));
    assert_eq!(words(4), "a.test resumed; no page of it is known");
    assert_eq!(words(7), "not blocked: the page https://b.test/x/");
    assert_eq!(beside.1.matches("example.com").count(), 4, "each form once: {}", beside.1);
    assert_eq!(document(&world, &["resume", "127.1.0.1"])["detail"], "127.1.0.1 is not paused");
}

#[test]
fn a_pause_through_the_socket_holds_the_crawl() {
    // The web is read in minutes, so none of these commands can come after the last request.
    let slow = "[politeness]\ndelay_per_host = \"2 s\"\ndelay_per_latency = 0.0\n[cycle]\nfill = true";
    let world = daemon::world(200, 2, slow);
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    daemon.until("fetching", |s| s["cycle"]["kind"] == "fill" && s["cycle"]["stage"] == "fetching");
    told(&world, &["pause"]);
    daemon.until("held", |s| s["state"] == "paused" && s["cycle"]["in_flight"] == 0);
    let text = told(&world, &["status"]);
    assert!(text.contains("state       paused by user "), "{text}");
    told(&world, &["resume"]);
    daemon.until("fetching", |s| s["state"] == "crawling" && s["cycle"]["stage"] == "fetching");
    let line = told(&world, &["status"]);
    let line = line.lines().find(|line| line.starts_with("state ")).unwrap();
    assert!(line.contains("crawling; round ") && line.contains(" of cycle 1 ("), "{line}");
    daemon.stop();
}

/// Text and JSON, but for what is of the moment.
#[test]
fn a_host_and_a_page_are_told_alike_beside_a_daemon_and_without_one() {
    let world = daemon::world(20, 1, "");
    world.crawl(2);
    let seed = world.server.seeds().remove(0);
    let asked: Vec<Vec<&str>> = [
        &["status", "--host", "127.1.0.1"][..],
        &["explain", &seed],
        &["explain", &seed, "--formula", "t + n"],
    ]
    .iter()
    .flat_map(|words| [words.to_vec(), [words, &["--json"][..]].concat()])
    .collect();
    let all = || asked.iter().map(|words| told(&world, words)).collect::<Vec<_>>();
    told(&world, &["pause"]);
    let without = all();
    let daemon = Daemon::start(&world);
    daemon.until("paused", |s| s["state"] == "paused");
    let beside = all();
    for ((words, without), beside) in asked.iter().zip(&without).zip(&beside) {
        assert_eq!(beside, without, "{words:?}");
    }
    assert!(without[2].contains("robots.txt  allowed"), "the tables are read: {}", without[2]);
    // What is unknown is so for both.
    let unknown = format!("{seed}none");
    let line = fails(world.run(&["explain", &unknown]), 1);
    assert_eq!(document(&world, &["status"])["daemon"]["state"], "paused");
    told(&world, &["resume"]);
    let host = fails(world.run(&["status", "--host", "none.test"]), 1);
    let log = daemon.stop();
    assert!(log.contains("no round begins until `recrawl resume`") && log.ends_with("stopped\n"), "{log}");
    assert_eq!(fails(world.run(&["explain", &unknown]), 1), line);
    assert_eq!(fails(world.run(&["status", "--host", "none.test"]), 1), host);
    let stopped = document(&world, &["status"]);
    assert!(stopped["daemon"].is_null() && stopped["state"] == "stopped", "{stopped}");
}

#[test]
fn formulas_are_used_and_rolled_back_beside_a_daemon_and_without_one() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let daemon = settled(&world);
    assert!(told(&world, &["formula", "use", "t + n"]).starts_with("t + n: in force from cycle "));
    assert!(told(&world, &["formula", "list"]).ends_with("* in force for the cycles planned from now on\n"));
    assert!(told(&world, &["formula", "use", "t * X"]).contains("\nwarning     "), "one line a warning");
    assert!(told(&world, &["formula", "rollback"]).starts_with("t + n: in force from cycle "));
    let used = document(&world, &["formula", "use", "t * 2"]);
    assert!(used["detail"].as_str().unwrap().starts_with("t * 2: in force from cycle "), "{used}");
    daemon.stop();
    let back = told(&world, &["formula", "rollback"]);
    assert!(back.starts_with("t + n: in force from cycle "), "{back}");
    assert_eq!(document(&world, &["status"])["formula"], "t + n");
    let back = document(&world, &["formula", "rollback"])["detail"].as_str().unwrap().to_owned();
    assert!(
        back.contains("(from the configuration)") && !world.data_dir.join("formula.toml").exists(),
        "{back}"
    );
    assert!(fails(world.run(&["formula", "rollback"]), 1).contains("no earlier formula"));
    fails(world.run(&["formula", "use", "t * ("]), 2);
}

/// A daemon that fetches, slowly. The mock web's URLs are all known to nobody yet.
fn busy(extra: &str) -> (World, Daemon) {
    let world = daemon::world(200, 2, &format!("{SLOW}\n[cycle]\n{extra}"));
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    daemon.until("fetching", |s| s["cycle"]["stage"] == "fetching" && count(&s["cycle"], "done") > Some(2));
    (world, daemon)
}

#[test]
fn import_and_takedown_have_the_directory_while_the_daemon_steps_aside() {
    let (world, daemon) = busy("fill = true");
    let list = world.folder.path().join("list");
    fs::write(&list, format!("{}never-linked\n", world.server.seeds()[0])).unwrap();
    let list = list.to_str().unwrap();
    let words = told(&world, &["import", "list", list]);
    assert!(words.contains("imported 1 URL"), "{words}");
    assert!(daemon.log.lock().unwrap().contains("no seeds and no pages yet"), "at the start");
    assert_ne!(document(&world, &["status"])["daemon"], Value::Null, "it is back when the command ends");
    let steps = || daemon.log.lock().unwrap().matches("steps aside").count();
    let before = steps();
    let only = document(&world, &["takedown", "--host", "127.1.0.2", "--dry-run"]);
    assert!(count(&only["removed"], "pages") > Some(0) && only["removed"]["hosts"].is_null(), "{only}");
    assert!(only["tables_unread"].as_str().unwrap().contains("in use"), "{only}");
    assert_eq!(steps(), before, "a dry run does not disturb the daemon");
    let removed = document(&world, &["takedown", "--host", "127.1.0.2"]);
    assert!(count(&removed["removed"], "pages") > Some(0), "{removed}");
    // The same process goes on at the same address, with what the commands did.
    assert!(socket(&world).exists());
    daemon.until("crawling again", |s| s["cycle"]["stage"] == "fetching");
    let asked = |host: &str| {
        let of_host = |url: &&String| url.contains(host) && !url.ends_with("/robots.txt");
        world.given_out().keys().filter(of_host).count()
    };
    let (of_first, of_second) = (asked("127.1.0.1"), asked("127.1.0.2"));
    daemon.until("further", |_| asked("127.1.0.1") > of_first + 10);
    assert_eq!(asked("127.1.0.2"), of_second, "taken down");
    assert!(daemon.log.lock().unwrap().contains("the daemon steps aside after the requests in flight"));
    daemon.stop();
    let log = fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap();
    let kinds: Vec<Value> = json_lines(&log).into_iter().map(|line| line["change"]["kind"].clone()).collect();
    assert!(kinds.contains(&json!("step_aside")) && kinds.contains(&json!("takedown")), "{kinds:?}");
    world.is_sound();
}

/// A command that needs the directory of a daemon alone and does nothing there. It ends with the guard.
struct Idle(std::process::Child);

impl Idle {
    fn start(world: &World) -> Idle {
        let mut flock = std::process::Command::new("flock");
        // Only flock itself holds the lock, not what it runs.
        flock.args(["--close", "--exclusive"]).arg(&world.data_dir).args(["sleep", "60"]);
        let idle = Idle(flock.spawn().expect("flock is of util-linux"));
        let is_held = || {
            let mut other = std::process::Command::new("flock");
            other.arg("--nonblock").arg(&world.data_dir).arg("true");
            !other.status().unwrap().success()
        };
        while !is_held() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        idle
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !so() {
        assert!(begun.elapsed() < daemon::PATIENCE, "not {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_daemon_steps_aside_for_a_waiting_command_only_and_until_it_ends() {
    let (world, daemon) = busy("fill = true");
    let (status, refused) = daemon.ask("POST", "/api/v1/step-aside", None);
    assert_eq!((status, &refused["detail"]), (422, &json!("no command waits for it")), "{refused}");
    let idle = Idle::start(&world);
    assert_eq!(daemon.change("POST", "/api/v1/step-aside", None), "next_round");
    until("aside", || !socket(&world).exists());
    assert_eq!(document(&world, &["status"])["state"], "aside");
    assert!(told(&world, &["status"]).contains("a command has this directory"));
    // A supervisor sees that it lives, and lets the command end.
    until("answering", || std::net::TcpStream::connect(&daemon.address).is_ok());
    assert_eq!(daemon.ask("GET", "/health", None), (200, json!({"state": "aside"})));
    let (status, busy) = daemon.ask("GET", "/api/v1/status", None);
    assert_eq!((status, &busy["type"]), (503, &json!("/problems/busy")), "{busy}");
    assert_eq!(daemon.ask("POST", "/api/v1/pause", None).0, 503);
    // A hangup in between changes the configuration, as always.
    daemon::configure(&world, &format!("{SLOW}\n[cycle]\nfill = true\npages = \"7\""));
    daemon.signal("-HUP");
    // The command is killed.
    drop(idle);
    until("back", || socket(&world).exists());
    until("reloaded", || daemon.log.lock().unwrap().contains("configuration reloaded"));
    daemon.until("crawling again", |s| s["state"] == "crawling");
    // Once more, and now it is stopped meanwhile.
    let _idle = Idle::start(&world);
    daemon.change("POST", "/api/v1/step-aside", None);
    until("aside", || !socket(&world).exists());
    daemon.stop();
    world.is_sound();
}

/// Regression: the daemon opens the crawl again after a backup, and forgot what it had seen before.
#[test]
fn a_backup_leaves_the_last_hour_on_the_dashboard() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let daemon = settled(&world);
    let points = || daemon.get("/api/v1/recent")["points"].as_array().unwrap().clone();
    daemon.until("a point", |_| !points().is_empty());
    let first = points().swap_remove(0);
    let started = daemon.status()["started"].clone();
    told(&world, &["backup", world.folder.path().join("backup").to_str().unwrap()]);
    until("back", || socket(&world).exists());
    daemon.until("opened again", |status| status["started"] != started);
    assert_eq!(points()[0], first);
    daemon.stop();
}

#[test]
fn who_gives_up_waiting_for_a_long_cycle_leaves_the_daemon_where_it_is() {
    // A round of a crawl that fills is cut short, and the next ones go on as ever.
    let (world, daemon) = busy("fill = true\npages = \"100%\"");
    let idle = Idle::start(&world);
    daemon.change("POST", "/api/v1/step-aside", None);
    drop(idle);
    let all = |status: &Value| status["state"] == "waiting" && count(status, "visited") > Some(150);
    until("back, or still there", || socket(&world).exists());
    daemon.until("filled", all);
    daemon.stop();
    // Without, the cycle ends first.
    let (world, daemon) = busy("fill = false\npages = \"100%\"\nperiod = \"1 s\"");
    let idle = Idle::start(&world);
    let (_, accepted) = daemon.ask("POST", "/api/v1/step-aside", None);
    assert!(accepted["detail"].as_str().unwrap().contains("at the end of this cycle"), "{accepted}");
    drop(idle);
    until("told", || daemon.log.lock().unwrap().contains("no command waits for the data directory"));
    assert!(socket(&world).exists());
    daemon.stop();
}

/// Commands at once have the directory in turn, and the daemon is back after each.
#[test]
fn many_commands_at_once_have_their_turns_and_the_service_manager_hears_of_no_stop() {
    let world = daemon::world(60, 2, &format!("{SLOW}\n[cycle]\nfill = true"));
    let manager_at = world.folder.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&manager_at).unwrap();
    let mut command = world.command(&["serve"]);
    command.env("NOTIFY_SOCKET", &manager_at);
    let daemon = Daemon::of(command);
    daemon.seed(&world.server.seeds());
    daemon.until("fetching", |s| s["cycle"]["stage"] == "fetching");
    let lists: Vec<PathBuf> =
        (0..6).map(|number| world.folder.path().join(format!("list-{number}"))).collect();
    for (number, list) in lists.iter().enumerate() {
        fs::write(list, format!("{}alone-{number}\n", world.server.seeds()[0])).unwrap();
    }
    let import = |list: &PathBuf| world.run(&["import", "list", list.to_str().unwrap()]);
    std::thread::scope(|scope| {
        let running: Vec<_> = lists.iter().map(|list| scope.spawn(move || import(list))).collect();
        for command in running {
            let told = succeeds(command.join().expect("no panic"));
            assert!(told.contains("imported 1 URL"), "{told}");
        }
    });
    until("back", || socket(&world).exists());
    let asked = |number| world.asked(&format!("{}alone-{number}", world.server.seeds()[0]));
    daemon.until("all visited", |_| (0..6).all(|number| asked(number) == 1));
    manager.set_nonblocking(true).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    };
    let told: Vec<String> = std::iter::from_fn(heard).collect();
    assert!(told.len() > 1 && !told.iter().any(|state| state == "STOPPING=1"), "{told:?}");
    daemon.stop();
    assert_eq!(std::iter::from_fn(heard).last().as_deref(), Some("STOPPING=1"));
    world.is_sound();
}

#[test]
fn a_paused_daemon_with_a_begun_round_ends_it_before_it_steps_aside() {
    let (world, daemon) = busy("fill = true");
    told(&world, &["pause"]);
    daemon.kill();
    let daemon = Daemon::start(&world);
    daemon.until("paused", |s| s["state"] == "paused");
    let list = world.folder.path().join("list");
    fs::write(&list, world.server.seeds()[0].clone()).unwrap();
    assert!(told(&world, &["import", "list", list.to_str().unwrap()]).contains("imported 1 URL"));
    until("back", || socket(&world).exists());
    daemon.until("still paused", |s| s["state"] == "paused");
    daemon.stop();
    world.is_sound();
}

#[test]
fn beside_a_crawl_without_a_socket_each_command_says_what_is_there() {
    let world = World::new(web(300, 2), SLOW);
    world.crawl(1);
    let mut crawl = world.spawn_crawl(50);
    let line = |words: &[&str]| fails(world.run(words), 1);
    // It has the lock once it has planned.
    let begun = std::time::Instant::now();
    while document(&world, &["status"])["state"] != "in_use" {
        assert!(begun.elapsed() < daemon::PATIENCE && crawl.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for words in [
        &["pause"][..],
        &["block", "a.test"],
        &["takedown", "--host", "a.test"],
        &["formula", "rollback"],
        &["status", "--host", "127.1.0.1"],
    ] {
        let line = line(words);
        assert!(
            line.contains("such as `recrawl crawl`") && line.contains("control socket"),
            "{words:?}: {line}"
        );
    }
    let text = told(&world, &["status"]);
    assert!(text.contains("state       in use by another process"), "{text}");
    told(&world, &["explain", &world.server.seeds()[0]]);
    crawl.kill().unwrap();
    crawl.wait().unwrap();
}

/// Reads fall back to what is committed, with a warning; changes are refused.
#[test]
fn a_socket_that_is_none_and_a_daemon_that_hangs_are_named() {
    let world = World::new(web(10, 1), "");
    world.crawl(1);
    let both = |why: &str| {
        let line = fails(world.run(&["pause"]), 1);
        assert!(line.contains(why) && line.contains("control.sock"), "{line}");
        let output = world.run(&["status"]);
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(warned.contains("WARN") && warned.contains(why), "{warned}");
        assert!(succeeds(output).contains("pages "));
    };
    fs::write(socket(&world), "mine").unwrap();
    both("not a socket");
    fs::remove_file(socket(&world)).unwrap();
    let silent = UnixListener::bind(socket(&world)).unwrap();
    both("no answer within 5 s");
    drop(silent);
    assert!(told(&world, &["pause"]).contains("paused"), "a dead socket is no daemon");
}

/// Root may use any socket; another user none, whatever the mode.
#[test]
fn another_user_is_refused() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let has_setpriv = std::process::Command::new("setpriv").arg("--version").output().is_ok();
    if !is_root || !has_setpriv {
        return;
    }
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let as_nobody = |words: &[&str]| {
        let program = program().get_program().to_owned();
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(words);
        command.arg("--data-dir").arg(&world.data_dir).current_dir("/").output().unwrap()
    };
    for folder in [world.folder.path(), &world.data_dir] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    if !as_nobody(&["--version"]).status.success() {
        return; // It may not run the program.
    }
    for mode in [0o600, 0o666] {
        fs::set_permissions(socket(&world), fs::Permissions::from_mode(mode)).unwrap();
        let line = fails(as_nobody(&["pause"]), 1);
        assert!(line.contains("it runs as another user"), "{mode:o}: {line}");
        let status = succeeds(as_nobody(&["status"]));
        assert!(
            status.contains("state       cannot tell: ") && !status.contains("stopped"),
            "{mode:o}: {status}"
        );
    }
    assert_ne!(daemon.status()["state"], "paused");
    assert!(daemon.stop().contains("rejected a connection of another user"));
}

/// Seeds and pages by command: beside a daemon, and without one.
#[test]
fn a_page_is_added_and_fetched_by_command() {
    let world = daemon::world(30, 1, "[cycle]\nfill = true\n[scope]\nmax_depth = 0");
    let pages = world.lone_pages();
    let [first, second, third] = [0, 1, 2].map(|at| world.server.url(pages[at]));
    // A new data directory: seeds are queued, and a page is fetched at once.
    assert_eq!(document(&world, &["add", &first])["did"], "next_round");
    assert_eq!(document(&world, &["add", &first])["did"], "already");
    assert_eq!(world.asked(&first), 0, "only queued");
    let status = succeeds(world.run(&["status"]));
    assert!(
        status.contains("green: the queued seeds wait") && status.contains("queued      1 seed,"),
        "{status}"
    );
    assert_eq!(document(&world, &["fetch", &second])["outcome"], "first");
    assert!(world.asked(&second) == 1 && world.asked(&first) == 1, "seeds that wait come along");
    assert_eq!(document(&world, &["fetch", &second])["outcome"], "unchanged");
    assert_eq!(world.asked(&second), 2);
    // Compared like any visit: the first answer without text is no change.
    world.server.set_faults(vec![world.fault_on(pages[1], "status:204")]);
    for outcome in ["unchanged", "changed"] {
        assert_eq!(document(&world, &["fetch", &second])["outcome"], outcome);
    }
    world.server.set_faults(Vec::new());
    assert_eq!(document(&world, &["fetch", &second])["outcome"], "changed");
    let log = json_lines(&fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap());
    assert!(log.iter().any(|line| line["change"]["kind"] == "recrawl"), "{log:?}");
    world.server.set_faults(vec![world.fault_on(pages[1], "status:404")]);
    let gone = world.run(&["fetch", &second]);
    assert!(String::from_utf8_lossy(&gone.stdout).contains("no such page"), "{gone:?}");
    let says = "was not fetched: HTTP status 404; see `recrawl explain";
    assert!(fails(gone, 1).contains(says));
    world.server.set_faults(Vec::new());

    let daemon = settled(&world);
    assert_eq!(document(&world, &["fetch", &third, "--wait"])["outcome"], "first");
    assert_eq!(document(&world, &["fetch", &third, "--wait"])["outcome"], "unchanged");
    assert_eq!(world.asked(&third), 2);
    let known = document(&world, &["add", &third]);
    assert_eq!(known["did"], "already");
    assert!(known["detail"].as_str().unwrap().contains("`recrawl fetch URL` fetches it now"), "{known}");
    let several = told(&world, &["add", &third, &world.server.url(pages[3])]);
    assert!(several.contains("1 seed queued, 1 already known or queued"), "{several}");
    world.server.set_faults(vec![world.fault_on(pages[1], "status:404")]);
    assert!(fails(world.run(&["fetch", &second, "--wait"]), 1).contains(says));
    let unseen = world.run(&["watch", &second]);
    let said = String::from_utf8_lossy(&unseen.stderr);
    assert!(unseen.status.code() == Some(1) && said.contains("was not fetched: HTTP status 404"), "{said}");
    assert!(said.contains("the daemon steps aside"), "{said}");
    world.server.set_faults(Vec::new());
    assert!(told(&world, &["fetch", &first]).contains("will be fetched"));
    let line = fails(world.run(&["add", "nonsense"]), 2);
    assert!(line.contains("nonsense") && line.contains("https://"), "{line}");
    daemon.stop();
    assert!(fails(world.run(&["fetch", "nonsense"]), 2).contains("nonsense"));
}

/// A host in back-off made `fetch --wait` wait in silence, and `fetch` promised the page within seconds.
#[test]
fn a_fetch_says_why_it_waits_and_until_when() {
    let world = daemon::world(30, 1, "[scope]\nmax_depth = 0");
    let page = world.lone_pages()[0];
    let url = world.server.url(page);
    let host = host_of(&url);
    succeeds(world.run(&["fetch", &url]));
    let daemon = settled(&world);
    world.server.set_faults(vec![world.fault_on(page, "busy:36000")]);
    assert!(fails(world.run(&["fetch", &url, "--wait"]), 1).contains("HTTP status 429"));
    let back_off = format!("{host} is skipped: back-off after repeated failures or a Retry-After, until 20");
    let queued = told(&world, &["fetch", &url]);
    assert!(queued.contains(&format!("{url} is queued and waits: {back_off}")), "{queued}");
    let unknown = told(&world, &["fetch", &format!("{url}?unknown")]);
    assert!(unknown.contains(&back_off), "{unknown}");

    // While it waits, it says so, and again when that changes.
    let mut waits = world.command(&["fetch", &url, "--wait"]);
    let mut waits = waits.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waits.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = said.next().unwrap();
    assert!(first.contains(&format!("{url} waits: {back_off}")) && first.contains("Ctrl-C"), "{first}");
    told(&world, &["pause", &host]);
    let second = said.next().unwrap();
    assert!(
        second.contains("paused it at 20") && second.contains(&format!("`recrawl resume {host}`")),
        "{second}"
    );
    waits.kill().unwrap();
    waits.wait().unwrap();
    told(&world, &["resume", &host]);
    // Nor is a robots.txt asked for again at once that could not be read.
    let dead = "http://127.1.0.77:8999/";
    let why = "cannot connect to the host";
    let answered = fails(world.run(&["fetch", dead, "--wait"]), 1);
    assert!(answered.contains(&format!("{dead} was not fetched: {why}")), "{answered}");
    let shut = format!("127.1.0.77 is skipped: its robots.txt cannot be read: {why}");
    let queued = told(&world, &["fetch", dead]);
    assert!(queued.contains(&format!("{dead} is queued and waits: {shut}")), "{queued}");
    daemon.stop();
    for (url, why) in [(&*url, &back_off), (dead, &shut)] {
        let stopped = fails(world.run(&["fetch", url]), 1);
        assert!(stopped.contains(&format!("{url} was not fetched: {why}")), "{stopped}");
    }
    assert_eq!(
        count(&world.pages()[dead], "failures"),
        Some(1),
        "a page that is not requested does not fail"
    );
}

/// The visit that finds a page again and unchanged has no body, but the page has a text.
#[test]
fn a_page_that_is_back_unchanged_is_shown_as_it_was() {
    let watched = "[[notify]]\nname = \"watched\"\nwebhook = \"https://hook.test/\"\nchanges = [\"not_found\", \"back\"]";
    let world = daemon::world(30, 1, &format!("[scope]\nmax_depth = 0\n{watched}"));
    let page = world.lone_pages()[0];
    let url = world.server.url(page);
    succeeds(world.run(&["fetch", &url]));
    world.server.set_faults(vec![world.fault_on(page, "status:404")]);
    (0..3).for_each(|_| _ = fails(world.run(&["fetch", &url]), 1));
    world.server.set_faults(Vec::new());
    succeeds(world.run(&["fetch", &url]));
    let told = document(&world, &["changes", "--diff", "--changes", "back,not_found"]);
    let back = told["changes"].as_array().unwrap().iter().find(|change| change["kind"] == "back").unwrap();
    assert!(back["no_text"].as_str().unwrap().starts_with("it is as it was at 20"), "{told}");
    assert!(back["title"].is_string(), "{told}");
}

/// The daemon reads its configuration when a command says so, and keeps the one in force if the new one is wrong.
#[test]
fn a_configuration_is_reloaded_by_command() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    assert!(fails(world.run(&["reload"]), 2).contains("no daemon runs in"));
    let daemon = settled(&world);
    daemon::configure(&world, "[cycle]\npages_min = 7");
    assert!(told(&world, &["reload"]).contains("recrawl.toml: in force after the round"));
    let begun = std::time::Instant::now();
    while !daemon.log.lock().unwrap().contains("configuration reloaded") {
        assert!(begun.elapsed() < PATIENCE, "{}", daemon.log.lock().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(daemon.log.lock().unwrap().contains("cycle.pages_min"), "{}", daemon.log.lock().unwrap());
    let (status, refused) = {
        fs::write(world.config_file(), "[cycle\n").unwrap();
        daemon.ask("POST", "/api/v1/reload", None)
    };
    assert!(status == 422 && refused["detail"].as_str().unwrap().contains("recrawl.toml"), "{refused}");
    // The daemon goes on, and can be held and looked at.
    assert!(told(&world, &["pause"]).contains("paused") && told(&world, &["resume"]).contains("resumed"));
    assert!(told(&world, &["status"]).contains("generation  "));
    // What only the daemon uses is checked too, before anything is said to be in force.
    for (wrong, says) in [
        ("[serve]\nlisten = \"127.0.0.1:0\"\ntokens = \"none\"", "serve.tokens"),
        ("[[pages]]\nmatch = \"*\"\nconvert = [\"/none/convert\"]", "/none/convert"),
        ("[[notify]]\nname = \"x\"\nfile = \"/tmp/x\"\ntemplate = \"{{ x\"", "[[notify]] \"x\": template"),
    ] {
        match wrong.starts_with("[serve]") {
            true => world.configure(wrong),
            false => daemon::configure(&world, wrong),
        }
        let refused = fails(world.run(&["reload"]), 2);
        assert!(refused.contains(says) && refused.contains("nothing was changed"), "{wrong}: {refused}");
    }
    assert!(!daemon.stop().contains("kept the previous configuration"), "it was not asked to read that");
}

/// An editor or a package replaces the file: it is gone for a moment.
#[test]
fn a_configuration_that_is_gone_at_a_reload_is_kept() {
    let world = daemon::world(10, 1, "");
    world.crawl(1);
    let (file, aside) = (world.config_file(), world.folder.path().join("aside"));
    let mut command = program();
    command.arg("serve").arg("--data-dir").arg(&world.data_dir).current_dir(world.folder.path());
    let daemon = Daemon::of(command);
    let heard = |what: &str| {
        daemon.until(what, |_| daemon.log.lock().unwrap().contains(what));
    };
    fs::rename(&file, &aside).unwrap();
    daemon.signal("-HUP");
    heard("kept the previous configuration: cannot read configuration recrawl.toml");
    fs::rename(&aside, &file).unwrap();
    daemon.signal("-HUP");
    heard("configuration reloaded taken=\"\"");
    daemon.stop();
}
