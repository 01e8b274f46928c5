//! The full-text index: kept in step, searched by the command, over HTTP and by a model, through damage, kills and a full
//! disk.

use crate::crash::setting;
use crate::daemon::Daemon;
use crate::harness::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;

/// Pages of the site.
const PAGES: u64 = 40;

/// Numbered pages with a word of each, a word of its edition, and one that all have. In even editions, the fifth says that it
/// is a duplicate of the sixth. The eighth and the ninth always say that of each other.
fn site(edition: Arc<AtomicU64>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    serve_each(listener, move |target, _| {
        let edition = edition.load(Relaxed);
        let number = target.trim_start_matches('/');
        let links: String = (0..PAGES).map(|page| format!("<a href=/{page}>{page}</a> ")).collect();
        let title = if number == "7" { "Zanzibar &lt;b&gt;" } else { "A page" };
        let canonical = match number {
            "5" if edition.is_multiple_of(2) => "<link rel=canonical href=/6>",
            "8" => "<link rel=canonical href=/9>",
            "9" => "<link rel=canonical href=/8>",
            _ => "",
        };
        let text = format!("<p>The gardeners, term{number}x and edition{edition}x.</p><nav>{links}</nav>");
        ("text/html", String::new(), format!("<html lang=en>{canonical}<title>{title}</title>{text}"))
    });
    site
}

struct World {
    folder: TempDir,
    site: String,
    edition: Arc<AtomicU64>,
}

impl World {
    fn new() -> World {
        let edition = Arc::new(AtomicU64::new(0));
        let world = World { folder: tempfile::tempdir().unwrap(), site: site(edition.clone()), edition };
        world.configure("[[deliver]]\nname = \"search\"\nto = \"index\"\nbatch = 7\n");
        world
    }

    fn configure(&self, deliver: &str) {
        let text = format!(
            "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"0 s\"\ndelay_per_ip = \"0 s\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[hints]\nsitemaps = false\n[storage]\nreserve = \"0 B\"\n\
             [serve]\nlisten = \"127.0.0.1:0\"\n{deliver}"
        );
        fs::write(self.folder.path().join("recrawl.toml"), text).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.args(words).arg("--config").arg(self.folder.path().join("recrawl.toml"));
        command.arg("--data-dir").arg(self.data());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Visits all pages.
    fn crawl(&self, edition: u64) {
        self.edition.store(edition, Relaxed);
        succeeds(self.run(&["crawl", "--cycles", "2", "-q", "--seed", &self.site]));
    }

    fn send(&self) -> String {
        succeeds(self.run(&["deliver", "send"]))
    }

    fn found(&self, words: &[&str]) -> Value {
        let most: &[&str] = if words.contains(&"--limit") { &[] } else { &["--limit", "100"] };
        let words = [&["search", "--json"], most, words].concat();
        serde_json::from_str(&succeeds(self.run(&words))).unwrap()
    }

    /// Paths of the pages that have these words.
    fn paths(&self, words: &[&str]) -> BTreeSet<String> {
        let found = self.found(words);
        let results = found["results"].as_array().unwrap().iter();
        results.map(|result| result["url"].as_str().unwrap()[self.site.len()..].to_owned()).collect()
    }

    /// Each page is found by its own word, with the text of its edition, once.
    fn is_whole(&self, edition: u64) {
        let all: BTreeSet<String> =
            (0..PAGES).map(|page| format!("/{page}")).chain(["/".to_owned()]).collect();
        assert_eq!(self.paths(&["gardener", &format!("edition{edition}x")]), all);
        assert_eq!(self.found(&["gardener"])["total"], json!(PAGES + 1));
        assert_eq!(self.paths(&["term7x"]), BTreeSet::from(["/7".to_owned()]));
    }
}

#[test]
fn pages_are_found_as_they_are_now() {
    let world = World::new();
    world.crawl(0);
    let told = fails(world.run(&["search", "gardener"]), 1);
    assert!(told.contains("no index yet") && told.contains("recrawl deliver send"), "{told}");
    assert_eq!(world.send(), "search: 41 documents sent, 0 removed\n");
    world.is_whole(0);
    let found =
        world.found(&["ZANZIBAR gardening -elsewhere", "--host", "127.0.0.1", "--changed-since", "1 d"]);
    let result = &found["results"][0];
    assert_eq!(
        (&found["total"], &found["is_partial"], &result["title"]),
        (&json!(1), &json!(false), &json!("Zanzibar <b>"))
    );
    let marked = json!({"text": "gardeners", "is_match": true});
    assert_eq!(result["snippet"][1], marked, "{result}");
    assert_eq!(world.paths(&["gardener", "--host", "*.example"]), BTreeSet::new());
    assert_eq!(world.found(&["gardener", "--host", "*"])["total"], json!(PAGES + 1), "all hosts");
    for word in ["-winter", "-hats", "-verb"] {
        assert_eq!(world.found(&["gardener", word, "--limit", "2"])["total"], json!(PAGES + 1), "{word}");
    }
    // As people read it: no escape sequence, a note where not all words are there.
    let output = world.run(&["search", "term7x", "nowhere"]);
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("no page has all of these words; some of them: 1 page")
    );
    assert!(succeeds(output).starts_with("Zanzibar <b>\n    http://"));

