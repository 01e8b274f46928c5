//! Pages made by script: seen, links followed, changes found; hostile ones cost themselves; nothing of the browser's
//! reaches an address that the crawl would not ask.
//!
//! scripts/browser-tests.sh runs these, since not every machine has a browser.

#[path = "harness.rs"]
#[allow(dead_code, reason = "each binary needs a part of it")]
mod harness;
#[path = "origins.rs"]
mod origins;

use crate::harness::{World, count, fails, json_lines, replayed_changes, succeeds, web};
use recrawl_mockweb::fault::FaultRule;
use recrawl_mockweb::trap::Trap;
use recrawl_mockweb::{Config, Validators};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CYCLE: &str = "[cycle]\npages = \"100%\"\n";
const ALWAYS: &str = "[[pages]]\nmatch = \"*\"\nrender = true\n";
/// On a busy machine a page takes long, and is rendered all the same.
const PATIENT: &str = "[render]\ntime = \"10 min\"\n";

fn scripted(pages: u32, hosts: u32) -> Config {
    Config { scripted: true, ..web(pages, hosts) }
}

/// The changes that the crawl found of each page.
fn found(world: &World) -> BTreeMap<String, u64> {
    world.pages().iter().filter_map(|(url, page)| Some((url.clone(), count(page, "X")?))).collect()
}

/// The changes of a page, by the data that the web gave out at its visits.
fn real(world: &World, url: &str) -> u64 {
    let data = format!("{url}{}as=data", if url.contains('?') { '&' } else { '?' });
    world.given_out().get(&data).map_or(0, |visits| replayed_changes(visits))
}

/// The last outcome and reason of each visited page.
fn outcomes(world: &World) -> BTreeMap<String, (String, Option<String>)> {
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let outcome = |visit: &Value| (text(&visit["outcome"]).expect("an outcome"), text(&visit["why"]));
    visits.iter().map(|visit| (text(&visit["url"]).expect("a URL"), outcome(visit))).collect()
}

#[test]
fn pages_made_by_script_are_seen_their_links_followed_and_their_changes_found() {
    let world = World::new(scripted(30, 2), &format!("{CYCLE}{ALWAYS}{PATIENT}"));
    (0..7).for_each(|_| drop(world.next_cycle()));
    let (mut checked, mut changes) = (0, 0);
    for (url, found) in found(&world) {
        if !world.server.seeds().contains(&url) {
            let real = real(&world, &url);
            assert_eq!(found, real, "{url}");
            (checked, changes) = (checked + 1, changes + real);
        }
    }
    assert!(checked > 20 && changes > 10, "{checked} pages, {changes} changes");
    let log = world.server.log(0).unwrap();
    assert!(log.iter().all(|access| access.method == "GET" && !access.conditional), "{log:?}");
    world.is_sound();
    // What was archived is what was rendered, too.
    let mut records = String::new();
    for entry in fs::read_dir(world.data_dir.join("warc")).unwrap() {
        let file = fs::File::open(entry.unwrap().path()).unwrap();
        flate2::read::MultiGzDecoder::new(file).read_to_string(&mut records).unwrap();
    }
    let rendered = records.matches("WARC-Type: conversion").count();
    assert!(
        rendered > checked && records.matches("WARC-Type: response").count() == rendered,
        "{rendered} rendered"
    );
    // A file for readers has both, and its index the response.
    let wacz = world.folder.path().join("rendered.wacz");
    succeeds(world.run(&["export", "wacz", "--out", wacz.to_str().unwrap()]));
    let (mut zip, mut copied) =
        (zip::ZipArchive::new(fs::File::open(&wacz).unwrap()).unwrap(), String::new());
    for index in 0..zip.len() {
        let entry = zip.by_index(index).unwrap();
        if entry.name().ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(entry).read_to_string(&mut copied).unwrap();
        }
    }
    assert_eq!(copied.matches("WARC-Type: conversion").count(), rendered);
    assert_eq!(copied.matches("\"mime\": \"text/html").count(), rendered);
    // People see it, too.
    let (url, _) = found(&world).into_iter().max_by_key(|(_, changes)| *changes).expect("a page");
    let show = |what: &str| succeeds(world.run(&["show", &url, what]));
    let (text, html, difference) = (show("--text"), show("--html"), show("--diff"));
    assert!(
        text.split_whitespace().count() > 50 && html.contains(text.split_whitespace().nth(20).unwrap()),
        "{text}"
    );
    assert!(difference.lines().any(|line| line.starts_with('+') && !line.starts_with("+++")), "{difference}");
    // The rule goes, and that is no change.
    let before = found(&world);
    world.configure(CYCLE);
    world.next_cycle();
    assert_eq!(found(&world), before);
}

