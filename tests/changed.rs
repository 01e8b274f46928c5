//! Which differences are changes, and what is told of them: noise, prices, feeds, JSON, empty answers, long texts.

use crate::harness::{json_lines, program, succeeds};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;

/// Type and body of a path, at a visit.
type Page = fn(&str, u64) -> (&'static str, String);

/// A site whose pages are a function of the visit, and a crawl of it that visits all of them in each cycle.
struct Watched {
    folder: TempDir,
    site: String,
    paths: &'static [&'static str],
    visit: Arc<AtomicU64>,
}

impl Watched {
    fn new(page: Page, paths: &'static [&'static str], extra: impl Fn(&str) -> String) -> Watched {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = format!("http://{}", listener.local_addr().unwrap());
        let visit = Arc::new(AtomicU64::new(0));
        let (folder, now) = (tempfile::tempdir().unwrap(), visit.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, now) = (stream.unwrap(), now.clone());
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let request = lines.next().unwrap().unwrap();
                    while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                    let path = request.split(' ').nth(1).unwrap();
                    let (status, (kind, body)) = match path {
                        "/robots.txt" => ("404 Not Found", ("text/plain", String::new())),
                        path => ("200 OK", page(path, now.load(Relaxed))),
                    };
                    let length = body.len();
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                    );
                });
            }
        });
        let settings = "[cycle]\npages = \"100%\"\n[politeness]\ndelay_per_host = \"0 s\"\ndelay_per_ip = \"0 s\"\n\
            [scope]\nmax_depth = 0\n[hints]\nsitemaps = false\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
            [storage]\nreserve = \"0 B\"\n";
        std::fs::write(folder.path().join("recrawl.toml"), format!("{settings}{}", extra(&site))).unwrap();
        Watched { folder, site, paths, visit }
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command: Command = program();
        command.args(words).arg("--config").arg(self.folder.path().join("recrawl.toml"));
        succeeds(command.arg("--data-dir").arg(self.folder.path().join("data")).output().unwrap())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.site)
    }

    /// Visits all pages once.
    fn crawl(&self) {
        let seeds: Vec<String> = self.paths.iter().map(|path| self.url(path)).collect();
        let mut words = vec!["crawl", "--cycles", "1", "-q"];
        seeds.iter().for_each(|seed| words.extend(["--seed", seed]));
        self.run(&words);
        self.visit.fetch_add(1, Relaxed);
    }

    /// What each visit of a page found: `C` changed, `-` unchanged, `F` first.
    fn found(&self, path: &str) -> String {
        let visits = json_lines(&self.run(&["export", "visits", "--out", "-"]));
        let of_page = visits.iter().filter(|visit| visit["url"] == *self.url(path));
        let found = |visit: &Value| match (&visit["changed"], visit["first"].as_bool()) {
            (Value::Bool(true), _) => 'C',
            (Value::Bool(false), _) => '-',
            _ => 'F',
        };
        of_page.map(found).collect()
    }

    /// The messages of a target that writes a file, by path, in order of the rounds.
    fn told(&self) -> BTreeMap<String, Vec<Value>> {
        self.run(&["notify", "send"]);
        let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for message in json_lines(&std::fs::read_to_string(self.file()).unwrap_or_default()) {
            let url = message["data"]["url"].as_str().unwrap();
            told.entry(url[self.site.len()..].to_owned()).or_default().push(message["data"].clone());
        }
        told.values_mut().for_each(|all| all.sort_by_key(|data| data["round"].as_u64()));
        told
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("told.jsonl")
    }

    /// Adds a target of all changes.
    fn notified(self) -> Watched {
        let config = self.folder.path().join("recrawl.toml");
        let target = format!("\n[[notify]]\nname = \"desk\"\nfile = {:?}\n", self.file());
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text + &target).unwrap();
        self
    }
}

/// Visits after which a site of noise has a floor, and some more.
const VISITS: usize = 12;

fn words() -> String {
    (0..300).map(|n| format!("word{} ", n * 7919 % 977)).collect()
}

/// Ten pages whose price is another at each visit, two that are chosen in part, and a quiet one.
fn shop(path: &str, visit: u64) -> (&'static str, String) {
    let words = words();
    let text = match path {
        "/quiet" if visit < VISITS as u64 - 2 => format!("<p>{words}</p><p>The boat is free</p>"),
        "/quiet" => format!("<p>{words}</p><p>The boat is sold</p>"),
        _ => format!(
            "<h1>{path}</h1><p>{words}</p><p class=price>Price {}</p><p class=ad>x</p>",
            100 + 3 * visit
        ),
    };
    ("text/html", format!("<title>t</title><main>{text}</main>"))
}

