//! What owners want: wishes that pages carry, hosts that opted out, and whom to turn to.

use crate::harness::{World, count, fails, json_lines, program, serve_each, succeeds, web};
use recrawl_mockweb::trap::Trap;
use recrawl_mockweb::{Config, Validators};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Everything is visited in every cycle.
const ALL: &str = "[cycle]\npages = \"100%\"\n";

/// A web of which every page is a seed, with one wish on each of the first lone pages; their addresses.
fn wishing(world: &World, wishes: &[&str]) -> Vec<String> {
    let pages: Vec<u32> = world.lone_pages().into_iter().take(wishes.len()).collect();
    assert_eq!(pages.len(), wishes.len(), "a page for each wish");
    let rule = |(page, wish): (&u32, &&str)| world.fault_on(*page, &format!("wishes:{wish}"));
    world.server.set_faults(pages.iter().zip(wishes).map(rule).collect());
    let urls: Vec<String> = pages.iter().map(|page| world.server.url(*page)).collect();
    world.seeds(&urls);
    urls
}

fn explain(world: &World, url: &str) -> Value {
    serde_json::from_str(&succeeds(world.run(&["explain", url, "--json"]))).expect("JSON")
}

/// Directives by header, by markup, to everybody and to us; each recorded, counted, obeyed and explained.
#[test]
fn what_a_page_asks_for_is_recorded_obeyed_and_shown() {
    const WISHES: [(&str, [bool; 3]); 10] = [
        ("x-robots-tag: noindex", [true, false, false]),
        (
            "x-robots-tag: otherbot: noindex, nofollow | x-robots-tag: recrawl: noarchive",
            [false, false, true],
        ),
        ("x-robots-tag: noindex | x-robots-tag: nofollow", [true, true, false]),
        ("x-robots-tag: noindex | content-type: application/pdf", [true, false, false]),
        ("<meta name=robots content=none>", [true, true, false]),
        ("<meta name=robots content='nofollow'><meta name=recrawl content='noindex'>", [true, true, false]),
        (
            "<meta name=robots content='noindex, noarchive'> | x-robots-tag: recrawl: all",
            [false, false, false],
        ),
        ("<meta name=otherbot content=none>", [false, false, false]),
        ("<meta name=robots content='unavailable_after: 2020-01-02'>", [false, false, false]),
        ("<meta name=robots content='unavailable_after: 2999-01-02'>", [false, false, false]),
    ];
    // A body that was not archived comes again only where nothing says 304.
    let world = World::new(Config { validators: Validators::None, ..web(60, 1) }, ALL);
    let urls = wishing(&world, &WISHES.map(|(wish, _)| wish));
    let report = world.crawl(1).remove(0);
    assert_eq!(count(&report, "fetched"), Some(10), "{report}");
    // The date of 2020 is past.
    assert_eq!((count(&report, "noindex"), count(&report, "nofollow")), (Some(6), Some(3)), "{report}");
    assert_eq!((count(&report, "noarchive"), count(&report, "duplicates")), (Some(1), Some(0)), "{report}");
    let pages = world.pages();
    for (url, (wish, [noindex, nofollow, noarchive])) in urls.iter().zip(WISHES) {
        let page = &pages[url];
        let flags = [&page["noindex"], &page["nofollow"], &page["noarchive"]];
        assert_eq!(flags, [&json!(noindex), &json!(nofollow), &json!(noarchive)], "{wish}");
        let is_archived = !(noindex || noarchive || wish.contains("2020"));
        assert_eq!(page["warc_file"].is_null(), !is_archived, "{wish}");
        assert_eq!(page["first"], 1, "it is visited all the same: {wish}");
    }
    assert_eq!(pages[&urls[8]]["unavailable_after"], 1_577_923_200);
    let explained = succeeds(world.run(&["explain", &urls[4]]));
    assert!(explained.contains("directives  noindex, nofollow"), "{explained}");

    // Not obeyed, they are recorded all the same.
    world.configure(&format!("{ALL}[consent]\nnoindex = false\nnoarchive = false\n"));
    world.server.advance().unwrap();
    world.crawl(1);
    let pages = world.pages();
    assert!(urls.iter().all(|url| pages[url]["warc_file"].is_u64()), "all are archived");
    assert_eq!(pages[&urls[0]]["noindex"], true);
}

