//! The crawl as a daemon: looked at, steered, stopped, started again.

use crate::daemon::*;
use crate::harness::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Requests that the web had so far, robots.txt left out.
fn requests(world: &World) -> usize {
    let log = world.server.log(0).expect("the log is in memory");
    log.iter().filter(|access| access.path != "/robots.txt").count()
}

fn in_flight(status: &Value) -> u64 {
    status["cycle"]["in_flight"].as_u64().unwrap_or_default()
}

#[test]
fn a_new_daemon_waits_for_seeds_and_a_pause_lets_no_request_through() {
    let world = world(300, 3, SLOW);
    let daemon = Daemon::start(&world);
    let waiting = daemon.until("waiting", |s| s["state"] == "waiting");
    assert!(waiting["reason"].as_str().unwrap().contains("seeds") && waiting["pages"] == 0, "{waiting}");
    assert_eq!(requests(&world), 0);
    assert_eq!(daemon.seed(&world.server.seeds()), "next_round");
    // The first cycle brings the seeds' pages, the second what they link to.
    daemon.until("committed", |s| s["generation"] == 1);
    let last = daemon.get("/api/v1/cycles?last=1");
    assert_eq!((&last[0]["cycle"], last.as_array().unwrap().len()), (&json!(1), 1));
    daemon.stop();

    let daemon = Daemon::start(&world);
    let known = daemon.status()["pages"].as_u64().unwrap();
    assert!(known > 3, "{known}");
    assert_eq!(daemon.change("PUT", "/api/v1/pause", None), "done");
    assert_eq!(daemon.change("PUT", "/api/v1/pause", None), "already");
    daemon.until("paused", |s| s["state"] == "paused" && in_flight(s) == 0);
    daemon.stop();
    let said = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(said.contains("anna paused"), "{said}");
    // Also after a restart.
    let before = requests(&world);
    let daemon = Daemon::start(&world);
    let paused = daemon.until("paused", |s| s["state"] == "paused");
    assert!(paused["reason"].as_str().unwrap().contains("anna"), "{paused}");
    for _ in 0..20 {
        daemon.status();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(requests(&world), before);
    assert_eq!(daemon.change("DELETE", "/api/v1/pause", None), "done");
    daemon.until("waiting", |s| s["state"] == "waiting" || s["state"] == "crawling");
    let log = daemon.stop();
    assert!(!log.contains("ERROR"), "{log}");
    assert!(log.contains("result=done"), "as the API says it: {log}");
    let audit = std::fs::read_to_string(world.data_dir.join("control.jsonl")).unwrap();
    let audit = json_lines(&audit);
    assert_eq!(
        (audit.len(), &audit[0]["name"], &audit[0]["change"]["kind"]),
        (8, &json!("anna"), &json!("add_seeds"))
    );
    let results: Vec<&Value> = audit.iter().map(|line| &line["result"]).collect();
    assert_eq!(
        results[..6],
        ["begun", "next_round", "begun", "done", "begun", "already"].map(|r| json!(r)).each_ref()
    );
    world.is_sound();
}

#[test]
fn seeds_in_any_order_of_domains_schemes_and_ports_are_crawled() {
    let names =
        "[dns.overrides]\n\"a.org\" = \"127.0.0.1\"\n\"b.com\" = \"127.0.0.1\"\n\"c.net\" = \"127.0.0.1\"";
    let world = world(10, 1, names);
    let daemon = Daemon::start(&world);
    // Nobody listens there: what matters is that they can be scheduled at all.
    let seeds = [
        "https://a.org:9001/",
        "https://b.com:9001/",
        "http://a.org:9001/",
        "http://a.org:9002/x",
        "http://c.net:9001/",
    ];
    let seeds: Vec<String> = seeds.into_iter().map(str::to_owned).chain(world.server.seeds()).collect();
    assert_eq!(daemon.seed(&seeds), "next_round");
    daemon.until("committed", |s| s["generation"] == 1);
    assert_eq!(last_report(&daemon)["scheduled"], json!(seeds.len()));
    daemon.until("forgotten", |_| daemon.get("/api/v1/controls")["seeds_waiting"] == 0);
    daemon.stop();
    world.is_sound();
}

#[test]
fn seeds_that_wait_are_taken_up_by_a_crawl_without_a_console_and_known_ones_are_not_news() {
    let world = world(30, 3, "");
    let [seeds, later] = [0, 1].map(|host| vec![world.server.seeds()[host].clone()]);
    world.seeds(&seeds);
    world.crawl(1);
    configure(&world, "[cycle]\ndeadline = \"1 ms\"");
    let daemon = Daemon::start(&world);
    assert_eq!(daemon.seed(&seeds), "already", "it is known");
    assert_eq!(daemon.seed(&[&seeds[..], &later].concat()), "next_round");
    assert_eq!(daemon.get("/api/v1/controls")["seeds_waiting"], 1);
    // The deadline of this cycle has passed, and the next one is a day away.
    daemon.stop();
    configure(&world, "");
    let before = world.asked(&later[0]);
    succeeds(world.run(&["crawl", "--cycles", "1"]));
    assert_eq!((before, world.asked(&later[0])), (0, 1));
    let daemon = Daemon::start(&world);
    assert_eq!(daemon.get("/api/v1/controls")["seeds_waiting"], 0);
    assert_eq!(daemon.seed(&later), "already");
    daemon.stop();
}

#[test]
fn an_import_delays_no_cycle() {
    let world = world(10, 1, "");
    let list = world.seed_file();
    succeeds(world.run(&["import", "list", list.to_str().unwrap()]));
    // Its commit is a minute old at most, and the period is a day: no cycle was begun within it.
    let daemon = Daemon::start(&world);
    let status = daemon.until("committed", |s| s["generation"] == 2);
    assert!(status["last"]["cycle"] == 2 && status["last"]["fetched"].as_u64() > Some(0), "{status}");
    daemon.stop();
}

#[test]
fn health_the_next_round_and_the_pages_in_flight_are_told() {
    let world = world(60, 2, &format!("{SLOW}\n[cycle]\nfill = true\n"));
    // So that pages are in flight for a while.
    world.server.set_faults(vec!["1/=slow:20000".parse().unwrap()]);
    let daemon = Daemon::start(&world);
    let reason = |s: &Value| s["health"]["reason"].as_str().unwrap().to_owned();
    let empty = daemon.until("waiting", |s| s["state"] == "waiting");
    assert_eq!((&empty["health"]["level"], &empty["next_round"]), (&json!("amber"), &Value::Null), "{empty}");
    assert!(reason(&empty).contains("add a seed"), "{empty}");
    daemon.seed(&world.server.seeds());
    let now = daemon.until("fetching", |s| !s["cycle"]["fetching"].as_array().is_none_or(Vec::is_empty));
    let fetching = &now["cycle"]["fetching"][0];
    assert!(fetching["url"].as_str().unwrap().starts_with(fetching["host"].as_str().unwrap()), "{now}");
    assert!(fetching["since"].as_u64().unwrap() <= now["now"].as_u64().unwrap(), "{now}");
    assert_eq!((&now["health"]["level"], &now["next_round"]), (&json!("green"), &Value::Null), "{now}");
    assert!(reason(&now).starts_with("fetching: "), "{now}");
    assert!(now["next_cycle_at"].as_u64() > now["now"].as_u64(), "it is due in a day: {now}");
    let done = daemon.until("filled", |s| s["state"] == "waiting" && s["visited"].as_u64() > Some(50));
    let next = &done["next_round"];
    assert_eq!((&done["health"]["level"], &done["health"]["at"]), (&json!("green"), &next["at"]), "{done}");
    assert!(next["at"].as_u64() > done["now"].as_u64(), "{done}");
    let hosts = daemon.get("/api/v1/hosts");
    let hosts = hosts["hosts"].as_array().unwrap();
    assert!(hosts.len() > 1 && hosts.iter().all(|host| host["state"] == "idle"), "{hosts:#?}");
    daemon.change("PUT", "/api/v1/pause", None);
    let paused = daemon.until("paused", |s| s["state"] == "paused");
    assert_eq!(
        (&paused["health"]["level"], &paused["next_round"]),
        (&json!("amber"), &Value::Null),
        "{paused}"
    );
    assert!(reason(&paused).contains("anna"), "{paused}");
    assert_eq!(daemon.get("/api/v1/recent")["every_ms"], 10_000);
    daemon.stop();
}

#[test]
fn a_crawl_of_which_nobody_answers_is_red() {
    let world = world(10, 1, "");
    let daemon = Daemon::start(&world);
    daemon.seed(&["http://127.9.9.9:59999/".into()]);
    let red = daemon.until("red", |s| s["health"]["level"] == "red");
    let reason = red["health"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("no page was fetched yet: 1 on hosts whose robots.txt could not be fetched"),
        "{red}"
    );
    daemon.stop();
}

/// One of two seeds is dead: it is told beside the pages of the other, also of few requests, and until it answers.
#[test]
fn a_dead_seed_is_amber_beside_one_that_answers() {
    let world = world(10, 2, "[cycle]\nperiod = \"200 ms\"\npages = \"100%\"\n");
    world.server.set_faults(vec!["1/=status:403".parse().unwrap()]);
    let daemon = Daemon::start(&world);
    daemon.seed(&world.server.seeds());
    let dead = world.server.seeds()[0].trim_end_matches('/').to_owned();
    let is_told = |s: &Value| s["failing_seed_hosts"] == json!([dead]);
    let amber = daemon.until("amber", |s| is_told(s) && s["visited"].as_u64() > Some(0));
    assert_eq!(amber["health"]["level"], "amber", "{amber}");
    assert!(amber["health"].to_string().contains(&format!("no page of {dead} can be fetched")), "{amber}");
    // The daemon tells of it before the commit that a command reads.
    let told = format!(" {dead}/: HTTP status 403");
    let begun = Instant::now();
    loop {
        let why = succeeds(world.run(&["status", "--host", &dead]));
        if why.contains(&told) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "as health promises: {why}");
    }
    world.server.set_faults(Vec::new());
    daemon.change("POST", "/api/v1/recrawl", Some(json!({"url": world.server.seeds()[0]})));
    daemon.until("green", |s| s["failing_seed_hosts"] == json!([]));
    daemon.stop();
}

