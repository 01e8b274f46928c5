//! What the Web does to crawlers: each hazard ends, is told right, and costs nobody else anything.

use crate::harness::{PATIENCE, Pages, World, count, json_lines, succeeds, web};
use recrawl_mockweb::tls::SelfSigned;
use recrawl_mockweb::trap::Trap;
use recrawl_mockweb::{Config, ProceduralConfig, Validators, WebConfig};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A hazard, and how the visit of a page that it strikes must end (docs/outcomes.md). The names are those of
/// docs/internals/mockweb.md, which says what each of them does.
const HAZARDS: &[(&str, &str)] = &[
    // Redirects that go round, on and on, far away, or to what is no page.
    ("loop:1", "redirected"),
    ("loop:2", "redirected"),
    ("loop:3", "redirected"),
    ("loop:0", "redirected"),
    ("chain:3", "redirected"),
    ("far", "failed"),
    ("far:100000", "failed"),
    ("redirect:", "failed"),
    ("redirect:javascript:alert(1)", "failed"),
    ("redirect:data:text/html,x", "failed"),
    ("redirect:file:///etc/passwd", "failed"),
    ("redirect:http://[::1", "failed"),
    // Without an end, or too slow to reach it. What is read of an endless body is a page.
    ("endless:body", "fetched"),
    ("endless:status", "failed"),
    ("endless:head", "failed"),
    ("endless:field", "failed"),
    ("endless:interim", "failed"),
    ("endless:extension", "failed"),
    ("endless:trailers", "fetched"),
    ("slow:1", "failed"),
    ("drip", "failed"),
    ("timeout", "failed"),
    // Lengths that are wrong. Too short, and the rest poses as the answer to the next request.
    ("length:short", "fetched"),
    ("length:none", "fetched"),
    ("length:both", "fetched"),
    ("length:long", "failed"),
    ("length:vast", "failed"),
    ("length:negative", "fetched"),
    ("length:overflow", "fetched"),
    ("length:two", "failed"),
    ("truncated", "failed"),
    // The connection breaks, or speaks no HTTP, at every stage.
    ("reset", "failed"),
    ("reset:100", "failed"),
    ("broken:head", "failed"),
    ("broken:blank", "failed"),
    ("broken:noise", "failed"),
    ("broken:version", "failed"),
    ("broken:status", "failed"),
    ("broken:switch", "failed"),
    ("broken:field", "failed"),
    ("broken:fold", "fetched"),
    ("broken:chunk", "failed"),
    ("broken:overflow", "failed"),
    // Compressed to nothing, compressed wrongly, not compressed. Up to the limit a bomb is a page.
    ("bomb:gzip", "fetched"),
    ("bomb:deflate", "fetched"),
    ("bomb:zstd", "fetched"),
    ("bomb:wide", "failed"),
    ("bomb:window", "failed"),
    ("hollow:members", "failed"),
    ("hollow:blocks", "failed"),
    ("hollow:frames", "failed"),
    ("coding:gzip", "failed"),
    ("coding:deflate", "failed"),
    ("coding:br", "failed"),
    ("coding:zstd", "failed"),
    ("coding:cut", "fetched"),
    ("coding:gzip, gzip", "failed"),
    ("coding:x-gzip", "failed"),
    ("coding:identity", "fetched"),
    ("coding:utf-8", "fetched"),
    // Called something else: read as that, or not read at all, but seen.
    ("media:image/png", "fetched"),
    ("media:", "fetched"),
    ("media:text/html; charset=none-such", "fetched"),
    ("media:;;;", "fetched"),
    // Pages that are too much, by links, depth or bytes.
    ("links", "fetched"),
    ("long-links", "fetched"),
    ("schemes", "fetched"),
    ("nested", "fetched"),
    ("nested:100000/b", "fetched"),
    ("nested:100000/a", "fetched"),
    ("nested:50000/table", "fetched"),
    ("nested:100000/svg", "fetched"),
    ("costly:hr", "fetched"),
    ("costly:misnested", "fetched"),
    ("costly:table", "fetched"),
    ("costly:deep", "fetched"),
    ("nul", "fetched"),
    ("no-utf-8", "fetched"),
];

