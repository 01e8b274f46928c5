//! `[[deliver]]`: an index and a file are kept in step with the pages, through failures, rules and takedowns.

use crate::daemon::Daemon;
use crate::harness::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
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
        let body = format!(
            "<title>Page {target}</title>{robots}<p>Some words of {target}, edition {text}</p>{links}"
        );
        ("text/html", String::new(), body)
    });
    site
}

/// An OpenSearch server: documents by id with external versions, and what it does wrong.
#[derive(Default)]
struct Index {
    documents: Mutex<BTreeMap<String, (u64, Value)>>,
    requests: AtomicUsize,
    /// Requests of which only a part is made, and that get no answer.
    broken: AtomicUsize,
    /// A word that no document may have.
    refused: Mutex<Option<String>>,
}

impl Index {
    fn open() -> (Arc<Index>, String) {
        let (index, listener) = (Arc::new(Index::default()), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = format!("opensearch+http://{}/docs", listener.local_addr().unwrap());
        let served = index.clone();
        std::thread::spawn(move || listener.incoming().for_each(|stream| served.serve(stream.unwrap())));
        (index, address)
    }

    /// Serves the requests of one connection.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            if length == 0 || reader.read_exact(&mut body).is_err() {
                return;
            }
            self.requests.fetch_add(1, Relaxed);
            let is_broken = self.broken.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
            let items = self.bulk(&body, if is_broken { 1 } else { usize::MAX });
            if is_broken {
                return;
            }
            let answer = json!({"errors": false, "items": items}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            if reader.get_mut().write_all((head + &answer).as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Makes the first changes of a bulk request.
    fn bulk(&self, body: &[u8], most: usize) -> Vec<Value> {
        let (mut documents, mut items) = (self.documents.lock().unwrap(), Vec::new());
        let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        while let Some(action) = lines.next().filter(|_| items.len() < most) {
            let action: Value = serde_json::from_slice(action).unwrap();
            let (name, of) = action.as_object().unwrap().iter().next().unwrap();
            assert_eq!((&of["_index"], &of["version_type"]), (&json!("docs"), &json!("external_gte")));
            let (id, version) = (of["_id"].as_str().unwrap().to_owned(), of["version"].as_u64().unwrap());
            let is_late = documents.get(&id).is_some_and(|(held, _)| *held > version);
            assert!(!is_late, "a version fell");
            let status = if name == "delete" {
                if documents.remove(&id).is_some() { 200 } else { 404 }
            } else {
                let document: Value = serde_json::from_slice(lines.next().unwrap()).unwrap();
                assert_eq!((&document["id"], &document["version"]), (&json!(id), &json!(version)));
                let is_refused = self
                    .refused
                    .lock()
                    .unwrap()
                    .as_ref()
                    .is_some_and(|word| document.to_string().contains(word));
                if !is_refused {
                    documents.insert(id, (version, document));
                }
                if is_refused { 400 } else { 201 }
            };
            let error = if status == 400 {
                json!({"type": "mapper_parsing_exception", "reason": "a word that is refused"})
            } else {
                Value::Null
            };
            items.push(json!({name.as_str(): {"status": status, "error": error}}));
        }
        items
    }

    /// The texts by path.
    fn holds(&self, site: &str) -> BTreeMap<String, String> {
        let documents = self.documents.lock().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        documents
            .values()
            .map(|(_, found)| (text(&found["url"])[site.len()..].to_owned(), text(&found["text"])))
            .collect()
    }
}

/// A crawl of the site that delivers to an index and to a file.
struct World {
    folder: TempDir,
    site: String,
    edition: Arc<AtomicU64>,
    index: Arc<Index>,
    to: String,
}

impl World {
    fn new() -> World {
        let edition = Arc::new(AtomicU64::new(0));
        let (site, (index, to)) = (site(edition.clone()), Index::open());
        let world = World { folder: tempfile::tempdir().unwrap(), site, edition, index, to };
        world.configure("", "");
        world
    }

    fn configure(&self, scope: &str, deliver: &str) {
        let text = format!(
            "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"0 s\"\ndelay_per_ip = \"0 s\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[hints]\nsitemaps = false\n[storage]\nreserve = \"0 B\"\n\
             [serve]\nlisten = \"127.0.0.1:0\"\n[scope]\n{scope}\n[[deliver]]\nname = \"search\"\nto = \"{}\"\nbatch = 2\n\
             allow_addresses = [\"127.0.0.1\"]\n{deliver}\n[[deliver]]\nname = \"lines\"\nto = \"jsonl+file://{}\"\n",
            self.to,
            self.lines().display(),
        );
        std::fs::write(self.folder.path().join("recrawl.toml"), text).unwrap();
    }

    fn lines(&self) -> std::path::PathBuf {
        self.folder.path().join("docs.jsonl")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
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
        assert_eq!(self.index.holds(&self.site), expected);
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
    let requests = world.index.requests.load(Relaxed);
    world.crawl(0);
    assert_eq!(world.sent(), "search: 0 documents sent, 0 removed\nlines: 0 documents sent, 0 removed\n");
    assert_eq!(world.index.requests.load(Relaxed), requests);

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

    // A target that lost all gets all.
    world.index.documents.lock().unwrap().clear();
    assert!(world.sent().contains("search: 0 documents"));
    succeeds(world.run(&["deliver", "rebuild", "search"]));
    assert!(world.sent().contains("search: 3 documents sent"));
    world.holds(&[("/", 0), ("/c", 0), ("/private", 0)]);
}

#[test]
fn a_target_that_breaks_off_or_refuses_a_page_is_brought_up_to_date_later() {
    let world = World::new();
    world.crawl(0);
    world.index.broken.store(2, Relaxed);
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
    *world.index.refused.lock().unwrap() = Some("edition 1".into());
    world.crawl(1);
    let sent = world.run(&["deliver", "send"]);
    assert!(String::from_utf8_lossy(&sent.stderr).contains("not delivered: a word that is refused"));
    assert!(succeeds(sent).contains("search: 0 documents sent, 0 removed, 1 refused"));
    let requests = world.index.requests.load(Relaxed);
    world.sent();
    assert_eq!(world.index.requests.load(Relaxed), requests);
    world.crawl(2);
    world.sent();
    world.holds(&[("/a", 2), ("/c", 0), ("/private", 0)]);
}

/// The backup knows neither what was delivered since, nor in which state.
#[test]
fn after_a_restored_backup_targets_hold_what_it_has() {
    let world = World::new();
    world.crawl(0);
    world.sent();
    let (backup, data) = (world.folder.path().join("backup"), world.folder.path().join("data"));
    succeeds(world.run(&["backup", backup.to_str().unwrap()]));
    world.crawl(1);
    world.sent();
    std::fs::remove_dir_all(&data).unwrap();
    succeeds(world.run(&["restore", backup.to_str().unwrap()]));
    world.sent();
    world.holds(ALL);
}

#[test]
fn a_daemon_delivers_by_itself() {
    let world = World::new();
    world.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    daemon.until("delivered", |_| world.index.holds(&world.site) == world.expected(ALL));
    let told = fails(world.run(&["deliver", "send"]), 1);
    assert!(told.contains("it delivers by itself"), "{told}");
    world.edition.store(1, Relaxed);
    let changed = [("/", 0), ("/a", 1), ("/b", 0), ("/c", 0), ("/private", 0)];
    daemon.until("the change is there", |_| world.index.holds(&world.site) == world.expected(&changed));
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
        ("content = \"words\"", "write \"text\" or \"none\""),
        ("user = \"anna\"", "set user and password together"),
        ("bearer = \"x\"\nuser = \"a\"\npassword = \"b\"", "not both"),
        ("timeout = \"0 s\"", "must not be 0"),
    ] {
        world.configure("", deliver);
        let told = fails(world.check(), 2);
        assert!(told.contains("[[deliver]] \"search\"") && told.contains(said), "{told}");
    }
    let config = world.folder.path().join("recrawl.toml");
    std::fs::write(&config, "[[deliver]]\nname = \"x\"\nto = \"solr+http://localhost/docs\"\n").unwrap();
    let told = fails(world.check(), 2);
    assert!(told.contains("unknown kind of target; write it as one of: opensearch+https://"), "{told}");
    std::fs::write(&config, "").unwrap();
    let told = fails(world.run(&["deliver", "status"]), 2);
    assert!(told.contains("add [[deliver]] to the configuration"), "{told}");
}