#[test]
fn a_cycle_under_way_is_held_and_goes_on_and_a_host_waits_alone() {
    let world = world(200, 2, SLOW);
    world.crawl(1);
    // The next cycle is due at once.
    configure(&world, &format!("{SLOW}\n{QUICK}"));
    let daemon = Daemon::start(&world);
    daemon.until("fetching", |s| s["cycle"]["stage"] == "fetching" && s["cycle"]["done"].as_u64() > Some(5));
    daemon.change("PUT", "/api/v1/pause", None);
    let held = daemon.until("held", |s| s["state"] == "paused" && in_flight(s) == 0);
    assert_eq!(held["cycle"]["stage"], "waiting", "{held}");
    let slowest = held["cycle"]["slowest"].as_array().unwrap();
    assert!(!slowest.is_empty() && slowest.iter().all(|host| host["state"] == "waiting"), "{held:#}");
    let before = requests(&world);
    // Signs of life go on: again and again, the last one is younger than it was.
    let (mut longest, mut signs) = (0, 0);
    daemon.until("alive", |status| {
        let idle = status["idle_ms"].as_u64().unwrap();
        signs += u32::from(idle < longest);
        longest = idle;
        signs == 2
    });
    assert_eq!(requests(&world), before, "nothing was asked for while it was held");
    let host = host_of(&world.server.url(0));
    assert_eq!(daemon.change("PUT", &format!("/api/v1/hosts/{host}/pause"), None), "done");
    daemon.change("DELETE", "/api/v1/pause", None);
    daemon.until("going on", |_| requests(&world) > before + 5);
    let of_host = || {
        let log = world.server.log(0).unwrap();
        log[..].iter().filter(|a| a.host.split(':').next() == Some(host.as_str())).count()
    };
    let asked = of_host();
    daemon.until("further", |_| requests(&world) > before + 15);
    assert_eq!(of_host(), asked, "the paused host was asked for nothing");
    assert_eq!(daemon.get("/api/v1/controls")["paused_hosts"][0]["what"], host);
    daemon.change("DELETE", &format!("/api/v1/hosts/{host}/pause"), None);
    let cycle = held["cycle"]["cycle"].as_u64().unwrap();
    daemon.until("committed", |s| s["generation"].as_u64() >= Some(cycle));
    daemon.stop();
    world.is_sound();
}