/// Everything is visited in every cycle; limits low enough to be met.
const LIMITS: &str = r#"
[cycle]
pages = "100%"
[fetch]
timeout = "15 s"
max_body = "512 KiB"
connections = 100
[extract]
max_links = 500
[storage]
archive = false
"#;

/// More than the program may have in memory at any moment of these crawls, in KiB: what it has without
/// hazards, 100 connections with 512 KiB each, and for each of two readers the tree of a hostile page.
const MEMORY: u64 = 224 << 10;

/// Hosts of the same size.
fn even_web(pages: u32, hosts: u32) -> Config {
    let procedural =
        ProceduralConfig { pages, hosts, seed: 7, page_bytes: 4_000, skew: 0.0, ..Default::default() };
    Config { validators: Validators::None, ..Config::new(WebConfig::Procedural(procedural)) }
}

/// One cycle that must end, in memory that must be bounded; its report.
fn bounded_cycle(world: &World) -> Value {
    let mut command = world.crawl_command(1);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (start, mut peak) = (Instant::now(), 0);
    while child.try_wait().expect("a child of ours").is_none() {
        assert!(start.elapsed() < PATIENCE || child.kill().is_err(), "the crawl does not end");
        peak = peak.max(peak_memory(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("it has ended");
    // Shown with --nocapture.
    println!("{peak} KiB of memory, {:?}", start.elapsed());
    assert!(0 < peak && peak < MEMORY, "{peak} KiB of memory");
    json_lines(&succeeds(output)).remove(0)
}

/// The most memory that a process has had so far, in KiB; 0 when it is gone.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// How the visits of the last cycle ended, by URL.
fn outcomes(world: &World) -> BTreeMap<String, String> {
    let visits = json_lines(&succeeds(world.run(&["export", "visits", "--out", "-"])));
    let last = visits.iter().filter_map(|v| count(v, "cycle")).max();
    let of_last = visits.iter().filter(|v| count(v, "cycle") == last);
    let text = |v: &Value, name: &str| v[name].as_str().expect("text").to_owned();
    of_last.map(|v| (text(v, "url"), text(v, "outcome"))).collect()
}

fn all_urls(world: &World) -> Vec<String> {
    (0..world.server.info().pages).map(|page| world.server.url(page)).collect()
}

/// Live or kept out by a rule, and never found missing.
fn none_is_gone<'p>(pages: impl IntoIterator<Item = (&'p String, &'p Value)>) {
    for (url, page) in pages {
        let status = page["status"].as_str().expect("a status");
        assert!(matches!(status, "live" | "refused"), "{url} is {status}");
        assert_eq!(count(page, "not_found"), Some(0), "{url}");
    }
}

/// What a page's record remembers of visits.
fn memory_of(page: &Value) -> Value {
    let mut page = page.clone();
    for name in ["last_attempt", "failures", "in_links"] {
        page.as_object_mut().expect("a record").remove(name);
    }
    page
}

/// Every hazard at once, each on one page of a host of its own: at the first visit and at a later one.
#[test]
fn every_hazard_ends_is_told_right_and_costs_nobody_else_anything() {
    let hosts = HAZARDS.len() as u32;
    let mut world = World::new(even_web(3 * hosts, hosts), LIMITS);
    let urls = all_urls(&world);
    world.seeds(&[urls.clone(), world.server.seeds()].concat());
    let lone = world.lone_pages();
    let struck: Vec<u32> = (0..hosts)
        .map(|host| {
            let own = format!("//127.1.0.{}:", host + 1);
            lone.iter().copied().find(|p| urls[*p as usize].contains(&own)).expect("a page on each host")
        })
        .collect();
    let faults = || struck.iter().zip(HAZARDS).map(|(page, (kind, _))| world.fault_on(*page, kind)).collect();
    let expected: BTreeMap<&String, (&str, &str)> =
        struck.iter().map(|p| &urls[*p as usize]).zip(HAZARDS.iter().copied()).collect();
    let others: Vec<&String> = urls.iter().filter(|url| !expected.contains_key(url)).collect();

    // A crawl that knows every page, and one that meets each for the first time.
    world.crawl(1);
    let known = world.data_dir.clone();
    world.server.set_faults(faults());
    for (data_dir, n) in [(known.clone(), Some(1)), (world.folder.path().join("new"), Some(0))] {
        world.data_dir = data_dir;
        let before = if n == Some(1) { world.pages() } else { Pages::new() };
        world.server.reset_log().unwrap();
        bounded_cycle(&world);
        let (ends, after) = (outcomes(&world), world.pages());
        let wrong: Vec<_> = expected
            .iter()
            .filter(|(url, (_, outcome))| ends.get(**url).is_none_or(|end| end != outcome))
            .map(|(url, (kind, outcome))| format!("{kind}: {outcome} expected, {:?} met", ends.get(*url)))
            .collect();
        assert_eq!(wrong, [""; 0]);
        for (url, (kind, outcome)) in &expected {
            if *outcome == "failed" {
                let memory = before.get(*url).map(memory_of);
                assert!(memory.is_none_or(|m| m == memory_of(&after[*url])), "{kind}");
                assert_eq!(count(&after[*url], "failures"), Some(1), "{kind}");
            }
            let asked = world.server.log(0).unwrap();
            let asked = asked.iter().filter(|a| format!("http://{}{}", a.host, a.path).starts_with(*url));
            assert!(asked.count() <= 6, "a page and five redirects are the most: {kind}");
        }
        for url in &others {
            assert_eq!(ends.get(*url).map(String::as_str), Some("fetched"), "{url}");
            assert_eq!(count(&after[*url], "n"), n, "{url}");
        }
        let is_ours = |url: &String| url.starts_with("http://127.1.0.") && url.len() <= 2_000;
        assert!(after.keys().all(is_ours), "{:?}", after.keys().find(|url| !is_ours(url)));
        let linked = after.keys().filter(|url| url.contains("/linked/")).count();
        assert!(linked > 0 && linked <= 500, "{linked} links of one page");
        let found = |path: &str| after.keys().filter(|url| url.ends_with(path)).count();
        assert_eq!(found("/private/open-nested"), 5, "however deep it lies");
        assert_eq!(found("/private/open-sound"), 2, "whatever is around it");
        none_is_gone(after.iter().filter(|(url, _)| !url.contains("/linked/")));
        world.is_sound();
    }

    // It is over: every page is back, as if nothing had been.
    world.server.set_faults(Vec::new());
    world.data_dir = known;
    let before = world.pages();
    bounded_cycle(&world);
    let after = world.pages();
    for url in &urls {
        assert_eq!(count(&after[url], "n"), count(&before[url], "n").map(|n| n + 1), "{url}");
        assert_eq!(count(&after[url], "failures"), Some(0), "{url}");
    }
}

/// Addresses that must never be connected to, in every spelling; `P` is the port of the traps, which listen
/// at two of them.
const REFUSED: &[&str] = &[
    "127.0.0.66:P",
    "127.66:P",
    "0x7f000042:P",
    "2130706498:P",
    "0177.0.0.0102:P",
    "１２７.0.0.66:P",
    "127.0.0.66.:P",
    "127.1.0.1@127.0.0.66:P",
    "[::ffff:127.0.0.66]:P",
    "[::ffff:7f00:42]:P",
    "[::127.0.0.66]:P",
    "[64:ff9b::7f00:42]:P",
    "[2002:7f00:42::1]:P",
    "[::1]:P",
    "[::]:P",
    "0.0.0.0:P",
    "0:P",
    "localhost:P",
    "trap.test:P",
    "TRAP.test.:P",
    "trap6.test:P",
    "mapped.test:P",
    "metadata.test",
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "168.63.129.16",
    "100.100.100.200",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[fe80::1]",
    "[fc00::1]",
    "[ff02::1]",
    "[2001:db8::1]",
];

/// Asked for as seeds, as targets of redirects, and by a robots.txt that leads there.
#[test]
fn nothing_leads_to_a_refused_address() {
    let trap = Trap::open("127.0.0.66:0".parse().unwrap()).unwrap();
    let port = trap.address().unwrap().port();
    // Where the machine has no IPv6, nothing can listen there, and the judgement alone is tested.
    let trap6 = Trap::open(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port))).ok();
    let pages = 2 * REFUSED.len() as u32;
    let world = World::new(even_web(pages, 4), "");
    world.configure(
        r#"
        [crawler]
        contact = "tests@mock.test"
        [fetch]
        allow_addresses = ["127.1.0.0/16"]
        [scope]
        hosts = ["*"]
        [dns.overrides]
        "trap.test" = "127.0.0.66"
        "trap6.test" = "::1"
        "mapped.test" = "::ffff:127.0.0.66"
        "metadata.test" = "169.254.169.254"
        "#,
    );
    let target = |how: &str, place: &str| format!("http://{}/{how}", place.replace('P', &port.to_string()));
    let mut seeds: Vec<String> = REFUSED.iter().map(|place| target("seed", place)).collect();
    seeds.extend(world.server.seeds());
    seeds.extend(all_urls(&world));
    world.seeds(&seeds);
    let lone = world.lone_pages();
    assert!(lone.len() >= REFUSED.len());
    let redirects = lone.iter().zip(REFUSED).map(|(page, place)| {
        // A field holds no letters beyond ASCII.
        let target = target("redirect", &place.replace("１２７", "%EF%BC%91%EF%BC%92%EF%BC%97"));
        world.fault_on(*page, &format!("redirect:{target}"))
    });
    let robots = format!("4/robots.txt=redirect:{}", target("robots", "127.0.0.66:P"));
    world.server.set_faults(redirects.chain([robots.parse().unwrap()]).collect());
    let reports = [bounded_cycle(&world), bounded_cycle(&world)];
    assert_eq!(trap.connections().unwrap(), 0, "{reports:?}");
    assert_eq!(trap6.map_or(0, |trap| trap.connections().unwrap()), 0, "{reports:?}");

    let known = world.pages();
    let refused = known.iter().filter(|(url, _)| !url.starts_with("http://127.1.0."));
    let mut ways = BTreeMap::new();
    for (url, page) in refused {
        assert!(page["n"].is_null() && count(page, "failures") > Some(0), "{url}: {page}");
        *ways.entry(url.rsplit('/').next().unwrap()).or_insert(0) += 1;
    }
    // Several spellings are one address.
    let distinct = *ways.get("seed").expect("seeds");
    assert!(distinct > 25, "{ways:?}");
    assert!(ways.get("redirect").is_some_and(|n| *n > 15), "{ways:?}");
    assert!(count(&reports[0], "refused") >= Some(distinct), "{reports:?}");
    none_is_gone(&known);
    drop(world);

    // The traps do catch: where their address is allowed, they are met.
    let open =
        World::new(even_web(4, 4), "[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\ntimeout = \"1 s\"\n");
    open.seeds(&[target("seed", REFUSED[0])]);
    open.fruitless_cycle();
    assert!(trap.connections().unwrap() > 0);
}

