//! `[[deliver]]`: an index and a file are kept in step with the pages, through failures, rules and takedowns.

mod parked;

use crate::daemon::Daemon;
use crate::harness::*;
use recrawl_mockweb::target::{Api, RequestFault, SearchServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A site with these pages. Their text is a function of the edition.
fn site(edition: Arc<AtomicU64>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    serve_each(listener, move |target, _| {
        let edition = edition.load(Relaxed);
        let links: String =
            ["/a", "/b", "/c", "/private"].map(|page| format!("<a href={page}>{page}</a>")).concat();
        let robots = if target == "/b" && edition > 1 { "<meta name=robots content=noindex>" } else { "" };
        let text = if target == "/a" { edition } else { 0 };
        let name = if target == "/c" && edition == 5 { "Renamed" } else { "Page" };
        if target == "/c" && edition == 6 {
            return ("text/html", String::new(), String::new());
        }
        if target == "/c" && edition == 7 {
            return ("", String::new(), "No such page".into());
        }
        // Another body, of which no document has anything.
        let body = format!(
            "<!--{edition}--><title>{name} {target}</title>{robots}<p>Some words of {target}, edition {text}</p>{links}"
        );
        ("text/html", String::new(), body)
    });
    site
}

/// The texts that a server holds, by path.
fn held(server: &SearchServer, site: &str) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let documents = server.documents.values();
    documents.map(|(_, found)| (text(&found["url"])[site.len()..].to_owned(), text(&found["text"]))).collect()
}

/// A crawl of the site that delivers to an index and to a file.
struct World {
    folder: TempDir,
    site: String,
    edition: Arc<AtomicU64>,
    index: Arc<Mutex<SearchServer>>,
    to: String,
}

impl World {
    fn new() -> World {
        World::with(Api::OpenSearch)
    }

    fn with(api: Api) -> World {
        let edition = Arc::new(AtomicU64::new(0));
        let (site, (index, to)) = (site(edition.clone()), SearchServer::serve(api));
        let world = World { folder: tempfile::tempdir().unwrap(), site, edition, index, to };
        world.configure("", "");
        world
    }

    /// Requests have two documents, unless `deliver` says otherwise.
    fn configure(&self, scope: &str, deliver: &str) {
        let batch = if deliver.contains("batch") { "" } else { "batch = 2\n" };
        let text = format!(
            "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"0 s\"\ndelay_per_ip = \"0 s\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[hints]\nsitemaps = false\n[storage]\nreserve = \"0 B\"\n\
             [serve]\nlisten = \"127.0.0.1:0\"\n[scope]\n{scope}\n[[deliver]]\nname = \"search\"\nto = \"{}\"\n{batch}\
             allow_addresses = [\"127.0.0.1\"]\n{deliver}\n[[deliver]]\nname = \"lines\"\nto = \"jsonl+file://{}\"\n",
            self.to,
            self.lines().display(),
        );
        std::fs::write(self.folder.path().join("recrawl.toml"), text).unwrap();
    }

    fn index(&self) -> MutexGuard<'_, SearchServer> {
        self.index.lock().unwrap()
    }

    fn lines(&self) -> std::path::PathBuf {
        self.folder.path().join("docs.jsonl")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.env("API_KEY", "xyz");
        command.args(words).arg("--config").arg(self.folder.path().join("recrawl.toml"));
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn check(&self) -> Output {
        let mut command = program();
        command
            .env("SECRET_OF_TWO_LINES", "one\ntwo")
            .args(["config", "check", "--config"])
            .arg(self.folder.path().join("recrawl.toml"))
            .output()
            .unwrap()
    }

    /// Visits all pages.
    fn crawl(&self, edition: u64) {
        self.edition.store(edition, Relaxed);
        succeeds(self.run(&["crawl", "--cycles", "2", "-q", "--seed", &self.site]));
    }

    /// Visits all pages that are known, once.
    fn visit(&self, edition: u64) {
        self.edition.store(edition, Relaxed);
        succeeds(self.run(&["crawl", "--cycles", "1", "-q", "--seed", &self.site]));
    }

    fn takedown(&self, page: &str, more: &[&str]) -> String {
        let page = format!("{}{page}", self.site);
        succeeds(self.run(&[&["takedown", "--page", &page][..], more].concat()))
    }

    /// The files of what the targets hold: of the index, and of the file.
    fn copies(&self) -> [std::path::PathBuf; 2] {
        let data = self.folder.path().join("data");
        [self.to.clone(), format!("jsonl+file://{}", self.lines().display())]
            .map(|to| data.join(format!("{}.copy", recrawl_delivery::name_of(&to))))
    }

    fn sent(&self) -> String {
        succeeds(self.run(&["deliver", "send"]))
    }

    fn expected(&self, pages: &[(&str, u64)]) -> BTreeMap<String, String> {
        let text = |page: &str, edition| format!("Some words of {page}, edition {edition}\n/a/b/c/private");
        pages.iter().map(|(page, edition)| ((*page).to_owned(), text(page, *edition))).collect()
    }

    /// Both targets hold exactly these pages, with the editions of their texts.
    fn holds(&self, pages: &[(&str, u64)]) {
        let expected = self.expected(pages);
        assert_eq!(held(&self.index(), &self.site), expected);
        assert_eq!(replayed(&self.lines(), &self.site), expected);
    }
}