/// Links of a page that says nofollow, and links that say so themselves.
#[test]
fn links_are_followed_as_far_as_their_page_and_they_themselves_allow() {
    for (settings, head, expected) in [
        ("", "<title>x</title>", &["plain"][..]),
        ("", "<meta name=robots content=nofollow>", &[]),
        ("link_nofollow = false", "<title>x</title>", &["nofollow", "plain", "sponsored", "ugc"]),
        ("nofollow = false", "<meta name=robots content=nofollow>", &["plain"]),
    ] {
        let world = World::new(web(20, 1), &format!("[consent]\n{settings}\n"));
        wishing(&world, &[head]);
        world.crawl(1);
        let pages = world.pages();
        let found = pages.keys().filter_map(|url| url.split("/private/open-").nth(1));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{settings} {head}");
    }
}

/// A header may change while the page does not: a 304 brings wishes too, and an archived body is let go of.
#[test]
fn not_modified_brings_wishes_too() {
    let world = World::new(web(20, 1), ALL);
    let page = world.lone_pages()[0];
    let url = world.server.url(page);
    world.seeds(std::slice::from_ref(&url));
    world.crawl(1);
    assert!(world.pages()[&url]["warc_file"].is_u64());
    world.server.set_faults(vec![world.fault_on(page, "wishes:x-robots-tag: noindex")]);
    // The clock stands still, so that the server has nothing new to say.
    let report = world.crawl(1).remove(0);
    assert!(count(&report, "not_modified") > Some(0), "{report}");
    let after = &world.pages()[&url];
    assert_eq!((&after["noindex"], after["warc_file"].is_null()), (&json!(true), true), "{after}");
}

/// Claims by markup and header, to itself, in a circle, to a page that leads on, of another site, several.
#[test]
fn canonical_claims_are_recorded_taken_as_links_and_put_to_the_test() {
    let mut config = web(60, 2);
    config.domain = Some("mock.test".into());
    let world = World::new(config, ALL);
    let overrides: Vec<String> =
        world.server.names().iter().map(|(name, at)| format!("\"{name}\" = \"{at}\"")).collect();
    let port = world.server.port();
    let names = format!("{ALL}[dns.overrides]\n{}\n", overrides.join("\n"));
    world.configure(&names);
    let lone: Vec<u32> =
        world.lone_pages().into_iter().filter(|p| world.server.url(*p).contains("//h1.")).take(6).collect();
    let urls: Vec<String> = lone.iter().map(|page| world.server.url(*page)).collect();
    let link = |to: &str| format!("<link rel=canonical href={to}>");
    let (elsewhere, found) =
        (format!("http://h2.mock.test:{port}/"), format!("http://h1.mock.test:{port}/private/open-found"));
    let wishes = [
        link(&urls[1]),
        link(&urls[0]),
        link(&urls[2]),
        format!("link: <{}>; rel=\"canonical\"", urls[0]),
        format!("link: <{found}>; rel=\"next canonical\""),
        format!("{} | link: <{elsewhere}>; rel=canonical", link(&urls[2])),
    ];
    let rules = lone.iter().zip(&wishes).map(|(page, wish)| world.fault_on(*page, &format!("wishes:{wish}")));
    world.server.set_faults(rules.collect());
    world.seeds(&urls);
    let report = world.crawl(1).remove(0);
    assert_eq!(count(&report, "duplicates"), Some(4), "{report}");
    let pages = world.pages();
    let claims: Vec<&Value> = urls.iter().map(|url| &pages[url]["canonical_claim"]).collect();
    assert_eq!(claims, ["other", "other", "itself", "other", "other", "contradictory"]);
    assert_eq!(pages[&urls[0]]["canonical"], urls[1].as_str());
    assert!(pages.contains_key(&found), "the claim of a header is a link");
    let standing = |url: &str| explain(&world, url)["canonical_standing"].clone();
    assert_eq!([standing(&urls[0]), standing(&urls[1]), standing(&urls[3])], ["circle", "circle", "circle"]);
    assert_eq!([standing(&urls[4]), standing(&urls[2])], [json!("unvisited"), Value::Null]);
    world.crawl(1);
    assert_eq!(explain(&world, &urls[4])["canonical_standing"], "agrees");
    let explained = succeeds(world.run(&["explain", &urls[5]]));
    assert!(explained.contains("canonical   several conflicting URLs"), "{explained}");
    assert_eq!(count(&explain(&world, &urls[0]), "cycle"), Some(3), "a duplicate is a page like any other");
}