    world.crawl(1);
    world.send();
    world.is_whole(1);
    assert_eq!(world.found(&["edition0x"])["total"], 0);
}

#[test]
fn what_is_no_query_is_told_and_bounded() {
    let world = World::new();
    world.crawl(0);
    world.send();
    let long = "a ".repeat(50_000);
    for (words, said) in [
        (&["\""][..], "no word to look for"),
        (&["! -gardener"], "no word to look for"),
        (&[&long], "at most 1000 are read"),
        (&["x", "--host", "https://example.com/"], "host"),
    ] {
        let told = fails(world.run(&[&["search"], words].concat()), 2);
        assert!(told.contains(said), "{told}");
    }
    // A quote that is not closed, and one letter.
    assert_eq!(world.found(&["\"the gardeners"])["total"], json!(PAGES + 1));
    assert_eq!(world.found(&["a"])["results"].as_array().unwrap().len(), 40);
    world.configure("");
    let told = fails(world.run(&["search", "x"]), 2);
    assert!(told.contains("no index is kept; add to recrawl.toml: [[deliver]]"), "{told}");
}

/// All bytes of a folder.
fn bytes(folder: &Path) -> Vec<u8> {
    fs::read_dir(folder).unwrap().flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn pages_that_were_taken_down_leave_at_once() {
    let world = World::new();
    world.crawl(0);
    world.send();
    let index = world.data().join("index");
    let has = |word: &str| bytes(&index).windows(word.len()).any(|window| window == word.as_bytes());
    assert!(has("Zanzibar") && has(&format!("{}/7", world.site)));
    let told = succeeds(world.run(&["takedown", "--page", &format!("{}/7", world.site)]));
    assert!(!told.contains("document"), "{told}");
    assert!(!has("Zanzibar") && !has("zanzibar"));
    assert_eq!((world.paths(&["zanzibar"]), world.paths(&["term8x"]).len()), (BTreeSet::new(), 1));
    assert_eq!(world.send(), "search: 0 documents sent, 1 removed\n");
    assert_eq!(world.found(&["gardener"])["total"], json!(PAGES));
}

#[test]
fn a_damaged_a_lost_and_an_unknown_index_are_made_anew() {
    let world = World::new();
    world.crawl(0);
    world.send();
    let index = world.data().join("index");
    let files = || fs::read_dir(&index).unwrap().map(|file| file.unwrap().path());
    let largest = || files().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let harms: [(&str, &dyn Fn()); 6] = [
        ("made anew", &|| fs::write(largest(), "damaged").unwrap()),
        ("made anew", &|| fs::remove_file(largest()).unwrap()),
        ("made anew", &|| {
            let path = largest();
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("made anew", &|| fs::write(index.join("meta.json"), "{}").unwrap()),
        ("made anew", &|| fs::remove_dir_all(&index).unwrap()),
        ("", &|| drop(succeeds(world.run(&["deliver", "rebuild", "search"])))),
    ];
    for (said, harm) in harms {
        harm();
        let output = world.run(&["deliver", "send"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
        assert_eq!(succeeds(output), "search: 41 documents sent, 0 removed\n");
        world.is_whole(0);
        assert_eq!(world.send(), "search: 0 documents sent, 0 removed\n");
    }
    succeeds(world.run(&["repository", "verify"]));
}

#[test]
fn a_full_disk_is_told_and_the_next_delivery_goes_on() {
    let world = World::new();
    world.crawl(0);
    let send = world.command(&["deliver", "send"]);
    let mut shell = Command::new("bash");
    // A write beyond one KiB fails, as on a full disk. SIGXFSZ is ignored, so the program is not killed.
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash"])
        .arg(send.get_program())
        .args(send.get_args());
    shell.envs(send.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = fails(shell.output().unwrap(), 1);
    assert!(told.contains("File too large"), "{told}");
    world.send();
    world.is_whole(0);
}

/// RECRAWL_KILLS sets how often it is killed, RECRAWL_KILL_SEED when.
#[test]
fn kills_while_indexing_lose_and_repeat_nothing() {
    let world = World::new();
    let (kills, mut lot) =
        (setting("RECRAWL_KILLS", 8), StdRng::seed_from_u64(setting("RECRAWL_KILL_SEED", 1)));
    let (mut killed, mut edition) = (0, 0);
    world.crawl(edition);
    for kill in 0..kills {
        if kill % 4 == 3 {
            // Whatever was sent before is replaced.
            edition += 1;
            world.crawl(edition);
        }
        let mut child = world.command(&["deliver", "send"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(lot.random_range(0..150_000)));
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        if kill % 8 == 7 {
            world.send();
            world.is_whole(edition);
        }
    }
    println!("{killed} of {kills} were killed before their end");
    world.send();
    world.is_whole(edition);
}

#[test]
fn a_daemon_keeps_the_index_in_step_and_answers() {
    let world = World::new();
    world.crawl(0);
    let daemon = Daemon::of(world.command(&["serve"]));
    let total = |query: &str| {
        let (status, found) = daemon.ask("GET", &format!("/api/v1/search?q={query}"), None);
        if status == 200 { found["total"].as_u64().unwrap() } else { 0 }
    };
    daemon.until("indexed", |_| total("gardener") == PAGES + 1);
    // Beside the daemon, too.
    world.is_whole(0);
    world.edition.store(1, Relaxed);
    daemon.until("the change is there", |_| total("edition1x") == PAGES + 1);
    let (status, found) = daemon.ask("GET", "/api/v1/search?q=zanzibar&limit=1", None);
    assert_eq!((status, &found["results"][0]["title"]), (200, &json!("Zanzibar <b>")));
    let (status, refused) = daemon.ask("GET", "/api/v1/search?q=%22", None);
    assert_eq!((status, &refused["at"]), (422, &json!("q")));
    succeeds(world.run(&["takedown", "--page", &format!("{}/7", world.site)]));
    daemon.until("taken down", |_| total("zanzibar") == 0 && total("gardener") == PAGES);
    daemon.stop();
}

/// A session of a model: one message a line, and the answers to those with an id.
#[test]
fn a_model_searches_reads_and_sees_changes() {
    let world = World::new();
    world.crawl(0);
    world.crawl(1);
    world.send();
    let mut child = world.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |method: &str, params: Value| -> Value {
        let message = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], method);
        answer
    };
    assert_eq!(ask("tools/list", json!({}))["error"]["code"], -32600);
    let begun =
        ask("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}));
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    let tools = ask("tools/list", json!({}));
    let names: Vec<&Value> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search", "read", "changes"]);
    let mut call = |name: &str, arguments: Value| -> (bool, String) {
        let answer = ask("tools/call", json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        (result["isError"].as_bool().unwrap(), result["content"][0]["text"].as_str().unwrap().to_owned())
    };
    let page = format!("{}/7", world.site);
    let (is_error, text) = call("search", json!({"query": "zanzibar gardener", "limit": 3}));
    assert!(!is_error && text.starts_with("Zanzibar <b>\n") && text.contains(&page), "{text}");
    let (is_error, text) = call("read", json!({"url": page}));
    assert!(!is_error && text.contains("The gardeners, term7x and edition1x."), "{text}");
    assert!(text.starts_with("(text of 20") && !text.contains("not found any more"), "{text}");
    let (is_error, text) = call("changes", json!({"since": "1 d", "pages": [page], "kinds": ["new"]}));
    assert!(!is_error && text.contains("  new") && !text.contains("  changed"), "{text}");
    let (is_error, text) = call("changes", json!({"since": "1 d", "pages": [page], "diff": true}));
    assert!(
        !is_error && text.contains("changed") && text.contains("+The gardeners, term7x and edition1x."),
        "{text}"
    );
    // All of them, in parts.
    let (mut asked, mut seen) = (json!({"since": "1 d", "limit": 15}), BTreeSet::new());
    loop {
        let (is_error, text) = call("changes", asked.clone());
        assert!(!is_error, "{text}");
        seen.extend(text.lines().filter(|line| line.contains("  changed")).map(str::to_owned));
        let Some((_, next)) = text.split_once("ask again with next = ") else { break };
        asked["next"] = serde_json::from_str(next.trim_end_matches(')')).unwrap();
    }
    assert_eq!(seen.len() as u64, PAGES + 1);
    for (name, arguments, said) in [
        ("search", json!({"query": "\""}), "no word to look for"),
        ("search", json!({"words": "x"}), "unknown field"),
        ("read", json!({"url": format!("{}/none", world.site)}), "unknown URL"),
        ("changes", json!({"since": "last week"}), "yesterday"),
        ("changes", json!({"kinds": ["lost"]}), "lost"),
    ] {
        let (is_error, text) = call(name, arguments);
        assert!(is_error && text.contains(said), "{name}: {text}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_index_that_no_target_keeps_any_more_is_removed() {
    let world = World::new();
    world.crawl(0);
    world.send();
    let index = world.data().join("index");
    world.configure("");
    let told = fails(world.run(&["deliver", "send"]), 2);
    assert!(told.contains("index is left of an earlier one: remove it") && index.exists(), "{told}");
    let lines = world.folder.path().join("lines.jsonl");
    world.configure(&format!("[[deliver]]\nname = \"lines\"\nto = \"jsonl+file://{}\"\n", lines.display()));
    let output = world.run(&["deliver", "send"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("no target of [[deliver]] keeps it"),
        "{output:?}"
    );
    assert_eq!(succeeds(output), "lines: 41 documents sent, 0 removed\n");
    assert!(!index.exists());
}

#[test]
fn pages_outside_the_scope_are_counted() {
    let world = World::new();
    world.crawl(0);
    world.configure(
        "[[deliver]]\nname = \"search\"\nto = \"index\"\n[scope]\nrefuse_hosts = [\"127.0.0.1\"]\n",
    );
    assert_eq!(world.send(), "search: 0 documents sent, 0 removed; 41 known pages outside the scope\n");
}

#[test]
fn a_page_that_names_another_as_canonical_is_folded_into_it_as_long_as_it_does() {
    let world = World::new();
    world.configure("[[deliver]]\nname = \"search\"\nto = \"index\"\ncanonical = \"fold\"\n");
    world.crawl(0);
    assert_eq!(world.send(), "search: 40 documents sent, 0 removed\n");
    let found = |number: u64| world.paths(&[&format!("term{number}x")]).len();
    assert_eq!([5, 6, 8, 9].map(found), [0, 1, 1, 1]);
    world.crawl(1);
    assert_eq!((world.send().as_str(), found(5)), ("search: 41 documents sent, 0 removed\n", 1));
    world.crawl(2);
    assert_eq!((world.send().as_str(), found(5)), ("search: 40 documents sent, 1 removed\n", 0));
    // The page that it names goes.
    succeeds(world.run(&["takedown", "--page", &format!("{}/6", world.site)]));
    assert_eq!((world.send().as_str(), found(5)), ("search: 1 document sent, 1 removed\n", 1));
}

/// The client that comes with the wheel, as a script has it.
const SCRIPT: &str = r#"
import sys
sys.path.insert(0, "clients/python")
import recrawl
crawl = recrawl.connect(sys.argv[1])
assert crawl.status()["pages"] == 41, crawl.status()
found = crawl.search("zanzibar", host="127.0.0.1", limit=1)
assert [page["title"] for page in found["results"]] == ["Zanzibar <b>"], found
changes = list(crawl.all_changes(limit=7, changes="changed"))
assert len({change["url"] for change in changes}) == 41, changes
assert crawl.changes(limit=7, diff=True)["changes"][0]["difference"]
page = crawl.page(found["results"][0]["url"])
assert page["in_scope"] is True, page
for refused, status in [(lambda: crawl.search('"'), 422), (crawl.pause, 401), (lambda: crawl.host("none.example"), 404)]:
    try:
        refused()
        sys.exit(f"{status} was expected")
    except recrawl.RecrawlError as error:
        assert error.status == status and error.problem["title"] in str(error), error
"#;

#[test]
fn the_python_client_asks_a_daemon() {
    let world = World::new();
    world.crawl(0);
    world.crawl(1);
    world.send();
    let daemon = Daemon::of(world.command(&["serve"]));
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, &format!("http://{}", daemon.address)]);
    let ran = python.current_dir(env!("CARGO_MANIFEST_DIR").to_owned() + "/../..").output();
    match ran {
        Ok(output) => drop(succeeds(output)),
        Err(e) => eprintln!("skipped: python3: {e}"),
    }
    daemon.stop();
}