/// What a reader of the file holds at its end.
fn replayed(file: &Path, site: &str) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    for line in json_lines(&std::fs::read_to_string(file).unwrap()) {
        let id = line["id"].as_str().unwrap().to_owned();
        match line["op"].as_str().unwrap() {
            "put" => drop(held.insert(id, line)),
            _ => drop(held.remove(&id)),
        }
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    held.into_values()
        .map(|found| (text(&found["url"])[site.len()..].to_owned(), text(&found["text"])))
        .collect()
}

const ALL: &[(&str, u64)] = &[("/", 0), ("/a", 0), ("/b", 0), ("/c", 0), ("/private", 0)];

#[test]
fn targets_hold_what_the_crawl_knows_and_get_only_what_differs() {
    let world = World::new();
    world.crawl(0);
    assert_eq!(world.sent(), "search: 5 documents sent, 0 removed\nlines: 5 documents sent, 0 removed\n");
    world.holds(ALL);
    let requests = world.index().changes;
    world.crawl(0);
    assert_eq!(world.sent(), "search: 0 documents sent, 0 removed\nlines: 0 documents sent, 0 removed\n");
    assert_eq!(world.index().changes, requests);

    // A page changes, another asks not to be indexed; a rule leaves one out, and a block another.
    world.crawl(2);
    assert_eq!(world.sent(), "search: 1 document sent, 1 removed\nlines: 1 document sent, 1 removed\n");
    world.holds(&[("/", 0), ("/a", 2), ("/c", 0), ("/private", 0)]);
    world.configure("exclude = [\"*/private\"]", "");
    world.sent();
    succeeds(world.run(&["block", &format!("{}/c", world.site)]));
    world.sent();
    world.holds(&[("/", 0), ("/a", 2)]);
    succeeds(world.run(&["unblock", &format!("{}/c", world.site)]));
    world.configure("", "");
    world.sent();
    world.holds(&[("/", 0), ("/a", 2), ("/c", 0), ("/private", 0)]);

    // Nothing of a page that was taken down stays, not even in earlier lines of the file.
    let told = succeeds(world.run(&["takedown", "--page", &format!("{}/a", world.site)]));
    for target in ["search", "lines"] {
        let held = format!("kept: 1 document at the target {target:?}; the next delivery deletes them");
        assert!(told.contains(&held), "{told}");
    }
    world.sent();
    world.holds(&[("/", 0), ("/c", 0), ("/private", 0)]);
    assert!(!std::fs::read_to_string(world.lines()).unwrap().contains("words of /a"));
    let status: Value = serde_json::from_str(&succeeds(world.run(&["deliver", "status", "--json"]))).unwrap();
    assert_eq!(
        (&status[0]["taken"], &status[0]["unsure"], &status[1]["taken"]),
        (&json!(3), &json!(0), &json!(3))
    );

    // So does nothing of a page that had left the file before. A link stays one, and the file keeps its mode.
    let real = world.folder.path().join("real.jsonl");
    std::fs::rename(world.lines(), &real).unwrap();
    std::os::unix::fs::symlink(&real, world.lines()).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(std::fs::read_to_string(world.lines()).unwrap().contains("words of /b, edition 0"));
    let told = succeeds(world.run(&["takedown", "--page", &format!("{}/b", world.site)]));
    assert!(told.contains("earlier lines of the target \"lines\""), "{told}");
    world.sent();
    let text = std::fs::read_to_string(world.lines()).unwrap();
    assert!(!text.contains("words of /b") && text.contains("words of /c"), "{text}");
    assert!(std::fs::symlink_metadata(world.lines()).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    let told = succeeds(world.run(&["takedown", "--page", &format!("{}/b", world.site)]));
    assert!(!told.contains("earlier lines"), "{told}");

    // A target that lost all gets all.
    world.index().documents.clear();
    assert!(world.sent().contains("search: 0 documents"));
    succeeds(world.run(&["deliver", "rebuild", "search"]));
    assert!(world.sent().contains("search: 3 documents sent"));
    world.holds(&[("/", 0), ("/c", 0), ("/private", 0)]);
}

/// A document is made of more than the text that changes are found in.
#[test]
fn a_page_whose_text_stays_is_sent_if_its_document_is_another() {
    let world = World::new();
    world.configure("", "fields = { heading = \"title\" }");
    world.crawl(0);
    world.sent();
    // Each body is another. The text of one page changes each time, and another asks not to be indexed.
    world.visit(4);
    assert!(world.sent().starts_with("search: 1 document sent, 1 removed"));
    world.visit(5);
    assert!(world.sent().starts_with("search: 2 documents sent, 0 removed"));
    let titles = |field: &str| -> Vec<Value> {
        world.index().documents.values().map(|(_, found)| found[field].clone()).collect()
    };
    assert!(
        titles("title").contains(&json!("Renamed /c")) && titles("heading").contains(&json!("Renamed /c"))
    );
    world.visit(5);
    assert!(world.sent().starts_with("search: 0 documents sent"));
    // A first answer without text is no change: the text before it stays. A second one is.
    let text = held(&world.index(), &world.site)["/c"].clone();
    world.visit(6);
    assert!(world.sent().starts_with("search: 1 document sent"));
    assert_eq!(held(&world.index(), &world.site)["/c"], text);
    world.visit(6);
    assert!(!world.sent().is_empty() && held(&world.index(), &world.site)["/c"].is_empty());
}

/// Lines of a page leave a file although it is known again, or its takedown has ended, before the next delivery.
#[test]
fn lines_of_pages_that_were_taken_down_go_whatever_becomes_of_the_pages() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    world.takedown("/a", &["--keep-crawling"]);
    world.visit(3);
    world.takedown("/b", &[]);
    world.takedown("/b", &["--end"]);
    world.sent();
    let text = std::fs::read_to_string(world.lines()).unwrap();
    assert!(!text.contains("words of /a, edition 0") && !text.contains("words of /b"), "{text}");
    assert_eq!(replayed(&world.lines(), &world.site)["/a"], world.expected(&[("/a", 3)])["/a"]);

    // Of pages that are taken down nobody knows what a target holds, until it has confirmed.
    let counts = || {
        let status = succeeds(world.run(&["deliver", "status", "--json"]));
        let status: Value = serde_json::from_str(&status).unwrap();
        [0, 1].map(|at| [&status[at]["taken"], &status[at]["unsure"]].map(|count| count.as_u64().unwrap()))
    };
    let [[taken, _], _] = counts();
    world.takedown("/private", &["--keep-crawling"]);
    assert_eq!(counts(), [[taken - 1, 1]; 2]);
    world.sent();
    assert_eq!(counts(), [[taken - 1, 0]; 2]);

    // So do those of a page that has left the file; if it is no target any more, its operator is told.
    world.configure("exclude = [\"*/c\"]", "");
    world.sent();
    let config = world.folder.path().join("recrawl.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, &text[..text.rfind("[[deliver]]").unwrap()]).unwrap();
    let told = world.takedown("/c", &[]);
    let file = format!(
        "earlier lines in jsonl+file://{}, perhaps, which is not configured",
        world.lines().display()
    );
    assert!(told.contains(&file), "{told}");
}

#[test]
fn a_damaged_copy_is_told_and_its_target_mended() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    for copy in world.copies() {
        let mut bytes = std::fs::read(&copy).unwrap();
        let end = bytes.len() - 60;
        bytes[end] ^= 1;
        std::fs::write(copy, bytes).unwrap();
    }
    world.configure("exclude = [\"*/private\"]", "");
    let status = world.run(&["deliver", "status"]);
    assert!(status.stdout.is_empty());
    let told = fails(status, 1);
    assert!(told.contains("search: ") && told.contains("lines: ") && told.contains("damaged"), "{told}");
    let told = fails(world.run(&["deliver", "send"]), 1);
    assert!(told.contains("`recrawl deliver rebuild` sends all again"), "{told}");
    let told = succeeds(world.run(&["deliver", "rebuild", "search"]));
    assert!(told.contains("`recrawl deliver verify search --repair` finds them"), "{told}");
    succeeds(world.run(&["deliver", "rebuild", "lines"]));
    assert!(succeeds(world.run(&["deliver", "status"])).contains("search: 0 documents delivered"));
    world.sent();
    assert!(held(&world.index(), &world.site).contains_key("/private"));
    succeeds(world.run(&["deliver", "verify", "search", "--repair"]));
    world.sent();
    world.holds(&ALL[..4]);
}