/// Connections that fail before anything can be asked: TLS without trust, without TLS, without a word; and
/// nobody there at all.
#[test]
fn connections_that_come_to_nothing_fail_alone() {
    let world = World::new(even_web(20, 2), "");
    world.configure(
        "[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\nconnect_timeout = \"3 s\"\ntimeout = \"5 s\"\n",
    );
    let untrusted = SelfSigned::open(SocketAddr::from((Ipv4Addr::new(127, 1, 0, 1), 0))).unwrap();
    let silent = Trap::open("127.0.0.67:0".parse().unwrap()).unwrap();
    let vacant = {
        let taken = Trap::open("127.0.0.68:0".parse().unwrap()).unwrap();
        taken.address().unwrap()
    };
    let failing = [
        format!("https://{}/", untrusted.address()),
        format!("http://{}/", untrusted.address()),
        format!("https://127.1.0.1:{}/", world.server.port()),
        format!("https://{}/", silent.address().unwrap()),
        format!("http://{}/", silent.address().unwrap()),
        format!("http://{vacant}/"),
        format!("https://{vacant}/"),
    ];
    world.seeds(&[world.server.seeds(), all_urls(&world), failing.to_vec()].concat());
    let report = bounded_cycle(&world);
    assert_eq!(count(&report, "fetched"), Some(22), "{report}");
    let known = world.pages();
    for url in &failing {
        let page = &known[url];
        assert!(page["n"].is_null() && count(page, "failures") == Some(1), "{url}: {page}");
    }
    assert!(untrusted.connections() > 0 && silent.connections().unwrap() > 0);
    assert_eq!(untrusted.trusting(), 0);
    none_is_gone(&known);
}

