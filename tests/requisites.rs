//! Requisites of pages: asked for by the crawl's manners, once a round, archived beside the pages, and no pages themselves.

use crate::api::ask;
use crate::crash::{Moment, setting};
use crate::daemon::{Daemon, world_of};
use crate::harness::{World, count, fails, misused, succeeds, web};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

const RULE: &str = "[cycle]\npages = \"100%\"\n[[pages]]\nmatch = \"*\"\nrequisites = true\n";
const PLAIN: &str = "[cycle]\npages = \"100%\"\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A file of the site: its type, further header fields, its body.
#[derive(Clone)]
struct File(&'static str, &'static str, Vec<u8>);

fn file(kind: &'static str, body: impl AsRef<[u8]>) -> File {
    File(kind, "", body.as_ref().to_vec())
}

/// A site on loopback. Its entity tags are those of its bodies.
struct Site {
    home: String,
    files: Arc<Mutex<BTreeMap<String, File>>>,
    /// Each request: its target, and whether it was conditional.
    log: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Site {
    fn start<'f>(files: impl IntoIterator<Item = (&'f str, File)>) -> Site {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let home = format!("http://{}", listener.local_addr().unwrap());
        let files = files.into_iter().map(|(target, file)| (target.to_owned(), file));
        let files = Arc::new(Mutex::new(files.collect::<BTreeMap<_, _>>()));
        let log = Arc::new(Mutex::new(Vec::new()));
        let site = Site { home, files: files.clone(), log: log.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while stream.read_line(&mut head).is_ok_and(|read| read > 2) {}
                let Some(target) = head.split(' ').nth(1) else { continue };
                let asked = head.lines().find_map(|line| line.strip_prefix("if-none-match: "));
                log.lock().unwrap().push((target.to_owned(), asked.is_some()));
                let file = files.lock().unwrap().get(target).cloned();
                let answer = file.map_or_else(
                    || b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
                    |file| answer(&file, asked),
                );
                // The crawler may have gone.
                let _ = stream.get_mut().write_all(&answer);
            }
        });
        site
    }

    fn put(&self, target: &str, file: File) {
        self.files.lock().unwrap().insert(target.to_owned(), file);
    }

    /// The requests since the last call, robots.txt left out, in order of their targets.
    fn asked(&self) -> Vec<(String, bool)> {
        let mut asked = std::mem::take(&mut *self.log.lock().unwrap());
        asked.retain(|(target, _)| target != "/robots.txt");
        asked.sort();
        asked
    }
}