#[test]
fn a_target_that_breaks_off_or_refuses_a_page_is_brought_up_to_date_later() {
    let world = World::new();
    world.crawl(0);
    world.index().faults = [RequestFault::Part(1), RequestFault::Part(1)].into();
    for _ in 0..2 {
        let told = fails(world.run(&["deliver", "send"]), 1);
        assert!(told.contains("[[deliver]] \"search\": the connection broke"), "{told}");
    }
    assert_eq!(replayed(&world.lines(), &world.site).len(), 5, "another target goes on");
    // Documents that were sent and not confirmed are known: one of them may have been taken.
    succeeds(world.run(&["takedown", "--page", &format!("{}/", world.site)]));
    world.sent();
    world.holds(&ALL[1..]);

    // A page that is refused stops no other, and is sent again only when it has changed.
    world.index().refused = Some("edition 1".into());
    world.crawl(1);
    let sent = world.run(&["deliver", "send"]);
    assert!(String::from_utf8_lossy(&sent.stderr).contains("not delivered: a word that is refused"));
    assert!(succeeds(sent).contains("search: 0 documents sent, 0 removed, 1 refused"));
    let requests = world.index().changes;
    world.sent();
    assert_eq!(world.index().changes, requests);
    world.crawl(2);
    world.sent();
    world.holds(&[("/a", 2), ("/c", 0), ("/private", 0)]);
}