const SHOP: &[&str] =
    &["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/quiet", "/include", "/ignore"];

#[test]
fn a_floor_judges_neither_what_a_person_chose_nor_a_quiet_page_among_noisy_ones() {
    let world = Watched::new(shop, SHOP, |site| {
        format!(
            "[[pages]]\nmatch = \"{site}/include\"\ninclude = [\".price\"]\n\
             [[pages]]\nmatch = \"{site}/ignore\"\nignore = [\".ad\"]\n"
        )
    });
    (0..VISITS).for_each(|_| world.crawl());
    let each = format!("F{}", "C".repeat(VISITS - 1));
    assert_eq!((world.found("/include"), world.found("/ignore")), (each.clone(), each));
    assert_eq!(world.found("/quiet"), format!("F{}C-", "-".repeat(VISITS - 3)));
    // The others look like noise, and explain says so.
    assert!(world.found("/0").ends_with("------"), "{}", world.found("/0"));
    let explained = |path: &str| world.run(&["explain", &world.url(path)]);
    let noisy = explained("/0");
    assert!(noisy.contains("noise       the site has a noise floor of "), "{noisy}");
    assert!(
        noisy.contains("of the last 8 comparisons found a difference") && noisy.contains("[[notify]]"),
        "{noisy}"
    );
    assert!(explained("/quiet").contains("it does not judge this page"), "{}", explained("/quiet"));
    assert!(
        explained("/include").contains("each difference of this page counts"),
        "{}",
        explained("/include")
    );
}

#[test]
fn what_a_target_is_told_of_is_not_judged_and_the_message_says_what_to_do() {
    let world = Watched::new(shop, SHOP, |_| String::new()).notified();
    (0..VISITS).for_each(|_| world.crawl());
    assert_eq!(world.found("/0"), format!("F{}", "C".repeat(VISITS - 1)));
    let told = world.told();
    assert_eq!((told["/0"].len(), told["/quiet"].len()), (VISITS - 1, 1));
    for (data, visit) in told["/0"].iter().zip(1..) {
        let difference = data["difference"].as_str().unwrap();
        assert!(difference.contains(&format!("+Price {}", 100 + 3 * visit)), "{difference}");
    }
    let hint = told["/0"].last().unwrap()["hint"].as_str().unwrap();
    assert!(hint.contains("8 of the last 8") && hint.contains("[[pages]] ignore"), "{hint}");
    assert_eq!(told["/quiet"][0]["hint"], Value::Null);
}

fn data(path: &str, visit: u64) -> (&'static str, String) {
    let is_new = visit == 1;
    let state = if is_new { "none left" } else { "one left" };
    let item = |title: &str, text: &str| {
        format!(
            "<item><title>{title}</title><link>/story</link><description><![CDATA[<p>{text}</p>]]></description></item>"
        )
    };
    let rss =
        |items: String| format!("<rss version='2.0'><channel><title>{visit}</title>{items}</channel></rss>");
    match path {
        "/title.rss" => ("application/rss+xml", rss(item(&format!("Boats {state}"), "a"))),
        "/text.rss" => ("application/rss+xml", rss(item("Boats", state))),
        "/unlinked.rss" => ("text/xml", rss(format!("<item><description>{state}</description></item>"))),
        "/same.rss" => ("application/rss+xml", rss(item("Boats", "a"))),
        "/views.rss" => ("application/rss+xml", rss(item("Boats", &format!("{visit} views")))),
        "/entry.atom" => (
            "application/atom+xml",
            format!(
                "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/s'/><content type='xhtml'><div><p>{state}</p>\
                 </div></content></entry></feed>"
            ),
        ),
        "/data.json" => ("application/json", format!("{{\"b\":{{\"state\":\"{state}\"}},\"a\":1}}")),
        "/order.json" if is_new => ("application/json", "{\"b\": [1.0, 2], \"a\": 1}".into()),
        "/order.json" => ("application/json", "{\"a\":1,\"b\":[1.0,2]}".into()),
        "/array.json" if is_new => ("application/ld+json", "[2,1]".into()),
        "/array.json" => ("application/ld+json", "[1,2]".into()),
        "/views.json" => ("application/json", format!("{{\"price\":7,\"views\":{visit}}}")),
        "/rates.xml" => ("application/xml", format!("<rates><rate is='{state}'/></rates>")),
        "/a.yaml" => ("application/yaml", format!("a: 1\nstate: {state}\n")),
        "/a.csv" => ("text/csv", format!("a,b\n1,{state}\n")),
        _ => ("text/plain", format!("first\n{state}\n")),
    }
}