#[test]
fn a_daemon_that_stops_can_be_looked_at_until_it_has() {
    let world = world(20, 1, &format!("{QUICK}\n[fetch]\ntimeout = \"10 min\""));
    world.crawl(1);
    world.server.set_faults(vec!["/=timeout".parse().unwrap()]);
    let socket = world.folder.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = world.command(&["serve"]);
    command.env("NOTIFY_SOCKET", &socket);
    let daemon = Daemon::of(command);
    daemon.until("waiting for a page", |s| in_flight(s) > 0);
    daemon.signal("-TERM");
    let told = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).expect("systemd is told");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    assert_eq!([told(), told()], ["READY=1", "STOPPING=1"]);
    let stopping = daemon.until("stopping", |s| s["state"] == "stopping");
    assert!(in_flight(&stopping) > 0, "the page in flight is waited for: {stopping}");
    assert_eq!(daemon.ask("GET", "/health", None).0, 200);
    assert_eq!(daemon.ask("GET", "/ready", None).0, 503);
    daemon.kill();
}

#[test]
fn a_block_is_obeyed_counted_explained_and_lifted() {
    let world = world(60, 3, "");
    world.crawl(1);
    let blocked = world.server.url(0);
    // The next cycle is a day away: it is blocked before any is planned.
    let daemon = Daemon::start(&world);
    let pattern = blocked.replace(':', "%3A").replace('/', "%2F");
    assert_eq!(daemon.change("PUT", &format!("/api/v1/blocks/{pattern}"), None), "done");
    daemon.stop();
    let asked = || world.asked(&blocked);
    let before = asked();
    configure(&world, QUICK);
    let daemon = Daemon::start(&world);
    daemon.until("some cycles later", |s| s["generation"].as_u64() > Some(4));
    assert_eq!(asked(), before, "not asked for while it is blocked");
    let skipped = daemon.get("/api/v1/cycles?last=20");
    let skipped: u64 = skipped.as_array().unwrap().iter().filter_map(|r| r["blocked"].as_u64()).sum();
    let page = daemon.page(&blocked);
    assert_eq!(page["stopped_by"][0]["gate"], "blocked", "{page:#}");
    assert!(page["would_be_fetched_if"][0].as_str().unwrap().starts_with("unblock "), "{page:#}");
    assert!(skipped > 0 && !page["visits"].as_array().unwrap().is_empty(), "{skipped} {page:#}");
    assert_eq!(daemon.change("DELETE", &format!("/api/v1/blocks/{pattern}"), None), "done");
    assert!(daemon.change("POST", "/api/v1/recrawl", Some(json!({"url": blocked}))) != "already");
    daemon.until("visited", |_| asked() > before);
    daemon.until("answered", |_| daemon.get("/api/v1/controls")["recrawls_waiting"] == 0);
    daemon.stop();
    let said = succeeds(world.run(&["explain", &blocked]));
    assert!(said.contains("history  "), "{said}");
    world.is_sound();
}