fn answer(File(kind, fields, body): &File, asked: Option<&str>) -> Vec<u8> {
    let tag = format!("\"{}-{}\"", body.len(), body.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    let is_same = asked == Some(&tag) && !fields.contains("no-store");
    let is_redirect = fields.contains("Location");
    let status = if is_same {
        "304 Not Modified"
    } else if is_redirect {
        "302 Found"
    } else {
        "200 OK"
    };
    let body: &[u8] = if is_same { b"" } else { body };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nETag: {tag}\r\nConnection: close\r\n{fields}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A site of two pages that share a style sheet.
fn site() -> Site {
    let page = |own: &str| {
        file(
            "text/html",
            format!(
                "<title>x</title><link rel=stylesheet href=/main.css><p>Words of a page {own}<a href=/a>a</a><a href=/b>b</a>\
                 <img src={own}.png><img src=/gone.png><img src=/error.png><img src=/private/x.png>\
                 <img src=http://10.9.8.7/inside.png><img src='data:image/png;base64,AAAA'><img src=/moved.png>\
                 <img src=/hidden.png><script src=/s.js></script>"
            ),
        )
    };
    Site::start([
        ("/robots.txt", file("text/plain", "User-agent: *\nDisallow: /private/")),
        ("/", page("home")),
        ("/a", page("a")),
        ("/b", page("b")),
        (
            "/main.css",
            file("text/css", "@import 'main.css'; @import 'more.css'; p { background: url(ground.png) }"),
        ),
        ("/more.css", file("text/css", "@import '/main.css'; @font-face { src: url(f.woff) }")),
        ("/f.woff", File("font/woff", "Cache-Control: max-age=86400\r\n", b"wOFF".to_vec())),
        ("/ground.png", File("image/png", "Cache-Control: no-store\r\n", PNG.to_vec())),
        ("/home.png", file("image/png", PNG)),
        ("/a.png", file("image/png", PNG)),
        ("/b.png", file("image/png", PNG)),
        ("/moved.png", File("text/plain", "Location: /target.png\r\n", Vec::new())),
        ("/target.png", file("image/png", PNG)),
        ("/hidden.png", File("image/png", "X-Robots-Tag: noarchive\r\n", PNG.to_vec())),
        ("/error.png", file("text/html", "<p>no such image")),
        ("/private/x.png", file("image/png", PNG)),
        ("/s.js", file("text/javascript", "alert(1)")),
    ])
}

fn crawl_of(site: &Site, settings: &str) -> World {
    let world = world_of(web(1, 1), settings);
    world.seeds(&[format!("{}/", site.home)]);
    world
}

/// All captures with a body in the archive: target and type of the record.
fn captures(world: &World, site: &Site) -> Vec<(String, String)> {
    let index = succeeds(world.run(&["export", "cdxj", "--out", "-"]));
    let fields = index.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap());
    let fields = fields.map(|fields| serde_json::from_str::<Value>(fields).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().replace(&site.home, "");
    let mut all: Vec<_> = fields.map(|fields| (text(&fields["url"]), text(&fields["mime"]))).collect();
    all.sort();
    all
}

fn figures(report: &Value) -> [u64; 6] {
    ["requested", "archived", "same", "refused", "failed", "left_out"]
        .map(|name| count(report, &format!("requisites_{name}")).unwrap_or(0))
}

/// The data that a schedule is made of, without what tells the time and the place in the archive.
fn schedules(world: &World, site: &Site) -> String {
    let mut pages = world.pages();
    let volatile = ["last_visit", "last_fetched", "archived", "warc_file", "warc_offset", "time", "took"];
    for page in pages.values_mut() {
        let page = page.as_object_mut().unwrap();
        page.retain(|name, _| !volatile.iter().any(|volatile| name.contains(volatile)));
    }
    format!("{pages:?}").replace(&site.home, "")
}

#[test]
fn they_are_asked_for_once_a_round_by_the_rules_of_pages_and_are_no_pages() {
    let site = site();
    let world = crawl_of(&site, RULE);
    let reports = world.crawl(2);
    let targets: Vec<String> = site.asked().into_iter().map(|(target, _)| target).collect();
    let mut once = targets.clone();
    once.dedup();
    let pages = ["/", "/a", "/b"];
    let expected = [
        "/",
        "/a",
        "/a.png",
        "/b",
        "/b.png",
        "/error.png",
        "/f.woff",
        "/gone.png",
        "/ground.png",
        "/hidden.png",
        "/home.png",
        "/main.css",
        "/more.css",
        "/moved.png",
        "/s.js",
        "/target.png",
    ];
    assert_eq!(once, expected);
    // In two rounds: the home page loads in the first, all in the second.
    assert!(targets.iter().filter(|target| !pages.contains(&&***target)).count() <= 2 * expected.len());
    let [_, archived, _, refused, failed, left_out] = figures(&reports[0]);
    // Archived: two style sheets, the font, the ground, the page's image, a redirect and its target, the script.
    // Refused: the error page, what may not be archived, robots.txt, the private address. Failed: what is gone.
    assert_eq!((archived, refused, failed, left_out), (8, 4, 1, 0), "{}", reports[0]);
    assert_eq!(world.pages().len(), pages.len(), "requisites are no pages");
    let captured: BTreeSet<String> = captures(&world, &site).into_iter().map(|(target, _)| target).collect();
    let not_archived = ["/error.png", "/gone.png", "/hidden.png"];
    let kept: BTreeSet<String> = expected
        .iter()
        .filter(|target| !not_archived.contains(target))
        .map(|target| (*target).into())
        .collect();
    assert_eq!(captured, kept);

    // Nothing has changed: what is fresh is not asked for, what has a validator is confirmed.
    let report = world.crawl(1).remove(0);
    let asked = site.asked();
    assert!(!asked.iter().any(|(target, _)| target == "/f.woff"), "{asked:?}");
    // The home page asked twice for what fails: it rests longer now.
    for failed in ["/gone.png", "/error.png", "/hidden.png"] {
        assert!(!asked.iter().any(|(target, _)| target == failed), "{asked:?}");
    }
    assert!(asked.contains(&("/main.css".into(), true)) && asked.contains(&("/a.png".into(), true)));
    let shared = asked.iter().filter(|(target, _)| target == "/main.css").count();
    assert_eq!((shared, count(&report, "changed")), (1, Some(0)), "{asked:?}");
    // Nor has it a record, whether its server said so or sent the same body again.
    assert!(asked.iter().any(|(target, _)| target == "/ground.png"), "{asked:?}");
    let again = captures(&world, &site);
    let revisited = again.iter().find(|(target, mime)| mime == "warc/revisit" && !pages.contains(&&**target));
    assert_eq!(revisited, None);

    // The same crawl without the rule: the same schedule, and no request or record of a requisite.
    let plain = crawl_of(&site, PLAIN);
    let plain_reports = plain.crawl(3);
    assert!(site.asked().iter().all(|(target, _)| pages.contains(&&**target)));
    assert_eq!(schedules(&plain, &site), schedules(&world, &site));
    assert!(captures(&plain, &site).iter().all(|(target, _)| pages.contains(&&**target)));
    for report in plain_reports {
        assert!(report.as_object().unwrap().keys().all(|key| !key.starts_with("requisites")), "{report}");
    }
    world.is_sound();
}

#[test]
fn what_a_page_may_load_is_bounded_and_told() {
    let images: String = (0..100_000).map(|n| format!("<img src=/i{n}.png>")).collect();
    let site = Site::start([
        ("/", file("text/html", format!("<p>Words<link rel=stylesheet href=/large.css>{images}"))),
        ("/large.css", file("text/css", "a{color:red}".repeat(20_000))),
    ]);
    let settings =
        format!("{RULE}[requisites]\nmax_per_page = 20\nmax_per_round = 15\nmax_body = \"100 KiB\"\n");
    let world = crawl_of(&site, &settings);
    let report = world.crawl(1).remove(0);
    let asked = site.asked();
    assert_eq!(asked.len(), 1 + 15, "{asked:?}");
    assert!(asked.iter().any(|(target, _)| target == "/large.css"), "style sheets come first");
    assert_eq!(figures(&report), [15, 0, 0, 1, 14, 100_001 - 15], "{report}");
    assert_eq!(count(&report, "fetched"), Some(1));
}

#[test]
fn what_changes_at_every_visit_changes_no_page_and_each_version_keeps_its_look() {
    let site = Site::start([
        ("/", file("text/html", "<p>Words<link rel=stylesheet href=/x.css><img src=/x.png>")),
        (
            "/x.css",
            file("text/css", "p { color: #000001 } q { background: url(http://127.0.0.1:9/leak.png) }"),
        ),
        (
            "/x.png",
            file("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
        ),
    ]);
    let world = crawl_of(&site, RULE);
    world.crawl(1);
    site.put("/x.css", file("text/css", "p { color: #000002 }"));
    let report = world.crawl(1).remove(0);
    assert_eq!((count(&report, "changed"), count(&report, "unchanged")), (Some(0), Some(1)));
    let url = format!("{}/", site.home);
    let daemon = Daemon::start(&world);
    let query = url.bytes().fold("url=".to_owned(), |query, byte| format!("{query}%{byte:02X}"));
    let versions = daemon.get(&format!("/api/v1/versions?{query}"));
    let version = &versions["versions"][0];
    let (number, offset) = (&version["warc_file"], &version["warc_offset"]);
    let path = format!("/archived?{query}&warc_file={number}&warc_offset={offset}");
    let shown = ask(&daemon.address, "GET", &path, false, "");
    // The page was fetched in the round of the first style sheet.
    assert!(shown.body.contains("<style>p { color: #000001 } q"), "{}", shown.body);
    assert!(shown.body.contains("src=\"data:image/svg+xml;base64,"), "{}", shown.body);
    assert!(!shown.body.contains("<script") && !shown.body.contains("leak"), "{}", shown.body);
    assert!(shown.body.contains("Scripts do not run, forms and links do nothing."), "{}", shown.body);
    daemon.stop();

    // A package of one host has what its pages need, and that of a day what there was at its end.
    let package = world.folder.path().join("x.wacz");
    let package = package.to_str().unwrap();
    let exported =
        |words: &[&str]| succeeds(world.run(&[&["export", "wacz", "--out", package], words].concat()));
    assert!(
        exported(&["--host", "127.0.0.1"]).starts_with("4 captures"),
        "a page, two style sheets, an image"
    );
    assert!(exported(&["--at", "2099-01-01"]).starts_with("3 captures"));
    // The page changes, too: each version has the style sheet of its round.
    site.put("/", file("text/html", "<p>Other words<link rel=stylesheet href=/x.css><img src=/x.png>"));
    site.put("/x.css", file("text/css", "p { color: #000003 }"));
    world.crawl(1);
    let daemon = Daemon::start(&world);
    let versions = daemon.get(&format!("/api/v1/versions?{query}"));
    for (version, color) in [(0, "#000003"), (1, "#000001")] {
        let version = &versions["versions"][version];
        let (number, offset) = (&version["warc_file"], &version["warc_offset"]);
        let path = format!("/archived?{query}&warc_file={number}&warc_offset={offset}");
        let shown = ask(&daemon.address, "GET", &path, false, "");
        assert!(shown.body.contains(color) && !shown.body.contains("#000002"), "{}", shown.body);
    }
    daemon.stop();
    let none = fails(world.run(&["export", "wacz", "--out", package, "--at", "2000-01-01"]), 1);
    assert!(none.contains("nothing to export"), "{none}");
    let unread = misused(world.run(&["export", "wacz", "--out", package, "--at", "last week"]));
    assert!(unread.contains("write a day (2026-01-31)"), "{unread}");
    let today = succeeds(world.run(&["export", "wacz", "--out", package, "--at", "today"]));
    assert!(today.contains("captures"), "{today}");
}

#[test]
fn a_takedown_of_requisites_leaves_nothing_of_them_and_the_page() {
    let site = site();
    site.put("/", file("text/html", "<p>x<link rel=stylesheet href=/main.css><img src='/b.png?sid=7&x=1'>"));
    site.put("/b.png?sid=7&x=1", file("image/png", PNG));
    let world = crawl_of(&site, RULE);
    world.crawl(1);
    // The crawl's rules leave `sid` out of pages' URLs, and not of those of requisites.
    let image = format!("{}/b.png?sid=7&x=1", site.home);
    assert!(captures(&world, &site).iter().any(|(target, _)| target.contains("sid=7")));
    let said = succeeds(world.run(&["takedown", "--page", &image]));
    assert!(said.contains("1 requisite"), "{said}");
    assert!(captures(&world, &site).iter().all(|(target, _)| !target.contains("sid=7")));
    let style = format!("{}/main.css", site.home);
    let said = succeeds(world.run(&["takedown", "--page", &style]));
    assert!(said.contains("1 requisite"), "{said}");
    let left: Vec<String> = captures(&world, &site).into_iter().map(|(target, _)| target).collect();
    assert!(!left.contains(&"/main.css".into()) && left.contains(&"/".into()), "{left:?}");
    site.asked();
    world.crawl(1);
    let asked = site.asked();
    let is_down = |target: &str| target == "/main.css" || target.contains("sid=7");
    assert!(asked.iter().all(|(target, _)| !is_down(target)), "nor asked for again: {asked:?}");
    world.is_sound();
}

#[test]
fn without_an_archive_they_are_refused_as_a_mistake() {
    let site = Site::start([]);
    let world = crawl_of(&site, &format!("{RULE}[storage]\narchive = false\n"));
    let said = fails(world.run(&["config", "check"]), 2);
    assert!(said.contains("storage.archive = true"), "{said}");
}

/// A row is written when its record is durable, and a page when its requisites are recorded. So wherever it is killed, no row
/// leads nowhere, and the next start asks for what is missing.
#[test]
fn a_kill_at_any_moment_leaves_no_row_without_its_record() {
    let site = site();
    let settings = format!("{RULE}[storage]\nsync_every = \"10 ms\"\n");
    let world = crawl_of(&site, &settings);
    for moment in [1, 2, 4, 7, 10, 13, 16] {
        let mut child = world.spawn_crawl(1);
        while child.try_wait().unwrap().is_none() && site.log.lock().unwrap().len() < moment {
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        site.asked();
        if world.data_dir.join("MANIFEST").exists() {
            world.is_sound();
        }
    }
    world.crawl(3);
    world.is_sound();
    let captured: BTreeSet<String> = captures(&world, &site).into_iter().map(|(target, _)| target).collect();
    for target in [
        "/",
        "/a",
        "/b",
        "/main.css",
        "/more.css",
        "/f.woff",
        "/a.png",
        "/b.png",
        "/moved.png",
        "/target.png",
    ] {
        assert!(captured.contains(target), "{target}: {captured:?}");
    }
}

/// Pages of the site that is crawled under kills. Each has an image of its own; all share two style sheets and a font.
const KILLED_PAGES: u32 = 40;

fn large_site() -> Site {
    let site = Site::start([
        ("/main.css", file("text/css", "@import 'more.css'; p { color: red }")),
        ("/more.css", file("text/css", "@font-face { src: url(f.woff) }")),
        ("/f.woff", file("font/woff", "wOFF")),
    ]);
    for page in 0..KILLED_PAGES {
        let text =
            format!("<p>Words of page {page}<link rel=stylesheet href=/main.css><img src=/i{page}.png>");
        site.put(&format!("/{page}"), file("text/html", text));
    }
    site
}

/// The row of a requisite is stored with the next sync, and its page is in the log at once. So a kill between them must lose
/// no row: a cycle after it finds each requisite as the cycle before has archived it, and nothing is archived a second time
/// but for a record that was just written. RECRAWL_KILLS and RECRAWL_KILL_SEED as in `crash.rs`.
#[test]
fn kill_9_at_any_moment_loses_no_requisite_and_archives_none_twice() {
    let (kills, seed) = (setting("RECRAWL_KILLS", 6), setting("RECRAWL_KILL_SEED", 1));
    let mut lot = StdRng::seed_from_u64(seed);
    let site = large_site();
    let world = crawl_of(&site, RULE);
    world.seeds(&(0..KILLED_PAGES).map(|page| format!("{}/{page}", site.home)).collect::<Vec<_>>());
    let (mut killed, mut version, mut stale) = (0, 0, 0);
    while killed < kills {
        version += 1;
        for page in 0..KILLED_PAGES {
            let body = format!("\u{89}PNG of page {page}, version {version}");
            site.put(&format!("/i{page}.png"), file("image/png", body));
        }
        let mut left = lot.random_range(1..=8).min(kills - killed);
        loop {
            let mut child = world.spawn_crawl(1);
            if left == 0 {
                succeeds(child.wait_with_output().unwrap());
                break;
            }
            let moment = Moment::draw(&mut lot, u64::from(3 * KILLED_PAGES));
            moment.wait_for(&world, &mut child, &|| site.log.lock().unwrap().len() as u64);
            child.kill().unwrap();
            left -= 1;
            if child.wait_with_output().unwrap().status.success() {
                break;
            }
            killed += 1;
        }
        // Undisturbed, and with the same bodies: whatever is archived now had been lost.
        let report = world.crawl(1).remove(0);
        let [requested, archived, same, ..] = figures(&report);
        assert_eq!((requested, same), (u64::from(KILLED_PAGES) + 3, requested), "seed {seed}: {report}");
        stale += archived;
        world.is_sound();
    }
    let index = succeeds(world.run(&["export", "cdxj", "--out", "-"]));
    let mut captured = BTreeMap::<(String, String), u64>::new();
    for line in index.lines() {
        let fields: Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let text = |name: &str| fields[name].as_str().unwrap().to_owned();
        if text("mime") != "warc/revisit" {
            *captured.entry((text("url"), text("digest"))).or_default() += 1;
        }
    }
    let twice: u64 = captured.values().map(|count| count - 1).sum();
    println!(
        "seed {seed}: {killed} kills, {version} versions of {KILLED_PAGES} images, {} bodies, {twice} archived twice, \
         {stale} of them because a row was lost",
        captured.len()
    );
    // Its record was written, and the kill came before the line of the log.
    assert!(twice <= killed && stale == 0, "{captured:?}");
    assert_eq!(captured.len() as u64, u64::from(KILLED_PAGES) * (version + 1) + 3);
}

/// `repository verify` names rows whose records were lost.
#[test]
fn a_row_without_its_record_is_damage() {
    let site = site();
    let world = crawl_of(&site, RULE);
    world.crawl(1);
    let file = crate::harness::warc_files(&world.data_dir).into_values().next().unwrap();
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length / 3).unwrap();
    let found = world.run(&["repository", "verify"]);
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.code() == Some(1) && said.contains("requisite http"), "{said}");
}