const DATA: &[&str] = &[
    "/title.rss",
    "/text.rss",
    "/unlinked.rss",
    "/same.rss",
    "/views.rss",
    "/entry.atom",
    "/data.json",
    "/order.json",
    "/array.json",
    "/views.json",
    "/rates.xml",
    "/a.yaml",
    "/a.csv",
    "/a.txt",
];

#[test]
fn feeds_and_data_have_text_rules_and_differences() {
    let world = Watched::new(data, DATA, |site| {
        format!(
            "[[pages]]\nmatch = \"{site}/views*\"\nignore_text = [\"\\\\d+ views\", '^\\s*\"views\": \\d+$']\n"
        )
    });
    let world = world.notified();
    (0..2).for_each(|_| world.crawl());
    let told = world.told();
    for path in ["/same.rss", "/views.rss", "/order.json", "/views.json"] {
        assert_eq!(world.found(path), "F-", "{path}");
    }
    for path in
        DATA.iter().filter(|path| !["/same.rss", "/views.rss", "/order.json", "/views.json"].contains(path))
    {
        assert_eq!(world.found(path), "FC", "{path}");
        let difference =
            told[*path][0]["difference"].as_str().unwrap_or_else(|| panic!("{path}: {:?}", told[*path]));
        let changed: Vec<&str> =
            difference.lines().skip(2).filter(|line| line.starts_with(['-', '+'])).collect();
        let lines = if *path == "/array.json" { ["-2", "+2"] } else { ["one left", "none left"] };
        assert!(
            lines.iter().all(|text| changed.iter().any(|line| line.contains(text))),
            "{path}: {difference}"
        );
    }
    assert!(world.run(&["show", &world.url("/data.json"), "--diff"]).contains("+\"state\": \"none left\""));
}

fn blank(path: &str, visit: u64) -> (&'static str, String) {
    let full = "<title>t</title><main><p>All is well</p></main>";
    let is_blank = match path {
        "/lasting" => visit >= 1,
        "/changed" => visit == 1,
        _ => visit == 1 || visit == 3,
    };
    let body = match path {
        _ if !is_blank => full.replace("well", if path == "/changed" && visit > 1 { "lost" } else { "well" }),
        "/space" => " \n".into(),
        "/shell" => "<div id=app></div>".into(),
        _ => String::new(),
    };
    ("text/html", body)
}

#[test]
fn one_answer_without_text_is_no_change_and_two_are() {
    let world =
        Watched::new(blank, &["/zero", "/space", "/shell", "/lasting", "/changed"], |_| String::new());
    let world = world.notified();
    (0..5).for_each(|_| world.crawl());
    for path in ["/zero", "/space", "/shell"] {
        assert_eq!(world.found(path), "F----", "{path}");
    }
    assert_eq!((&*world.found("/lasting"), &*world.found("/changed")), ("F-C--", "F-C--"));
    let told = world.told();
    assert_eq!(told.keys().collect::<Vec<_>>(), ["/changed", "/lasting"]);
    let difference = |path: &str| told[path][0]["difference"].as_str().unwrap().to_owned();
    assert!(difference("/changed").ends_with("-All is well\n+All is lost\n"), "{}", difference("/changed"));
    assert!(difference("/lasting").ends_with("-All is well\n"), "{}", difference("/lasting"));
}

/// Two pages that change at other visits, and one that stays.
fn two_that_change(path: &str, visit: u64) -> (&'static str, String) {
    let news = match path {
        "/often" => visit,
        "/once" => visit / 3,
        _ => 0,
    };
    ("text/html", format!("<title>Page {path}</title><main><p>{}</p><p>edition {news}</p></main>", words()))
}