/// A name says nothing of what a target holds: its address does.
#[test]
fn a_target_that_moves_gets_all_and_one_that_is_renamed_gets_nothing() {
    let mut world = World::new();
    world.crawl(0);
    world.sent();
    let (old, (moved, to)) = (world.to.clone(), SearchServer::serve(Api::OpenSearch));
    world.to = to;
    world.configure("", "");
    assert!(world.sent().contains("search: 5 documents sent"));
    assert_eq!(held(&moved.lock().unwrap(), &world.site), world.expected(ALL));
    let told = succeeds(world.run(&["takedown", "--page", &format!("{}/a", world.site)]));
    assert!(
        told.contains(&format!("1 document at {old}, which is not configured any more: delete them there")),
        "{told}"
    );
    world.to = old;
    world.configure("", "");
    let config = world.folder.path().join("recrawl.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("\"search\"", "\"other\"");
    std::fs::write(&config, text).unwrap();
    assert!(world.sent().contains("other: 0 documents sent, 1 removed"));
    world.holds(&[("/", 0), ("/b", 0), ("/c", 0), ("/private", 0)]);
}

/// A daemon delivers by address: a name that leads to another server is another target.
#[test]
fn a_daemon_follows_the_addresses_of_its_targets() {
    let mut world = World::new();
    world.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    daemon.until("delivered", |_| held(&world.index(), &world.site) == world.expected(ALL));
    let (old, (moved, to)) = (world.index.clone(), SearchServer::serve(Api::OpenSearch));
    world.to = to;
    world.configure("", "");
    succeeds(world.run(&["reload"]));
    daemon.until("moved", |_| held(&moved.lock().unwrap(), &world.site) == world.expected(ALL));
    let requests = old.lock().unwrap().changes;

    // With another name it goes on, and gets only what has changed.
    let (config, changes) = (world.folder.path().join("recrawl.toml"), moved.lock().unwrap().changes);
    let renamed = std::fs::read_to_string(&config).unwrap().replace("\"search\"", "\"found\"");
    std::fs::write(&config, renamed).unwrap();
    succeeds(world.run(&["reload"]));
    world.edition.store(1, Relaxed);
    let changed = [("/", 0), ("/a", 1), ("/b", 0), ("/c", 0), ("/private", 0)];
    daemon.until("changed", |_| held(&moved.lock().unwrap(), &world.site) == world.expected(&changed));
    daemon.until("shown by its new name", |status| {
        let shown = status["deliver"].as_array().into_iter().flatten();
        let mut names: Vec<&str> = shown.filter_map(|copy| copy["name"].as_str()).collect();
        names.sort_unstable();
        names == ["found", "lines"]
    });
    assert_eq!((moved.lock().unwrap().changes, old.lock().unwrap().changes), (changes + 1, requests));
}