fn opt_out_file(world: &World) -> PathBuf {
    world.folder.path().join("opted-out.txt")
}

/// By the mock web's own log: no page, no robots.txt, whatever leads there; from the next cycle on.
#[test]
fn nothing_is_sent_to_a_host_whose_owner_opted_out() {
    let world = World::new(web(30, 3), "");
    let settings = format!("{ALL}[scope]\nhosts = [\"*\"]\nopt_out = {:?}\n", opt_out_file(&world));
    world.configure(&settings);
    let list = |text: &str| std::fs::write(opt_out_file(&world), text).unwrap();
    let asked = |host| world.server.log(0).unwrap().iter().filter(|a| a.host_id == Some(host)).count();
    let home = world.server.seeds();
    // Host 1 sends pages to host 2, and its robots.txt to host 3.
    let lone = world.lone_pages();
    let redirecting = lone.iter().find(|p| world.server.url(**p).contains("//127.1.0.1:")).unwrap();
    world.server.set_faults(vec![world.fault_on(*redirecting, &format!("redirect:{}moved", home[1]))]);
    world.seeds(&[home.clone(), vec![world.server.url(*redirecting)]].concat());
    list("# asked us by mail\n127.1.0.2\n");
    for _ in 0..2 {
        world.crawl(1);
    }
    assert!(asked(0) > 3 && asked(2) > 3);
    assert_eq!(asked(1), 0, "neither page nor robots.txt");
    assert!(
        world.pages().keys().all(|url| !url.contains("//127.1.0.2:") || url.ends_with("moved")),
        "nor is it known"
    );
    let told = succeeds(world.run(&["status", "--host", "127.1.0.2"]));
    assert!(told.contains("opted out") && told.contains("line 2"), "{told}");

    // One that was crawled until now; read again at the next cycle, in the same run too.
    list("127.1.0.2\n127.1.0.3\n");
    let before = asked(2);
    let reports = world.crawl(2);
    assert_eq!((asked(1), asked(2)), (0, before), "{reports:?}");
    assert!(count(&reports[0], "opted_out") > Some(0), "{reports:?}");
    let explained = explain(&world, &home[2]);
    assert_eq!(explained["in_scope"], false);
    assert_eq!(explained["stopped_by"][0]["gate"], "opted_out", "{explained}");
    assert!(explained["stopped_by"][0]["evidence"].as_str().unwrap().contains("line 2"), "{explained}");
    assert!(
        explained["visited_next"].as_str().is_some_and(|v| v.starts_with("never: opted out")),
        "{explained}"
    );
    let told = succeeds(world.run(&["status", "--host", "127.1.0.3", "--json"]));
    assert!(told.contains("opted_out") && told.contains("line 2"), "{told}");

    // A list that cannot be read in full stops the crawl before anything is asked.
    list("127.1.0.2\nhttp://127.1.0.3/\n");
    let everything = world.server.log(0).unwrap().len();
    let error = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(error.contains("opted-out.txt") && error.contains("line 2"), "{error}");
    std::fs::remove_file(opt_out_file(&world)).unwrap();
    assert!(fails(world.crawl_command(1).output().unwrap(), 2).contains("opted-out.txt"));
    assert_eq!(world.server.log(0).unwrap().len(), everything);

    // robots.txt that lies where nobody may be asked cannot be had.
    list("127.1.0.2\n");
    let fresh = World { data_dir: world.folder.path().join("fresh"), ..world };
    fresh.server.set_faults(vec![format!("1/robots.txt=redirect:{}robots.txt", home[1]).parse().unwrap()]);
    fresh.seeds(&home[..1]);
    let report = fresh.fruitless_cycle();
    assert_eq!(
        (count(&report, "fetched"), count(&report, "robots_unreachable")),
        (Some(0), Some(1)),
        "{report}"
    );
    assert_eq!(fresh.server.log(0).unwrap().iter().filter(|a| a.host_id == Some(1)).count(), 0);
}