/// The encodings of the Encoding Standard (§4.2) but `replacement`, which has no text.
const ENCODINGS: [&str; 39] = [
    "utf-8",
    "ibm866",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-8-i",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "x-mac-cyrillic",
    "gbk",
    "gb18030",
    "big5",
    "euc-jp",
    "iso-2022-jp",
    "shift_jis",
    "euc-kr",
    "utf-16be",
    "utf-16le",
    "x-user-defined",
];

/// A page says the same in every encoding, however that is told: it has the digest of its twin in UTF-8.
#[test]
fn every_encoding_of_the_encoding_standard_is_read() {
    let world = World::new(even_web(20, 1), LIMITS);
    let home = &world.server.seeds()[0];
    let ways = |encoding: &str| match encoding {
        "utf-8" => vec!["header", "meta", "mark", "not"],
        // A page that a meta element can be read from is not in UTF-16.
        "utf-16be" | "utf-16le" => vec!["header", "mark"],
        // Private, and never told by a page (HTML §13.2.3.2).
        "x-user-defined" => vec!["header"],
        // What a page without a label is in.
        "windows-1252" => vec!["header", "meta", "not"],
        _ => vec!["header", "meta"],
    };
    let place = |encoding: &str, way: &str| format!("charset/{encoding}/{way}");
    let rows: Vec<(&str, &str)> = ENCODINGS
        .iter()
        .flat_map(|e| ways(e).into_iter().chain(["twin"]).map(move |way| (*e, way)))
        .collect();
    let faults = rows.iter().map(|(e, way)| format!("1/{}=charset:{e}/{way}", place(e, way)));
    world.server.set_faults(faults.map(|rule| rule.parse().unwrap()).collect());
    world.seeds(&rows.iter().map(|(e, way)| format!("{home}{}", place(e, way))).collect::<Vec<_>>());
    let report = bounded_cycle(&world);
    assert_eq!(count(&report, "fetched"), Some(rows.len() as u64), "{report}");
    let pages = world.pages();
    for (encoding, way) in rows {
        let page = |way: &str| &pages[&format!("{home}{}", place(encoding, way))];
        assert_eq!(page(way)["digest"], page("twin")["digest"], "{encoding} told by {way}");
    }
    let different: BTreeSet<_> = pages.values().map(|p| p["digest"].to_string()).collect();
    assert!(different.len() > 20, "they say different things");
    assert!(pages.contains_key(&format!("{home}private/open-charset")), "links are read too");
}