/// What was answered before an interruption is not sent again, and the target's Retry-After is heard.
#[test]
fn an_interrupted_batch_keeps_its_answers() {
    let world = World::new();
    world.configure("", "batch = 9\nbatch_bytes = \"1 B\"");
    world.crawl(0);
    let busy = RequestFault::Answer(429, "Retry-After: 77\r\n".into(), "{}".into());
    world.index().faults = [RequestFault::None, RequestFault::None, busy].into();
    let told = fails(world.run(&["deliver", "send"]), 1);
    assert!(told.contains("status 429") && told.contains("asks for 77 s"), "{told}");
    assert!(world.sent().contains("search: 3 documents sent"));
    world.holds(ALL);
}

#[test]
fn requests_keep_the_rate_of_their_target() {
    let world = World::new();
    world.configure("", "batch = 1\nrate = \"2/s\"");
    world.crawl(0);
    let begun = Instant::now();
    world.sent();
    assert!(begun.elapsed() >= Duration::from_secs(2), "five requests, the first at once");
    world.holds(ALL);
}

/// A task that takes longer than a request may is waited for: posted again, it would be made twice.
#[test]
fn a_slow_task_is_posted_once() {
    let world = World::with(Api::Meilisearch);
    world.configure("", "batch = 9\ntimeout = \"1 s\"");
    // Pauses of 20, 40, … 1,280 ms.
    world.index().patience = 8;
    world.crawl(0);
    assert!(world.sent().contains("search: 5 documents sent"));
    assert_eq!(world.index().changes, 1);
    world.holds(ALL);
}

/// Another content or field sends all again: a page's state has how its document is made.
#[test]
fn documents_have_markdown_and_fields() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    let fields = "fields = { heading = \"title\", links = \"a@href[]\", none = \".none\" }";
    world.configure("", &format!("content = \"markdown\"\nwhole = true\n{fields}"));
    assert_eq!(world.sent(), "search: 5 documents sent, 0 removed\nlines: 0 documents sent, 0 removed\n");
    let index = world.index();
    let (_, found) = index.documents.values().find(|(_, found)| found["title"] == "Page /a").unwrap();
    let link = |page| format!("[/{page}]({}/{page})", world.site);
    let links = ["a", "b", "c", "private"].map(link).concat();
    assert_eq!(found["text"], format!("Some words of /a, edition 0\n\n{links}\n"));
    assert_eq!(
        (&found["heading"], &found["links"]),
        (&json!("Page /a"), &json!(["/a", "/b", "/c", "/private"]))
    );
    assert!(found.get("none").is_none());
    drop(index);
    assert!(world.sent().starts_with("search: 0 documents sent"));
}