/// Requests of the pages' scripts.
fn of_scripts(world: &World) -> usize {
    world.server.log(0).unwrap().iter().filter(|access| access.path.ends_with("as=data")).count()
}

#[test]
fn what_a_browser_loads_is_archived_with_its_page_and_asked_for_no_second_time() {
    let world = World::new(scripted(12, 1), &format!("{CYCLE}{ALWAYS}requisites = true\n{PATIENT}"));
    let plain = World::new(scripted(12, 1), &format!("{CYCLE}{ALWAYS}{PATIENT}"));
    for world in [&world, &plain] {
        (0..3).for_each(|_| drop(world.next_cycle()));
    }
    assert_eq!(of_scripts(&world), of_scripts(&plain));
    let counts = |world: &World| found(world).into_values().collect::<Vec<_>>();
    assert_eq!(counts(&world), counts(&plain));
    assert!(world.pages().keys().all(|url| !url.contains("as=data")), "requisites are no pages");
    let captured = |world: &World| {
        let index = succeeds(world.run(&["export", "cdxj", "--out", "-"]));
        index.lines().filter(|line| line.contains("as=data")).map(str::to_owned).collect::<Vec<_>>()
    };
    let bodies = captured(&world).iter().filter(|line| !line.contains("warc/revisit")).count();
    assert!(bodies > 10 && captured(&plain).is_empty(), "{bodies}");
    // A package of all pages has what their scripts asked for.
    let wacz = world.folder.path().join("all.wacz");
    succeeds(world.run(&["export", "wacz", "--out", wacz.to_str().unwrap()]));
    let mut package = zip::ZipArchive::new(fs::File::open(&wacz).unwrap()).unwrap();
    let mut copied = String::new();
    for index in 0..package.len() {
        let entry = package.by_index(index).unwrap();
        if entry.name().ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(entry).read_to_string(&mut copied).unwrap();
        }
    }
    assert!(copied.matches("as=data\r\n").count() > 5);
    world.is_sound();
}

#[test]
fn a_watch_with_a_browser_sees_what_scripts_make_and_writes_such_a_rule() {
    let world = World::new(scripted(5, 1), PATIENT);
    let url = world.server.seeds()[0].clone();
    let blind = fails(world.run(&["watch", &url, "--select", "#app"]), 1);
    assert!(blind.contains("finds no text") && blind.contains("add --render"), "{blind}");
    assert!(!fs::read_to_string(world.config_file()).unwrap().contains("[[pages]]"));
    let said = succeeds(world.run(&["watch", &url, "--select", "#app", "--render"]));
    assert!(!said.contains("title       Loading") && said.split_whitespace().count() > 20, "{said}");
    let written = fs::read_to_string(world.config_file()).unwrap();
    assert!(written.contains("include = [\"#app\"]\nrender = true\n"), "{written}");
    // The crawl sees the same.
    succeeds(world.run(&["crawl", "--rounds", "1", "--quiet"]));
    let shown = succeeds(world.run(&["show", &url, "--text"]));
    assert!(shown.split_whitespace().count() > 10, "{shown}");
}