/// A page at every address, robots.txt among them: it grows no further than it may, and the others go on.
#[test]
fn a_host_that_answers_everything_is_bounded() {
    let world = World::new(even_web(30, 3), &format!("{LIMITS}[scope]\nmax_pages_per_host = 60\n"));
    world.server.set_faults(vec!["1/=everything".parse().unwrap()]);
    for _ in 0..6 {
        world.server.advance().unwrap();
        bounded_cycle(&world);
    }
    let pages = world.pages();
    let (endless, others): (Vec<_>, Vec<_>) =
        pages.iter().partition(|(url, _)| url.starts_with(&world.server.seeds()[0]));
    assert!((50..=60).contains(&endless.len()), "{} pages", endless.len());
    let held = world.server.held().pages;
    let served = held.iter().filter(|page| page.held.is_some()).count();
    assert_eq!(served, 20, "every page of the other hosts was fetched");
    none_is_gone(others);
    none_is_gone(endless);
}

/// A host that is slow at everything, robots.txt too, and one that is so at all its pages: each costs its own
/// time-outs and no more.
#[test]
fn a_slow_host_costs_a_few_time_outs_of_its_own() {
    let settings = "[fetch]\ntimeout = \"5 s\"\n[politeness]\nhost_failures = 2\n";
    let world = World::new(even_web(60, 4), settings);
    world.seeds(&[world.server.seeds(), all_urls(&world)].concat());
    let rules = ["1/=slow:10", "2/robots.txt=status:404", "2/=slow:10"];
    world.server.set_faults(rules.map(|rule| rule.parse().unwrap()).into());
    let report = bounded_cycle(&world);
    let asked = |host| world.server.log(0).unwrap().iter().filter(|a| a.host_id == Some(host)).count();
    assert_eq!((asked(0), asked(1)), (1, 3), "robots.txt; robots.txt and two pages");
    assert_eq!(count(&report, "fetched"), Some(32), "the others were not held up: {report}");
    none_is_gone(&world.pages());
}