#[test]
fn a_formula_is_swapped_in_and_rolled_back_while_it_runs() {
    let world = world(40, 2, QUICK);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let first = daemon.get("/api/v1/formulas")["in_force"]["name"].clone();
    assert_eq!(daemon.change("PUT", "/api/v1/formula", Some(json!({"text": "t + n"}))), "next_cycle");
    let running = &daemon;
    let ranked = |name: &Value| {
        let name = name.clone();
        move |_: &Value| last_report(running)["formula"] == name
    };
    daemon.until("ranked by it", ranked(&json!("t + n")));
    daemon.until("named", |s| s["formula"]["name"] == "t + n");
    assert_eq!(daemon.change("PUT", "/api/v1/formula", Some(json!({"text": "t + n"}))), "already");
    assert_eq!(daemon.ask("PUT", "/api/v1/formula", Some(json!({"text": "t +"}))).0, 422);
    let changes = daemon.ask("POST", "/api/v1/formulas/compare", Some(json!({"text": "age"})));
    assert_eq!(changes.0, 200, "{}", changes.1);
    assert_eq!(daemon.get("/api/v1/formulas")["history"][0]["who"], "anna");
    assert_eq!(daemon.change("DELETE", "/api/v1/formula", None), "next_cycle");
    daemon.until("rolled back", ranked(&first));
    assert!(!world.data_dir.join("formula.toml").exists(), "it is the configuration again that says which");
    assert_eq!(daemon.change("DELETE", "/api/v1/formula", None), "already");
    daemon.stop();
}