/// Whatever happened to a target behind our back is found, and mended by the next delivery.
#[test]
fn a_target_is_compared_with_what_was_delivered() {
    for api in Api::ALL {
        let world = World::with(api);
        world.configure("", "bearer = \"env:API_KEY\"");
        world.crawl(0);
        assert!(succeeds(world.run(&["deliver", "test", "lines"])).contains("its file can be written"));
        assert!(!world.lines().exists());
        world.sent();
        assert_eq!(
            succeeds(world.run(&["deliver", "verify", "search"])),
            "search: 5 documents as delivered\n"
        );
        {
            let mut index = world.index();
            let ids: Vec<String> = index.documents.keys().cloned().collect();
            index.documents.remove(&ids[0]);
            index.documents.get_mut(&ids[1]).unwrap().0 -= 1;
            let theirs = (1, json!({"id": "theirs", "url": "http://theirs.test/"}));
            index.documents.insert("theirs".into(), theirs);
        }
        let told = world.run(&["deliver", "verify", "search", "--json"]);
        let counts: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!((&counts["same"], &counts["missing"]), (&json!(3), &json!(1)), "{counts}");
        assert!(fails(told, 1).contains("deliver verify search --repair"));
        let told = world.run(&["deliver", "verify", "search"]);
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        let expected = "search: 3 documents as delivered\n1 missing\n1 of another version\n1 not of recrawl, left alone\n";
        assert_eq!(said, expected, "{api:?}");
        assert!(fails(told, 1).contains("deliver verify search --repair"));
        succeeds(world.run(&["deliver", "verify", "search", "--repair"]));
        assert!(world.sent().contains("search: 2 documents sent, 0 removed"));
        world.index().documents.remove("theirs");
        world.holds(ALL);

        if api == Api::Meilisearch {
            world.index().lists_anew = true;
            let told = fails(world.run(&["deliver", "verify", "search"]), 1);
            assert!(told.contains("the same documents again and again"), "{told}");
        }
        let before = world.index().documents.clone();
        let tested = succeeds(world.run(&["deliver", "test", "search"]));
        assert_eq!(tested, "search: it answers, and takes changes\n");
        assert_eq!(world.index().documents, before);
        world.index().credentials = Some("x-typesense-api-key: other".into());
        let told = fails(world.run(&["deliver", "test", "search"]), 1);
        assert!(told.contains("it asks for other credentials"), "{told}");
        let told = world.run(&["deliver", "test", "search", "--json"]);
        assert_eq!(told.status.code(), Some(1));
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!((&told["target"], &told["takes_documents"]), (&json!("search"), &json!(false)));
        assert!(told["said"].as_str().unwrap().contains("it asks for other credentials"), "{told}");
    }
    // A file is read as its readers do.
    let world = World::new();
    world.crawl(0);
    world.sent();
    std::fs::write(world.lines(), "").unwrap();
    assert!(fails(world.run(&["deliver", "verify", "lines"]), 1).contains("lines differs"));
    succeeds(world.run(&["deliver", "verify", "lines", "--repair"]));
    world.sent();
    world.holds(ALL);
}

#[test]
fn a_page_that_is_not_found_keeps_its_document_until_it_is_gone_unless_it_is_to_go_at_once() {
    for missing in ["keep", "delete"] {
        let world = World::new();
        world.configure("", &format!("missing = {missing:?}"));
        world.crawl(0);
        world.sent();
        world.visit(7);
        world.sent();
        assert_eq!(held(&world.index(), &world.site).contains_key("/c"), missing == "keep");
        let is_back = (0..9).any(|_| {
            world.visit(8);
            world.sent();
            held(&world.index(), &world.site).contains_key("/c")
        });
        // The one of /b is away, which asks not to be indexed by then.
        assert!(is_back, "{missing}");
        assert!(succeeds(world.run(&["deliver", "verify", "search"])).contains("4 documents as delivered"));
    }
}

#[test]
fn typesense_and_solr_are_kept_in_step() {
    for (api, credentials) in [(Api::Typesense, "bearer = \"env:API_KEY\""), (Api::Solr, "")] {
        let world = World::with(api);
        world.configure("", &format!("timeout = \"1 h\"\n{credentials}"));
        world.index().credentials = (api == Api::Typesense).then(|| "x-typesense-api-key: xyz\r\n".into());
        world.crawl(0);
        world.sent();
        world.holds(ALL);
        world.index().faults = [RequestFault::Lost].into();
        world.crawl(2);
        fails(world.run(&["deliver", "send"]), 1);
        // A request that was given up may still be taken, behind what would be sent now.
        let requests = world.index().changes;
        let told = fails(world.run(&["deliver", "send"]), 1);
        assert!(told.contains("may still be taken") && world.index().changes == requests, "{told}");
        world.configure("", &format!("timeout = \"1 s\"\n{credentials}"));
        while !world.run(&["deliver", "send"]).status.success() {}
        world.holds(&[("/", 0), ("/a", 2), ("/c", 0), ("/private", 0)]);
    }
}