/// A thousand hosts that one machine serves.
#[test]
fn a_thousand_hosts_on_one_address() {
    let mut config = web(1_000, 1_000);
    config.domain = Some("mock.test".into());
    config.addresses = Some(1);
    let world = World::new(config, "");
    let names = world.server.names();
    let overrides: Vec<String> = names.iter().map(|(name, at)| format!("\"{name}\" = \"{at}\"")).collect();
    world.configure(&format!("[dns.overrides]\n{}\n", overrides.join("\n")));
    let report = bounded_cycle(&world);
    assert_eq!(count(&report, "fetched"), Some(1_000), "{report}");
    let violations = world.server.violations(Duration::ZERO);
    assert_eq!((violations.forbidden, violations.before_robots), (0, 0));
    assert_eq!(violations.max_requests_per_host, 1, "each has its own pace");
}

/// Faults of the hosts of a small hostile web: eight of 40 pages, of which two are sound, and behind them eight of one page,
/// of which four share a slow address.
const HOSTILE: [&str; 12] = [
    "1/0=flood:60",
    "2/=costly@0.05:hr",
    "3/=hollow@0.05:members",
    "4/=hollow@0.05:blocks",
    "5/=idle:1",
    "5/=timeout@0.05",
    "6/=busy@0.05:1",
    "7/=reset@0.05",
    "13/=slow:8000",
    "14/=slow:8000",
    "15/=slow:8000",
    "16/=slow:8000",
];