#[test]
fn a_roll_back_knows_what_the_command_line_left() {
    let world = world(10, 1, "");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let next = || {
        let formulas = daemon.get("/api/v1/formulas");
        formulas["in_force"]["name"].as_str().expect("a name").to_owned()
    };
    let first = next();
    daemon.change("PUT", "/api/v1/formula", Some(json!({"text": "t + n"})));
    succeeds(world.run(&["formula", "use", "t * 2"]));
    assert_eq!(daemon.change("DELETE", "/api/v1/formula", None), "next_cycle");
    assert_eq!(next(), "t + n", "the one before that of the command line");
    assert_eq!(daemon.change("DELETE", "/api/v1/formula", None), "next_cycle");
    assert_eq!(next(), first);
    assert_eq!(daemon.change("DELETE", "/api/v1/formula", None), "already");
    daemon.stop();
}

#[test]
fn a_file_that_holds_no_formula_is_told_and_mended_over_the_console() {
    let world = world(10, 1, QUICK);
    world.crawl(1);
    std::fs::write(world.data_dir.join("formula.toml"), "nonsense").unwrap();
    let daemon = Daemon::start(&world);
    let failed = daemon.until("told", |s| s["state"] == "failed");
    assert!(failed["reason"].as_str().unwrap().contains("formula.toml"), "{failed}");
    assert_eq!(daemon.change("PUT", "/api/v1/formula", Some(json!({"text": "t + n"}))), "next_cycle");
    daemon.until("crawling on", |s| s["generation"].as_u64() > Some(2));
    // Also when it breaks while cycles are committed.
    std::fs::write(world.data_dir.join("formula.toml"), "nonsense").unwrap();
    daemon.until("told", |s| s["state"] == "failed");
    succeeds(world.run(&["formula", "use", "t"]));
    let before = daemon.status()["generation"].as_u64();
    daemon.signal("-HUP");
    daemon.until("crawling on", |s| s["generation"].as_u64() > before);
    daemon.stop();
    world.is_sound();
}

/// The report of the last cycle.
fn last_report(daemon: &Daemon) -> Value {
    daemon.get("/api/v1/cycles?last=1")[0].clone()
}

#[test]
fn after_kill_9_the_figures_of_the_cycle_go_on() {
    let world = world(400, 2, SLOW);
    world.crawl(2);
    configure(&world, &format!("{SLOW}\n{QUICK}"));
    let daemon = Daemon::start(&world);
    let done = |s: &Value| s["cycle"]["done"].as_u64().unwrap_or_default();
    let before = daemon.until("fetching", |s| done(s) > 10);
    daemon.kill();
    let daemon = Daemon::start(&world);
    let after = daemon.until("fetching", |s| s["cycle"]["stage"] == "fetching");
    let (before, after) = (&before["cycle"], &after["cycle"]);
    for key in ["done", "fetched", "first_visits", "bytes", "links_seen"] {
        assert!(after[key].as_u64() >= before[key].as_u64(), "{key}: {before:#} {after:#}");
    }
    for key in ["cycle", "started", "scheduled"] {
        assert_eq!(after[key], before[key]);
    }
    let cycle = before["cycle"].as_u64().unwrap();
    daemon.until("committed", |s| s["generation"].as_u64() >= Some(cycle));
    daemon.stop();
    world.is_sound();
}