/// Outside the loopback nobody is asked before there is a contact: said before anything is touched, and held
/// where connections are made.
#[test]
fn nobody_outside_the_loopback_is_asked_by_a_stranger() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    // The first look is over.
    std::fs::create_dir(&data_dir).unwrap();
    std::fs::write(data_dir.join("first-look.json"), "{\"requests\":100,\"hosts\":[]}").unwrap();
    for seed in ["https://example.com/", "http://9.9.9.9/", "http://10.0.0.1/"] {
        let mut command = program();
        command.args(["crawl", "--cycles", "1", "--seed", seed, "--data-dir"]).arg(&data_dir);
        let error = fails(command.output().unwrap(), 2);
        assert!(error.contains("crawler.contact") && error.contains("--contact"), "{error}");
        assert!(error.contains("the first 100 requests, which need no contact, are made"), "{error}");
        assert_eq!(std::fs::read_dir(&data_dir).unwrap().count(), 1, "nothing was touched");
    }

    // A name that leads out of the loopback, met only by a redirect; its address is even allowed.
    let trap = Trap::open("127.0.0.66:0".parse().unwrap()).unwrap();
    let world = World::new(web(20, 1), "");
    world.configure(
        "[scope]\nhosts = [\"*\"]\n[fetch]\nallow_addresses = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\ntimeout = \"60 s\"\n\
         [dns.overrides]\n\"out.test\" = \"10.11.12.13\"\n",
    );
    let page = world.lone_pages()[0];
    let target = format!("http://out.test:{}/", trap.address().unwrap().port());
    world.server.set_faults(vec![world.fault_on(page, &format!("redirect:{target}"))]);
    world.seeds(&[world.server.url(page)]);
    let report = world.crawl(1).remove(0);
    assert_eq!((count(&report, "redirected"), count(&report, "refused")), (Some(1), Some(1)), "{report}");
    assert_eq!(count(&world.pages()[&target], "failures"), Some(1));
    // From then on it is known; but what a page linked to does not end the crawl of a web of our own.
    let (_, again) = (world.crawl(1), world.crawl(1).remove(0));
    assert_eq!(
        (count(&again, "fetched").is_some(), count(&world.pages()[&target], "n")),
        (true, None),
        "{again}"
    );
    assert_eq!(trap.connections().unwrap(), 0);
}

/// Without a contact: a hundred requests to the hosts of the seeds, whatever is started anew; then the contact is asked
/// for, and the crawl goes on with it. Names outside the loopback lead to a proxy on it.
#[test]
fn a_first_look_needs_no_contact_and_is_a_hundred_requests_long() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::<String>::new()));
    let log = asked.clone();
    serve_each(listener, move |target, _| {
        log.lock().unwrap().push(target.to_owned());
        let page = target.rsplit('/').next().unwrap_or_default().parse().unwrap_or(0);
        let links: String = (1..=3).map(|n| format!("<a href='/{}'>x</a>", page * 3 + n)).collect();
        let other = "<a href='http://sub.look.test/'>other</a>";
        ("text/html", String::new(), format!("<title>{page}</title><p>page {page} {links} {other}"))
    });
    let world = World::new(web(2, 1), "");
    let configure = |contact: &str| {
        let fill = "[cycle]\nfill = true\nfill_pages = 150\n[hints]\nsitemaps = false\n";
        world.configure(&format!("{fill}[proxy]\nurl = \"http://{proxy}\"\n{contact}"));
    };
    configure("");
    let crawl = || world.run(&["crawl", "http://look.test/", "--cycles", "1"]);
    let line = fails(crawl(), 1);
    assert!(line.contains("the first 100 requests") && line.contains("crawler.contact"), "{line}");
    let count = || asked.lock().unwrap().len();
    assert_eq!(count(), 100, "robots.txt among them: {:?}", asked.lock().unwrap());
    assert!(asked.lock().unwrap().iter().all(|target| target.starts_with("http://look.test/")));
    assert!(world.pages().values().filter(|page| page["n"].is_u64()).count() >= 90, "they are committed");
    let line = fails(crawl(), 2);
    assert!(line.contains("the first 100 requests"), "a restart renews nothing: {line}");
    assert_eq!(count(), 100);
    let health = || world.status()["health"].clone();
    assert_eq!(health()["level"], "amber");
    assert!(health()["reason"].as_str().unwrap().contains("set crawler.contact"), "{}", health());
    configure("[crawler]\ncontact = \"me@example.org\"");
    assert_eq!(health()["level"], "green");
    // The rest of the cycle is the one that ends; then a whole one.
    let cycles = || {
        let text = succeeds(world.run(&["crawl", "--cycles", "1", "--json"]));
        json_lines(&text).iter().map(|report| report["cycle"].as_u64().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(cycles(), [1].into());
    let asked_first = count();
    assert!(asked_first > 120, "{asked_first}");
    assert_eq!(cycles(), [2].into());
    assert!(count() > asked_first, "it asks pages again");
}