/// The pages of the lines of `recrawl changes`, and their kinds.
fn listed(list: &Value, site: &str) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |change: &Value| {
        (text(&change["url"])[site.len()..].into(), text(&change["kind"]), change["cycle"].as_u64().unwrap())
    };
    list["changes"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn what_changed_is_listed_newest_first_with_the_difference_of_each() {
    // With a target of messages, versions of one second are told apart by their rounds.
    let world = Watched::new(two_that_change, &["/often", "/once", "/still"], |_| String::new()).notified();
    (0..4).for_each(|_| world.crawl());
    let list = |words: &[&str]| -> Value {
        serde_json::from_str(&world.run(&[&["changes", "--json"], words].concat())).unwrap()
    };
    let whole = list(&["--diff"]);
    let found = listed(&whole, &world.site);
    let often = |cycle| ("/often".to_owned(), "changed".to_owned(), cycle);
    let once = ("/once".to_owned(), "changed".to_owned(), 4);
    assert!(found.contains(&once), "{found:?}");
    let rest: Vec<_> = found.iter().filter(|row| **row != once).cloned().collect();
    assert_eq!(rest, [often(4), often(3), often(2)]);
    let shown = whole["changes"].as_array().unwrap().iter().find(|change| change["cycle"] == 3).unwrap();
    assert_eq!(shown["title"], "Page /often");
    let difference = shown["difference"].as_str().unwrap();
    assert!(difference.contains("-edition 1\n+edition 2"), "{difference}");

    // In parts, by page and by kind.
    let part = list(&["--limit", "3"]);
    assert!(part["changes"][0]["difference"].is_null());
    let next = part["next"].as_str().unwrap();
    let both = [listed(&part, &world.site), listed(&list(&["--cursor", next]), &world.site)].concat();
    assert_eq!(both, found);
    let of_page = listed(&list(&["--pages", &world.url("/once")]), &world.site);
    assert_eq!(of_page, [once]);
    assert_eq!(listed(&list(&["--changes", "new"]), &world.site).len(), 3);
    for since in ["1 d", "2 days ago", "yesterday", "2026-01-31"] {
        assert_eq!(listed(&list(&["--since", since]), &world.site), found, "{since}");
    }
    let mut nowhere = program();
    nowhere.args(["changes", "--pages", "nowhere.test", "--data-dir"]).arg(world.folder.path().join("data"));
    let none = String::from_utf8(nowhere.output().unwrap().stderr).unwrap();
    assert!(none.starts_with("no change found; visits are kept"), "{none}");

    // For people, and wrong words.
    let text = world.run(&["changes", "--diff", &world.url("/once")]);
    assert!(text.contains("  changed    ") && text.contains("    +edition 1"), "{text}");
    for (words, said) in [
        (["--changes", "gon"], "\"gon\" is no kind of change"),
        (["--cursor", "x"], "unknown cursor"),
        (["--pages", "a b"], "pages:"),
    ] {
        let mut command = program();
        command.arg("changes").args(words).arg("--data-dir").arg(world.folder.path().join("data"));
        let refused = command.output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains(said), "{told}");
    }
    // Nothing of a page that was taken down.
    world.run(&["takedown", "--page", &world.url("/often")]);
    assert_eq!(listed(&list(&["--diff"]), &world.site).len(), 1);
}

fn hidden_at_two(_: &str, visit: u64) -> (&'static str, String) {
    let robots = if visit == 2 { "<meta name=robots content=noindex>" } else { "" };
    ("text/html", format!("{robots}<p>edition {visit}"))
}

/// A page that asks not to be archived is hidden as long as it does, and a visit without an archive hides nothing: later
/// versions lead to those before.
#[test]
fn a_visit_that_archives_nothing_loses_no_earlier_version() {
    let world = Watched::new(hidden_at_two, &["/p"], |_| String::new());
    let settings = world.folder.path().join("recrawl.toml");
    let archive = |is_on: bool| {
        let text = std::fs::read_to_string(&settings).unwrap().replace("archive = false\n", "");
        let text = if is_on { text } else { text.replace("[storage]\n", "[storage]\narchive = false\n") };
        std::fs::write(&settings, text).unwrap();
    };
    let editions = || -> Vec<String> {
        let list: Value =
            serde_json::from_str(&world.run(&["show", &world.url("/p"), "--list", "--json"])).unwrap();
        let versions = list["versions"].as_array().unwrap().iter();
        let number = |at: usize| (at + 1).to_string();
        let shown = |at: usize| world.run(&["show", &world.url("/p"), "--version", &number(at)]);
        versions.enumerate().map(|(at, _)| shown(at).trim().replace("edition ", "")).collect()
    };
    let page = || json_lines(&world.run(&["export", "pages", "--out", "-"])).remove(0);
    (0..2).for_each(|_| world.crawl());
    assert_eq!(editions(), ["1", "0"]);
    world.crawl();
    assert!(editions().is_empty() && page()["warc_file"].is_null(), "hidden: {}", page());
    world.crawl();
    assert_eq!(editions(), ["3", "1", "0"]);
    archive(false);
    world.crawl();
    assert!(
        editions() == ["3", "1", "0"] && page()["warc_file"].is_null(),
        "nothing of this visit: {}",
        page()
    );
    archive(true);
    world.crawl();
    assert_eq!(editions(), ["5", "3", "1", "0"]);
    assert!(page()["warc_file"].is_u64());
    world.run(&["repository", "verify"]);
}