#[test]
fn sighup_takes_up_what_can_change_and_names_what_cannot() {
    let world = world(30, 2, QUICK);
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let host = host_of(&world.server.url(0));
    let tokens = world.folder.path().join("tokens");
    std::fs::write(&tokens, format!("ben {}\n", "x".repeat(32))).unwrap();
    let read_only = "[serve]\nlisten = \"127.0.0.1:9\"\nrequests = 1000";
    world.configure(&format!(
        "{read_only}\ntokens = \"{}\"\n{QUICK}\n[scope]\nrefuse_hosts = [\"{host}\"]\n[urls]\ndrop_parameters = []",
        tokens.display()
    ));
    daemon.signal("-HUP");
    daemon.until("taken up", |_| {
        daemon.log.lock().unwrap().contains("restart the daemon to apply changes of: serve.listen")
    });
    let log = daemon.log.lock().unwrap().clone();
    assert!(log.contains("urls.drop_parameters") && log.contains("scope.refuse_hosts"), "{log}");
    assert_eq!(daemon.ask("PUT", "/api/v1/pause", None).0, 401, "anna's token is taken back");
    let page = daemon.page(&world.server.url(0));
    assert_eq!(page["stopped_by"][0]["gate"], "scope", "{page:#}");
    // One that cannot be used changes nothing.
    std::fs::write(world.config_file(), "[cycle]\nperiod = 5").unwrap();
    daemon.signal("-HUP");
    daemon.until("told", |_| daemon.log.lock().unwrap().contains("kept the previous configuration"));
    let begun = daemon.status()["generation"].as_u64().unwrap();
    daemon.until("crawling on", |s| s["generation"].as_u64() > Some(begun + 1));
    daemon.stop();
}

#[test]
fn sighup_takes_up_another_file_of_tokens_and_an_emptied_one() {
    use std::os::unix::fs::PermissionsExt;
    let world = world(10, 1, "");
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let tokens = |name: &str, text: &str| {
        let path = world.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let listen = "[serve]\nlisten = \"127.0.0.1:0\"\nrequests = 1000";
        world.configure(&format!("{listen}\ntokens = \"{}\"", path.display()));
        let times = || daemon.log.lock().unwrap().matches("configuration reloaded").count();
        let before = times();
        daemon.signal("-HUP");
        daemon.until("taken up", |_| times() > before);
    };
    let pause = || daemon.ask("PUT", "/api/v1/pause", None).0;
    assert_eq!(pause(), 200);
    tokens("others", &format!("ben {}\n", "x".repeat(32)));
    assert_eq!(pause(), 401, "it is another file, and anna is not in it");
    tokens("others", &format!("anna {TOKEN}\n"));
    assert_eq!(pause(), 200);
    std::fs::remove_file(world.folder.path().join("others")).unwrap();
    daemon.signal("-HUP");
    daemon.until("told", |_| daemon.log.lock().unwrap().contains("keeping the previous tokens"));
    assert_eq!(pause(), 200, "a file that is not there locks nobody out");
    tokens("others", "# nobody\n");
    assert_eq!(pause(), 403, "the last token is taken back");
    daemon.stop();
}