#[test]
fn a_rule_that_decides_by_itself_renders_what_needs_it() {
    const AUTO: &str = "[[pages]]\nmatch = \"*\"\nrender = \"auto\"\n";
    for (config, is_rendered) in [(scripted(20, 4), true), (web(20, 4), false)] {
        let mut config = config;
        config.validators = Validators::None;
        let world = World::new(config, &format!("{CYCLE}{AUTO}{PATIENT}"));
        (0..8).for_each(|_| drop(world.next_cycle()));
        let known = world.pages().len();
        assert!(known > 20, "{known} pages, rendered: {is_rendered}");
        let data =
            world.server.log(0).unwrap().iter().filter(|access| access.path.ends_with("as=data")).count();
        assert_eq!(data > 20, is_rendered, "{data}");
        let given = world.given_out();
        for (url, found) in found(&world).into_iter().filter(|(url, _)| !world.server.seeds().contains(url)) {
            let real = if is_rendered { real(&world, &url) } else { replayed_changes(&given[&url]) };
            assert!(found <= real, "{url}: {found} of {real}");
        }
    }
}

/// A world whose first lone pages are hostile, one of each kind, and the URLs of all lone pages.
fn hostile_world(kinds: &[&str], render: &str) -> (World, Vec<String>) {
    let world = World::new(scripted(30, 1), &format!("{CYCLE}{ALWAYS}{render}"));
    let lone = world.lone_pages();
    let rules = lone.iter().zip(kinds).map(|(page, kind)| world.fault_on(*page, &format!("hostile:{kind}")));
    world.server.set_faults(rules.collect());
    let urls: Vec<String> = lone.iter().map(|page| world.server.url(*page)).collect();
    world.seeds(&[urls.clone(), world.server.seeds()].concat());
    (world, urls)
}

#[test]
fn hostile_pages_cost_themselves_and_the_crawl_goes_on() {
    let kinds = [
        ("reload", true),
        ("windows", true),
        ("dialogs", true),
        ("download", true),
        ("workers", true),
        ("memory", false),
        ("text", false),
        ("requests", true),
    ];
    let (world, urls) = hostile_world(
        &kinds.map(|(kind, _)| kind),
        &format!("{PATIENT}memory = \"700 MiB\"\nmax_document = \"4 MiB\"\n"),
    );
    world.crawl(2);
    let outcomes = outcomes(&world);
    for (url, (kind, is_shown)) in urls.iter().zip(kinds) {
        let expected = match is_shown {
            true => ("fetched", None),
            false => ("failed", Some("render")),
        };
        let (outcome, why) = &outcomes[url];
        let why = why.as_deref().filter(|_| !is_shown);
        assert_eq!((outcome.as_str(), why), expected, "{kind}");
    }
    let good = urls[kinds.len()..].iter().filter(|url| outcomes[*url].0 == "fetched").count();
    assert_eq!(good, urls.len() - kinds.len(), "{outcomes:?}");
    let log = world.server.log(0).unwrap();
    // A download is a link of its page, and requested as one.
    for path in ["/window/", "/worker.js", "/shared.js", "/service.js"] {
        assert!(log.iter().all(|access| !access.path.starts_with(path)), "{path}");
    }
    let more = log.iter().filter(|access| access.path.starts_with("/more/")).count();
    assert!(more <= 2 * 50, "{more} requests of one page");
}

/// Under a short limit of time, other pages may fail as well on a busy machine; under a long one they are there.
#[test]
fn pages_that_never_end_cost_their_time_and_the_crawl_goes_on() {
    let kinds = ["loop", "promises"];
    let (world, urls) = hostile_world(&kinds, "[render]\ntime = \"3 s\"\n");
    // A round in which nothing was fetched is a failure, and it may be on a busy machine.
    world.crawl_command(1).output().expect("the program runs");
    let first = outcomes(&world);
    for (url, kind) in urls.iter().zip(kinds) {
        assert_eq!(first[url], ("failed".to_owned(), Some("render".to_owned())), "{kind}");
    }
    world.server.set_faults(Vec::new());
    world.configure(&format!("{CYCLE}{ALWAYS}{PATIENT}"));
    world.next_cycle();
    let then = outcomes(&world);
    assert!(urls.iter().all(|url| then[url].0 == "fetched"), "{then:?}");
}

/// The browsers of a crawl: children that were told to use the pipe.
fn browsers(of: &Child) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parent == Some(of.id())
    };
    pids.filter(is_one).collect()
}

/// Answers with data so far: a page that is rendered asks for its own.
fn data_given(world: &World) -> usize {
    world.server.log(0).unwrap().iter().filter(|access| access.path.ends_with("as=data")).count()
}