/// A program reads what a file would get. Its exit code says whether it took all, takes none of it ever, or none now.
#[test]
fn a_program_takes_documents() {
    let world = World::new();
    let (program, taken) = (world.folder.path().join("take"), world.folder.path().join("taken.jsonl"));
    let script = format!(
        "#!/bin/sh\nlines=$(cat)\ncase $lines in *'words of /b,'*) echo no b >&2; exit 65;; esac\n\
         [ -e {busy} ] && {{ echo busy $RECRAWL_TARGET >&2; exit 1; }}\nprintf '%s\\n' \"$lines\" >> {taken}\n",
        busy = world.folder.path().join("busy").display(),
        taken = taken.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let config = format!(
        "[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[[deliver]]\nname = \"program\"\nto = \"command:{}\"\n",
        program.display()
    );
    world.crawl(0);
    std::fs::write(world.folder.path().join("recrawl.toml"), config).unwrap();
    std::fs::write(world.folder.path().join("busy"), "").unwrap();
    let told = fails(world.run(&["deliver", "send"]), 1);
    assert!(told.contains("busy program"), "{told}");
    std::fs::remove_file(world.folder.path().join("busy")).unwrap();
    let sent = world.run(&["deliver", "send"]);
    assert!(String::from_utf8_lossy(&sent.stderr).contains("exit status: 65: no b"));
    assert_eq!(succeeds(sent), "program: 4 documents sent, 0 removed, 1 refused\n");
    let left = [("/", 0), ("/a", 0), ("/c", 0), ("/private", 0)];
    assert_eq!(replayed(&taken, &world.site), world.expected(&left));
}

/// The backup knows neither what was delivered since, nor in which state.
#[test]
fn after_a_restored_backup_targets_hold_what_it_has() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    let (backup, data) = (world.folder.path().join("backup"), world.folder.path().join("data"));
    let commit = world.folder.path().join("commit");
    succeeds(world.run(&["backup", backup.to_str().unwrap()]));
    succeeds(world.run(&["backup", "--last-commit", commit.to_str().unwrap()]));
    world.crawl(1);
    world.sent();
    std::fs::remove_dir_all(&data).unwrap();
    succeeds(world.run(&["restore", backup.to_str().unwrap()]));
    world.sent();
    world.holds(ALL);

    // The last commit has no bodies, but it knows what a target holds.
    std::fs::remove_dir_all(&data).unwrap();
    succeeds(world.run(&["restore", commit.to_str().unwrap()]));
    let status: Value = serde_json::from_str(&succeeds(world.run(&["deliver", "status", "--json"]))).unwrap();
    assert_eq!((&status[0]["taken"], &status[0]["unsure"]), (&json!(0), &json!(5)));
}

/// What waits is told beside what was delivered, and so is a body that cannot be read.
#[test]
fn what_waits_is_told() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    world.crawl(2);
    let status = succeeds(world.run(&["deliver", "status"]));
    let told = "search: 5 documents delivered, 0 not confirmed, 0 refused; the next delivery sends 1 document and deletes 1\n";
    assert!(status.starts_with(told), "{status}");
    world.sent();
    let status = succeeds(world.run(&["deliver", "status"]));
    assert!(status.starts_with("search: 4 documents delivered, 0 not confirmed, 0 refused\n"), "{status}");

    world.crawl(5);
    let warc = world.folder.path().join("data/warc");
    let files = std::fs::read_dir(&warc).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "gz")) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        std::fs::write(&file, vec![0; length]).unwrap();
    }
    let told = world.sent();
    assert!(
        told.starts_with("search: 0 documents sent, 0 removed, 4 unreadable now and tried again\n"),
        "{told}"
    );
}