#[test]
fn without_tokens_the_log_has_a_link_that_works_once_and_a_reload_another() {
    let world = world(10, 1, "");
    world.crawl(1);
    world.configure("[serve]\nlisten = \"127.0.0.1:0\"\nrequests = 1000");
    let daemon = Daemon::start(&world);
    let secrets = || {
        let log = daemon.log.lock().unwrap();
        let found = log.split("/#/login?secret=").skip(1);
        found.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    daemon.until("told", |_| secrets().len() == 1);
    assert!(daemon.log.lock().unwrap().contains(&format!("open http://{}/#/login?secret=", daemon.address)));
    let begin = |secret: &str| daemon.ask("POST", "/api/v1/session", Some(json!({"secret": secret}))).0;
    assert_eq!(daemon.ask("PUT", "/api/v1/pause", None).0, 401);
    assert_eq!((begin(&secrets()[0]), begin(&secrets()[0])), (200, 401));
    daemon.signal("-HUP");
    daemon.until("told anew", |_| secrets().len() == 2);
    assert_eq!((begin(&secrets()[0]), begin(&secrets()[1])), (401, 200));
    daemon.signal("-HUP");
    daemon.until("told again", |_| secrets().len() == 3);
    // Commands of this user need no session.
    let paused = world.command(&["pause"]).output().unwrap();
    assert!(paused.status.success(), "{paused:?}");
    assert_eq!(daemon.status()["state"], "paused");
    daemon.stop();
}

#[test]
fn lists_of_hosts_and_pages_come_in_parts_and_agree() {
    let world = world(60, 3, "[politeness]\ndelay_per_host = \"0 ms\"\ndelay_per_ip = \"2 ms\"");
    world.crawl(2);
    let daemon = Daemon::start(&world);
    let mut urls = Vec::new();
    let mut path = "/api/v1/pages?limit=7".to_owned();
    loop {
        let part = daemon.get(&path);
        urls.extend(part["pages"].as_array().unwrap().iter().map(|p| p["url"].as_str().unwrap().to_owned()));
        let Some(next) = part["next"].as_str() else { break };
        path = format!(
            "/api/v1/pages?limit=7&cursor={}",
            next.replace('%', "%25").replace('&', "%26").replace('?', "%3F")
        );
    }
    let hosts = daemon.get("/api/v1/hosts?sort=pages");
    let counted: u64 = hosts["hosts"].as_array().unwrap().iter().map(|h| h["pages"].as_u64().unwrap()).sum();
    assert_eq!((urls.len() as u64, daemon.status()["pages"].as_u64()), (counted, Some(counted)));
    let one = hosts["hosts"][0]["host"].as_str().unwrap();
    let encoded = format!("{one}/").replace(':', "%3A").replace('/', "%2F");
    let of_one = daemon.get(&format!("/api/v1/pages?limit=1000&prefix={encoded}"));
    assert_eq!(
        of_one["pages"].as_array().unwrap().len() as u64,
        hosts["hosts"][0]["pages"].as_u64().unwrap()
    );
    let host = one.split("//").nth(1).unwrap().split(':').next().unwrap();
    assert_eq!(daemon.get(&format!("/api/v1/hosts/{host}"))[0]["host"], one);
    for order in ["name", "pages", "queue"] {
        let found = daemon.get(&format!("/api/v1/hosts?sort={order}&search={host}%3A"));
        let names: Vec<&Value> = found["hosts"].as_array().unwrap().iter().map(|row| &row["host"]).collect();
        assert_eq!((names, &found["next"]), (vec![&json!(one)], &Value::Null), "{order}");
        let none = daemon.get(&format!("/api/v1/hosts?sort={order}&search=nowhere"));
        assert_eq!(none["hosts"], json!([]), "{order}");
    }
    assert_eq!(hosts["hosts"][0]["delay_because"], "politeness.delay_per_ip", "{hosts}");
    assert_eq!(daemon.ask("GET", "/api/v1/hosts/nowhere.test", None).0, 404);
    assert_eq!(daemon.ask("GET", "/api/v1/hosts?cursor=x", None).0, 422);
    assert_eq!(daemon.ask("GET", "/api/v1/pages?prefix=x", None).0, 422);
    assert_eq!(daemon.ask("GET", "/api/v1/page?url=http%3A%2F%2Fnowhere.test%2F", None).0, 404);
    daemon.stop();
    let pages = world.pages();
    assert_eq!(urls.len(), pages.len());
    assert!(urls.iter().all(|url| pages.contains_key(url)));
}

#[test]
fn what_went_wrong_is_listed_and_counted_by_kind() {
    let world = world(40, 2, QUICK);
    world.crawl(2);
    let page = world.lone_pages()[0];
    world.server.set_faults(vec![world.fault_on(page, "status:503")]);
    let daemon = Daemon::start(&world);
    let url = world.server.url(page);
    daemon.change("POST", "/api/v1/recrawl", Some(json!({"url": url})));
    let listed =
        |errors: &Value| errors["last"].as_array().unwrap().iter().find(|e| e["url"] == *url).cloned();
    let errors = std::cell::RefCell::new(Value::Null);
    daemon.until("listed", |_| {
        errors.replace(daemon.get("/api/v1/errors"));
        listed(&errors.borrow()).is_some()
    });
    daemon.change("PUT", "/api/v1/pause", None);
    let errors = errors.into_inner();
    let one = listed(&errors).unwrap();
    assert_eq!(
        (&one["outcome"], &one["why"], &one["status"]),
        (&json!("failed"), &json!("status"), &json!(503))
    );
    assert!(one["detail"].as_str().unwrap().contains("503") && one["at"].as_u64() > Some(0), "{one}");
    assert!(url.starts_with(one["host"].as_str().unwrap()), "{one}");
    assert!(errors["last"].as_array().unwrap().len() <= 50);
    daemon.stop();
}

/// The words between `<main>` and `</main>` of a page as the web gives it out now.
fn words_of_main(url: &str) -> Vec<String> {
    let (host, path) = url.strip_prefix("http://").and_then(|u| u.split_once('/')).expect("an address");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let html = String::from_utf8(answer).expect("pages are UTF-8");
    let main =
        html.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>")).expect("a main part").0;
    let texts = main.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.collect::<Vec<_>>().join(" ").split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_last_two_texts_of_a_page_are_compared_and_what_is_not_kept_is_named() {
    let mut web = web(40, 2);
    web.validators = recrawl_mockweb::Validators::None;
    let world = world_of(web, "[cycle]\npages = \"100%\"");
    let texts = |daemon: &Daemon, url: &str| daemon.page(url)["texts"].clone();
    (0..6).for_each(|_| drop(world.next_cycle()));
    let last = world.server.clock();
    // What changed in the last cycle: its truth is the web's, now and one cycle before.
    let changed: Vec<String> = (0..world.server.info().pages)
        .filter(|page| world.server.version(*page, last) != world.server.version(*page, last - 1))
        .map(|page| world.server.url(page))
        .filter(|url| world.pages()[url]["X"].as_u64() > Some(0))
        .collect();
    let url = changed.first().expect("something changes in each cycle");
    let newer = words_of_main(url);
    world.server.set_clock(last - 1).unwrap();
    let older = words_of_main(url);
    world.server.set_clock(last).unwrap();
    let daemon = Daemon::start(&world);
    let found = texts(&daemon, url);
    let parts = found["parts"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    let words = |kind: &str| -> Vec<&str> {
        let some = parts.iter().filter(|part| part["kind"] == kind);
        some.flat_map(|part| part["text"].as_str().unwrap().split_whitespace()).collect()
    };
    let (added, removed) = (words("added"), words("removed"));
    assert!(!added.is_empty() || !removed.is_empty(), "{found:#}");
    assert!(added.iter().all(|word| newer.iter().any(|w| w == word)), "{added:?} of {newer:?}");
    assert!(removed.iter().all(|word| older.iter().any(|w| w == word)), "{removed:?} of {older:?}");
    let number = |key: &str| found[key].as_u64().unwrap() as usize;
    assert_eq!((number("words_added"), number("words_removed")), (added.len(), removed.len()));
    assert_eq!(newer.len() + removed.len(), older.len() + added.len(), "all that differs, and nothing else");
    assert!(found["older"]["time"].as_u64() <= found["newer"]["time"].as_u64() && found["is_cut"] == false);
    let pages = world.pages();
    let still =
        pages.iter().find(|(_, page)| page["X"] == 0 && page["n"].as_u64() > Some(1)).expect("some stay");
    let why = texts(&daemon, still.0);
    assert!(why["none"] == "one_text" && why["why"].as_str().unwrap().contains("has not changed"), "{why}");
    daemon.stop();

    // A file that is lost is told, and no limit is blamed for it.
    std::fs::remove_file(&warc_files(&world.data_dir)[&1]).unwrap();
    let daemon = Daemon::start(&world);
    let gone = texts(&daemon, url);
    assert!(
        gone["none"] == "unreadable"
            && gone["why"].as_str().unwrap().contains("WARC file 1, which is not here"),
        "{gone}"
    );
    daemon.stop();
}

#[test]
fn a_token_file_that_others_can_read_ends_it_before_anything_is_touched() {
    use std::os::unix::fs::PermissionsExt;
    let world = world(10, 1, "");
    let tokens = world.folder.path().join("tokens");
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = fails(world.run(&["serve"]), 2);
    assert!(said.contains("serve.tokens") && said.contains("chmod 600"), "{said}");
    assert!(!world.data_dir.exists());
}