/// The changes of each page between its visits that were read, by the versions that the web had then. A visit that fails
/// may have been given data, too: nobody has read it. `clocks`: the web's clock in each cycle.
fn changes_between_read_visits(world: &World, clocks: &[u32]) -> BTreeMap<String, u64> {
    let given = world.given_out();
    let version = |url: &str, clock: u32| {
        let data = format!("{url}{}as=data", if url.contains('?') { '&' } else { '?' });
        given.get(&data)?.iter().find(|access| access.cycle == clock)?.holds
    };
    let mut read = BTreeMap::<String, Vec<Option<u32>>>::new();
    for visit in json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"]))) {
        if visit["outcome"] == "fetched" {
            let (url, cycle) = (visit["url"].as_str().unwrap(), count(&visit, "cycle").unwrap());
            let clock = clocks[usize::try_from(cycle).unwrap() - 1];
            read.entry(url.to_owned()).or_default().push(version(url, clock));
        }
    }
    let changes = |versions: Vec<Option<u32>>| versions.windows(2).filter(|pair| pair[0] != pair[1]).count();
    read.into_iter().map(|(url, versions)| (url, changes(versions) as u64)).collect()
}

/// The browser is killed as the crawl goes on, not as time does: on a slow machine no page would be finished between two
/// kills, and on a fast one there would be none.
#[test]
fn browsers_that_are_killed_lose_no_page() {
    let pages = std::env::var("RECRAWL_KILLED_PAGES").map_or(30, |text| text.parse().expect("a number"));
    let extra = format!("{CYCLE}{ALWAYS}{PATIENT}[politeness]\nconnections_per_host = 8\n");
    let world = World::new(scripted(pages, 8), &extra);
    let urls: Vec<String> = (0..pages).map(|page| world.server.url(page)).collect();
    world.seeds(&[urls.clone(), world.server.seeds()].concat());
    let (mut kills, mut random, mut clocks) = (0, 7_u64, vec![0]);
    for _ in 0..2 {
        let mut crawl = world.crawl_command(1).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut next = data_given(&world);
        while crawl.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
            if data_given(&world) < next {
                continue;
            }
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            next += 1 + (random >> 33) as usize % 8;
            for pid in browsers(&crawl) {
                // The group ends with its first process.
                let killed = Command::new("kill").args(["-KILL", "--", &format!("-{pid}")]).status().unwrap();
                kills += u32::from(killed.success());
            }
        }
        assert!(crawl.wait().unwrap().success());
        clocks.push(world.server.advance().unwrap());
    }
    // What three kills hit failed, and its next visit finds it.
    let failed = outcomes(&world).values().filter(|(outcome, _)| outcome == "failed").count();
    for _ in 0..2 {
        world.crawl(1);
        clocks.push(world.server.advance().unwrap());
    }
    let (found, real) = (found(&world), changes_between_read_visits(&world, &clocks));
    for url in &urls {
        assert_eq!(found.get(url), real.get(url), "{url}");
    }
    assert!(kills > 0, "no browser was killed");
    assert!(urls.iter().map(|url| real[url]).sum::<u64>() > 0, "no page has changed");
    world.is_sound();
    println!("{pages} pages, {kills} browsers killed, {failed} failed once");
}