/// Six cycles of a web that is out for all that a crawler has: every page that robots.txt allows is covered, and no rule is
/// broken. `make hazards WEB=hostile` is the same at full size and under a deadline.
#[test]
fn a_hostile_web_is_covered() {
    let procedural = ProceduralConfig {
        pages: 8 * 40 + 8,
        hosts: 16,
        single_page_hosts: 8,
        seed: 7,
        page_bytes: 4_000,
        skew: 0.0,
        ..ProceduralConfig::default()
    };
    let web = Config::new(WebConfig::Procedural(procedural));
    let world = World::new(Config { domain: Some("mock.test".into()), crowd: 4, ..web }, "");
    let names = world.server.names();
    let overrides: Vec<String> = names.iter().map(|(name, at)| format!("\"{name}\" = \"{at}\"")).collect();
    world.configure(&format!(
        "[cycle]\nwarmup = 0\n\
         [fetch]\nopen_hosts = 8\ntimeout = \"3 s\"\n\
         [politeness]\nrobots_cache = \"1 ms\"\n\
         [scope]\nhosts = [\"*.mock.test\"]\n\
         [dns.overrides]\n{}\n",
        overrides.join("\n")
    ));
    let seeds = world.server.seeds();
    world.seeds(&[seeds.clone(), vec![format!("{}0", seeds[0])]].concat());
    let always = HOSTILE.map(str::to_owned).to_vec();
    // When all that is known is known, robots.txt of two hosts cannot be had.
    let passing = ["6/robots.txt=busy:1", "8/robots.txt=busy:1"].map(str::to_owned).to_vec();
    for cycle in 1..=6 {
        let rules = if cycle == 5 { [passing.clone(), always.clone()].concat() } else { always.clone() };
        world.server.set_faults(rules.iter().map(|rule| rule.parse().unwrap()).collect());
        world.server.advance().unwrap();
        bounded_cycle(&world);
    }
    let log = world.server.log(0).unwrap();
    // A page in whose place a fault came is none that could be had; a request that was lost is no such excuse.
    let is_struck = |fault: &str| !matches!(fault, "idle" | "flood");
    let struck: BTreeSet<String> = log
        .iter()
        .filter(|access| access.fault.as_deref().is_some_and(is_struck))
        .map(|access| format!("http://{}{}", access.host, access.path))
        .collect();
    let held = world.server.held().pages;
    let lacking = held.iter().filter(|page| page.held.is_none()).map(|page| world.server.url(page.page_id));
    let (excused, missed): (Vec<String>, Vec<String>) = lacking.partition(|url| struck.contains(url));
    let floods = log.iter().filter(|access| access.fault.as_deref() == Some("flood")).count();
    let manners = world.server.violations(Duration::ZERO);
    println!(
        "{} pages missed, {} excused, of {}; {floods} of {} requests in floods, {} against robots.txt",
        missed.len(),
        excused.len(),
        held.len(),
        log.len(),
        manners.forbidden
    );
    assert_eq!(missed, [""; 0]);
    assert!(excused.len() < 20, "{excused:?}");
    assert!((100..1_000).contains(&floods), "{floods} requests in floods");
    assert_eq!((manners.forbidden, manners.before_robots), (0, 0));
    // A host may be asked again, without a delay, before its server sees that a request was given up.
    assert!(manners.max_requests_per_host <= 2, "{} at once", manners.max_requests_per_host);
    world.is_sound();
}

/// Pages are read in an order that is fair by site. Nine hosts of 20 pages are asked as fast as they answer, and the pages
/// of two of them take a hundred times the work of others; at the end nothing else is left.
#[test]
fn a_host_of_costly_pages_delays_itself() {
    let world = World::new(even_web(180, 9), "[cycle]\npages = \"100%\"\n[storage]\narchive = false\n");
    world.warm_up();
    world.server.set_faults(["1/=costly:hr", "2/=costly:hr"].map(|rule| rule.parse().unwrap()).to_vec());
    world.server.reset_log().unwrap();
    let report = world.next_cycle();
    assert_eq!(count(&report, "failed"), Some(0), "{report}");
    let log = world.server.log(0).unwrap();
    let is_costly = |place: &usize| log[*place].fault.as_deref() == Some("costly");
    let (costly, others): (Vec<usize>, Vec<usize>) =
        (0..log.len()).filter(|place| log[*place].path != "/robots.txt").partition(is_costly);
    let last = *others.last().expect("there are others");
    let before = costly.iter().filter(|place| **place < last).count();
    println!(
        "{before} of {} costly pages were asked for before the last of {} others",
        costly.len(),
        others.len()
    );
    assert!(costly.len() >= 40 && others.len() >= 140, "{} and {}", costly.len(), others.len());
    assert!(before <= costly.len() / 2, "{before} of {} before the last of the others", costly.len());
}