/// A daemon writes its file as long as the target is configured, also between deliveries.
#[test]
fn one_process_writes_a_file() {
    let (world, other) = (World::new(), World::new());
    world.crawl(0);
    other.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    daemon.until("delivered", |_| {
        held(&world.index(), &world.site) == world.expected(ALL) && world.lines().exists()
    });
    let config = other.folder.path().join("recrawl.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let theirs = text.replace(other.lines().to_str().unwrap(), world.lines().to_str().unwrap());
    std::fs::write(&config, theirs).unwrap();
    let told = fails(other.run(&["deliver", "send", "lines"]), 1);
    assert!(told.contains("another target or process delivers to it"), "{told}");
    daemon.stop();
    assert!(succeeds(other.run(&["deliver", "send", "lines"])).contains("lines: 5 documents sent"));
}

#[test]
fn a_daemon_delivers_by_itself() {
    let world = World::new();
    world.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    daemon.until("delivered", |_| held(&world.index(), &world.site) == world.expected(ALL));
    let is_shown = |status: &Value| {
        let shown =
            |name: &str| status["deliver"].as_array()?.iter().find(|copy| copy["name"] == name).cloned();
        let is_up_to_date =
            |copy: Value| copy["delivered"] == 5 && copy["waiting"] == 0 && copy["delivered_at"].is_u64();
        ["search", "lines"].iter().all(|name| shown(name).is_some_and(is_up_to_date))
    };
    daemon.until("figures of both targets", is_shown);
    let told = fails(world.run(&["deliver", "send"]), 1);
    assert!(told.contains("it delivers by itself"), "{told}");
    world.edition.store(1, Relaxed);
    let changed = [("/", 0), ("/a", 1), ("/b", 0), ("/c", 0), ("/private", 0)];
    daemon.until("the change is there", |_| held(&world.index(), &world.site) == world.expected(&changed));
    daemon.until("in the file, too", |_| replayed(&world.lines(), &world.site) == world.expected(&changed));
}

/// A target that takes a request and never answers.
#[test]
fn a_silent_target_holds_up_neither_a_takedown_nor_the_end() {
    let mut world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    world.to = format!("opensearch+http://{}/docs", silent.local_addr().unwrap());
    world.configure("", "timeout = \"1 d\"");
    world.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    let asked = silent.accept().unwrap();
    succeeds(world.run(&["takedown", "--page", &format!("{}/a", world.site)]));
    daemon.stop();
    drop(asked);
}

#[test]
fn what_is_configured_wrongly_is_told_before_anything_is_sent() {
    let world = World::new();
    for (deliver, said) in [
        ("pages = []", "pages is empty"),
        ("content = \"words\"", "write \"text\", \"markdown\" or \"none\""),
        ("whole = true", "whole is for content = \"markdown\""),
        ("fields = { price = \"p >\" }", "fields: price: \"p >\" is not a CSS selector"),
        ("fields = { text = \"p\" }", "is a field of every document"),
        ("user = \"anna\"", "set user and password together"),
        ("user = \"an:na\"\npassword = \"env:HOME\"", "user: it cannot have a colon"),
        ("bearer = \"env:SECRET_OF_TWO_LINES\"", "bearer: a token has no spaces"),
        ("bearer = \"x\"\nuser = \"a\"\npassword = \"b\"", "not both"),
        ("timeout = \"0 s\"", "must not be 0"),
        ("rate = \"10/d\"", "rate: \"10/d\": write a number and a unit of time"),
    ] {
        world.configure("", deliver);
        let told = fails(world.check(), 2);
        assert!(told.contains("[[deliver]] \"search\"") && told.contains(said), "{told}");
    }
    // One file by two paths.
    std::os::unix::fs::symlink(world.folder.path(), world.folder.path().join("link")).unwrap();
    let link = world.folder.path().join("link/docs.jsonl");
    world.configure("", &format!("[[deliver]]\nname = \"twice\"\nto = \"jsonl+file://{}\"", link.display()));
    let told = fails(world.check(), 2);
    assert!(told.contains("[[deliver]] \"lines\": \"twice\" before it has the same name or `to`"), "{told}");
    let config = world.folder.path().join("recrawl.toml");
    std::fs::write(&config, "[[deliver]]\nname = \"x\"\nto = \"sql+http://localhost/docs\"\n").unwrap();
    let told = fails(world.check(), 2);
    assert!(told.contains("unknown kind of target; write it as one of: opensearch+https://"), "{told}");
    std::fs::write(&config, "").unwrap();
    let told = fails(world.run(&["deliver", "status"]), 2);
    assert!(told.contains("add [[deliver]] to the configuration"), "{told}");
}