/// Every way out of a browser, to a private address and to other ports, in a network namespace of its own: nothing
/// arrives, and the kernel counts no connection and no datagram but those of the crawl.
#[test]
fn nothing_leaves_the_browser() {
    if !is_in_namespace("nothing_leaves_the_browser") {
        return;
    }
    let trap = Trap::open("127.0.0.66:0".parse().unwrap()).unwrap();
    let port = trap.address().unwrap().port();
    let extra = format!(
        "{CYCLE}{ALWAYS}[fetch]\nallow_addresses = [\"127.1.0.0/16\"]\n[dns.overrides]\n\"rebound.test\" = \"127.0.0.66\"\n\
         [storage]\narchive = false\n"
    );
    let world = World::new(web(20, 1), &extra);
    let own = world.server.seeds()[0].trim_start_matches("http://").trim_end_matches('/').to_owned();
    let lone = world.lone_pages();
    let ways = [
        format!("127.0.0.66:{port}"),
        format!("[::1]:{port}"),
        format!("localhost:{port}"),
        format!("rebound.test:{port}"),
        format!("0.0.0.0:{port}"),
        "169.254.169.254:80".to_owned(),
        "10.0.0.1:443".to_owned(),
        "127.1.0.1:22".to_owned(),
        own.clone(),
    ];
    // One more page has its scripts redirected there.
    let mut rules: Vec<FaultRule> =
        vec![format!("/script=redirect:http://127.0.0.66:{port}/redirected").parse().unwrap()];
    for (page, to) in lone.iter().zip(&ways) {
        rules.push(world.fault_on(*page, &format!("reach:{to}")));
    }
    world.server.set_faults(rules);
    let urls: Vec<String> = lone.iter().take(ways.len()).map(|page| world.server.url(*page)).collect();
    world.seeds(&urls);
    let before = counters();
    world.crawl(1);
    let after = counters();
    let since = |name: &str| after[name] - before[name];
    assert_eq!(trap.connections().unwrap(), 0, "the trap was reached");
    assert_eq!(since("Udp.OutDatagrams") + since("Udp.NoPorts"), 0, "a datagram was sent");
    assert_eq!(
        (since("Tcp.AttemptFails"), since("Tcp.ActiveOpens")),
        (0, since("Tcp.PassiveOpens")),
        "a connection was tried"
    );
    let outcomes = outcomes(&world);
    for url in &urls {
        assert_eq!(outcomes[url].0, "fetched", "{outcomes:?}");
    }
    // Own scripts and data were asked for, so the page did run; nothing else was.
    let log = world.server.log(0).unwrap();
    let asked = |path: &str| log.iter().any(|access| access.path == path);
    assert!(asked("/script") && asked("/fetch") && asked("/xhr") && asked("/module"), "{log:?}");
    // A worker whose code is in the page asks like the page; one whose code must be loaded does not run.
    for path in [
        "/image",
        "/video",
        "/frame",
        "/object",
        "/style",
        "/prefetch",
        "/post",
        "/beacon",
        "/socket",
        "/worker-socket",
        "/service.js",
        "/open",
        "/go",
        "/form",
        "/font",
        "/ping",
        "/transport",
    ] {
        assert!(!asked(path), "{path}");
    }
    assert!(log.iter().all(|access| access.method == "GET"), "{log:?}");
    println!("{} requests, {} connections, all of the crawl", log.len(), since("Tcp.ActiveOpens"));
}

/// Runs the test of this name once more in a network namespace of its own, where this is true.
fn is_in_namespace(name: &str) -> bool {
    if std::env::var_os("RECRAWL_NAMESPACE").is_some() {
        succeeds(Command::new("ip").args(["link", "set", "lo", "up"]).output().expect("ip (iproute2) runs"));
        return true;
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env("RECRAWL_NAMESPACE", "1");
    let output = command.output().expect("unshare (util-linux) runs");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// The counters of this network namespace, by table and name.
fn counters() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/net/snmp").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let (table, names) = pair[0].split_once(": ").unwrap();
        let values = pair[1].split_once(": ").unwrap().1.split(' ');
        names
            .split(' ')
            .zip(values)
            .map(move |(name, value)| (format!("{table}.{name}"), value.parse().unwrap_or(0)))
    });
    pairs.collect()
}

/// The browser binds a Unix socket below its folder, and the path of a socket may have 107 bytes.
#[test]
fn pages_are_rendered_in_a_temporary_folder_with_a_long_path() {
    let world = World::new(scripted(3, 1), &format!("{CYCLE}{ALWAYS}{PATIENT}"));
    let long = world.folder.path().join("a".repeat(200));
    fs::create_dir(&long).expect("a folder");
    succeeds(world.crawl_command(1).env("TMPDIR", &long).output().expect("the program runs"));
    assert!(outcomes(&world).values().all(|(_, why)| why.is_none()), "{:?}", outcomes(&world));
    assert_eq!(fs::read_dir(&long).expect("a folder").count(), 0, "the browser's folder is removed");
}
