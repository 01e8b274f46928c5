//! `recrawl watch` and looks at pages that no crawl has fetched.

use crate::daemon::{self, Daemon};
use crate::harness::*;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A shop with one page, whose price can be set, and what was asked for there.
struct Shop {
    page: String,
    price: Arc<AtomicU64>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Shop {
    fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let page = format!("http://{}/shoe", listener.local_addr().unwrap());
        let shop = Shop { page, price: Arc::new(AtomicU64::new(20)), asked: Arc::default() };
        let (price, asked) = (shop.price.clone(), shop.asked.clone());
        serve_each(listener, move |target, _| {
            asked.lock().unwrap().push(target.to_owned());
            let price = price.load(Relaxed);
            let body = format!(
                "<title>A shoe</title><p>1 of 9</p><p class=price>EUR {price},50</p><a href=/other>other</a>"
            );
            match target {
                "/price.json" => {
                    return ("application/json", String::new(), format!("{{\"price\": {price}}}"));
                }
                "/unkept" => {
                    return ("text/html", "X-Robots-Tag: noindex\r\n".into(), format!("<p>{price}"));
                }
                _ => {}
            }
            let fields = if target == "/moved" { "Location: /shoe\r\n".into() } else { String::new() };
            ("text/html", fields, body)
        });
        shop
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

/// In a folder without a configuration; the environment allows loopback and has no delay.
fn at(folder: &Path, words: &[&str]) -> Command {
    let mut command = program();
    command.current_dir(folder).args(words);
    command.env("RECRAWL__FETCH__ALLOW_ADDRESSES", "[\"127.0.0.0/8\"]");
    command.env("RECRAWL__POLITENESS__DELAY_PER_HOST", "0 s").env("RECRAWL__STORAGE__RESERVE", "0 B");
    command.env("RECRAWL__SERVE__LISTEN", "127.0.0.1:0").env("RECRAWL__RENDER__BROWSER", "/nowhere/chromium");
    command
}

fn run(folder: &Path, words: &[&str]) -> std::process::Output {
    at(folder, words).output().unwrap()
}

#[test]
fn a_page_is_shown_then_watched_and_told_of() {
    let (shop, hook) = (Shop::open(), TcpListener::bind("127.0.0.1:0").unwrap());
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let (to, heard) = (format!("http://{}/hook", hook.local_addr().unwrap()), told.clone());
    serve_each(hook, move |target, _| {
        heard.lock().unwrap().push(target.to_owned());
        ("text/plain", String::new(), String::new())
    });
    let folder = tempfile::tempdir().unwrap();
    let words = ["watch", &shop.page, "--select", ".price", "--below", "15", "--every", "1 s", "--to", &to];
    let said = succeeds(run(folder.path(), &words));
    for part in
        ["title       A shoe", "numbers     20.5", "EUR 20,50", "written     recrawl.toml", "`recrawl serve`"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("1 of 9"), "{said}");
    assert_eq!((shop.asked("/shoe"), shop.asked("/other")), (1, 0));
    let again = succeeds(run(folder.path(), &words));
    assert!(again.contains("as it was   recrawl.toml"), "{again}");

    // The daemon has the seed, and looks at the page alone.
    let daemon = Daemon::of(at(folder.path(), &["serve"]));
    daemon.until("visited", |_| shop.asked("/shoe") >= 3);
    shop.price.store(18, Relaxed);
    let seen = shop.asked("/shoe");
    daemon.until("seen", |_| shop.asked("/shoe") >= seen + 2);
    assert!(told.lock().unwrap().is_empty(), "18.50 is not below");
    shop.price.store(12, Relaxed);
    daemon.until("told", |_| !told.lock().unwrap().is_empty());
    assert_eq!(shop.asked("/other"), 0);

    // Another page, beside the daemon: it fetches the page itself, and reads the configuration again.
    let other = shop.page.replace("/shoe", "/boot");
    let said = succeeds(run(folder.path(), &["watch", &other, "--json"]));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["pages"][0]["numbers"], json!([1.0, 9.0, 12.5]), "{said}");
    assert!(said["next"].as_str().unwrap().contains("recrawl.toml: in force"), "{said}");
    assert_eq!(shop.asked("/boot"), 1);
    let text = std::fs::read_to_string(folder.path().join("recrawl.toml")).unwrap();
    assert!(text.contains("# Only the watched pages") && text.contains("/boot"), "{text}");
    daemon.stop();
}

/// Who asked for another threshold was told to edit the file and to repeat the command.
#[test]
fn a_watch_that_is_repeated_with_other_words_changes_what_it_wrote() {
    let shop = Shop::open();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recrawl.toml");
    let [one, two] = ["http://127.0.0.1:9998/", "http://127.0.0.1:9999/"];
    let watch = |words: &[&str]| run(folder.path(), &[&["watch", &shop.page], words].concat());
    let nobody = fails(watch(&["--below", "15"]), 2);
    assert!(nobody.contains("nobody is told of") && nobody.contains("--to"), "{nobody}");
    succeeds(watch(&["--select", ".price", "--below", "15", "--to", one]));
    let written = std::fs::read_to_string(&file).unwrap();
    let mine = written.replace("every = \"1 h\"", "every = \"1 h\"   # often enough") + "# my last words\n";
    std::fs::write(&file, &mine).unwrap();
    let said = succeeds(watch(&["--below", "20", "--every", "30 min", "--select", "p"]));
    for line in [
        "every       1 h becomes 30 min",
        "select      .price becomes p",
        "below       15 becomes 20",
        "changed     ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let expected = mine
        .replace("number >= 15", "number >= 20")
        .replace("\"1 h\"", "\"30 min\"")
        .replace("\".price\"", "\"p\"");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "all else stays");
    let said = succeeds(watch(&["--to", two]));
    assert!(
        said.contains("as before   the target \"127-0-0-1\" is told too") && said.contains("added to"),
        "{said}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&expected) && text.matches("[[notify]]").count() == 2, "{text}");
    // The condition of a person is theirs.
    std::fs::write(&file, text.replace("kind != 'changed' or not number >= 20", "number < 3")).unwrap();
    let theirs = fails(watch(&["--below", "18", "--to", one]), 2);
    assert!(
        theirs.contains("recrawl.toml, line ") && theirs.contains("is not by a watch: set `when"),
        "{theirs}"
    );
}

/// A configuration need not be of a crawl: it may only allow an address.
#[test]
fn a_first_watch_is_of_its_page_alone_and_a_crawl_goes_on_as_it_was() {
    let shop = Shop::open();
    for is_begun in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("recrawl.toml");
        std::fs::write(&file, "[log]\nformat = \"human\"\n").unwrap();
        if is_begun {
            succeeds(run(folder.path(), &["add", &shop.page]));
        }
        let before = shop.asked("/other");
        succeeds(run(folder.path(), &["watch", &shop.page, "--every", "1 min"]));
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.contains("max_depth = 0"), !is_begun, "{text}");
        succeeds(run(folder.path(), &["crawl", "--cycles", "2"]));
        assert_eq!(shop.asked("/other") > before, is_begun, "{text}");
    }
}

#[test]
fn a_watch_sees_its_page_by_the_rules_in_force() {
    let shop = Shop::open();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recrawl.toml");
    let site = shop.page.replace("/shoe", "/*");
    let rule = format!("[[pages]]\nmatch = \"{site}\"\nignore = [\".price\"]\n");
    std::fs::write(&file, &rule).unwrap();
    let nothing = fails(run(folder.path(), &["watch", &shop.page, "--select", ".price"]), 1);
    assert!(nothing.contains("finds no text") && nothing.contains("add --render"), "{nothing}");
    let said = succeeds(run(folder.path(), &["watch", &shop.page]));
    assert!(said.contains("1 of 9") && !said.contains("EUR"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("ignore = [\".price\"]").count(), 2, "the rule of the page has it too: {text}");
    // A rule of the page alone gets a rhythm, also without somebody to tell.
    let own = rule.replace(&site, &shop.page);
    std::fs::write(&file, &own).unwrap();
    let said = succeeds(run(folder.path(), &["watch", &shop.page]));
    assert!(
        said.contains("every       none becomes 1 h") && said.contains("changed     recrawl.toml"),
        "{said}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(own.lines().all(|line| text.contains(line)) && text.contains("\nevery = \"1 h\"\n"), "{text}");
    let said = succeeds(run(folder.path(), &["watch", &shop.page]));
    assert!(
        said.contains("as it was   recrawl.toml") && said.contains("watch with `recrawl serve`"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    // Where no line can be added to it, its place is named.
    let inline = format!("pages = [{{ match = \"{}\", ignore = [\".ads\"] }}]\n", shop.page);
    std::fs::write(&file, &inline).unwrap();
    let refused = fails(run(folder.path(), &["watch", &shop.page]), 2);
    assert!(
        refused.contains("recrawl.toml, line 1: every is none, and this [[pages]] has no line"),
        "{refused}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), inline);
}

/// The page of a watch that failed stayed in the crawl, with its site, and nobody had asked for that.
#[test]
fn a_watch_that_fails_beside_a_daemon_adds_nothing() {
    let shop = Shop::open();
    let folder = tempfile::tempdir().unwrap();
    succeeds(run(folder.path(), &["watch", &shop.page, "--every", "1 d"]));
    let file = folder.path().join("recrawl.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    let daemon = Daemon::of(at(folder.path(), &["serve"]));
    daemon.until("visited", |status| status["state"] == "waiting" && status["cycle"].is_null());
    let boot = shop.page.replace("/shoe", "/boot");
    let nothing = run(folder.path(), &["watch", &boot, "--select", ".none"]);
    let said = String::from_utf8_lossy(&nothing.stderr);
    assert!(
        nothing.status.code() == Some(1) && said.contains("finds no text, so nothing was written"),
        "{said}"
    );
    assert!(!said.contains("WARN"), "{said}");
    assert_eq!(shop.asked("/boot"), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let unknown = fails(run(folder.path(), &["explain", &boot]), 1);
    assert!(unknown.contains("unknown URL"), "{unknown}");
    // The next one has it.
    succeeds(run(folder.path(), &["watch", &boot, "--select", ".price"]));
    daemon.until("visited", |_| shop.asked("/boot") >= 3);
    daemon.stop();
}

#[test]
fn a_watch_that_sees_nothing_writes_nothing() {
    let shop = Shop::open();
    let folder = tempfile::tempdir().unwrap();
    let [moved, json, unkept] =
        ["/moved", "/price.json", "/unkept"].map(|path| shop.page.replace("/shoe", path));
    let to = ["--to", "http://127.0.0.1:8099/", "--below", "30"];
    for (words, code, says) in [
        (&[&shop.page, "--select", ".none"][..], 1, "--select \".none\" finds no text"),
        (&[&shop.page, "--select", "title[", "--to", "http://127.0.0.1:9/"], 2, "is not a CSS selector"),
        (&[&shop.page, "--to", "gopher://x"], 2, "--to: \"gopher\" is no kind of target"),
        (&[&shop.page, "--every", "1 ms"], 2, "configuration recrawl.toml: pages.every"),
        (&[&shop.page, "--to", "discord://1/abc"], 2, "\"1\" is no host"),
        (&[&moved], 1, "redirects, to /shoe: name the page"),
        (&[&json, "--select", ".price"], 1, "--select chooses elements of HTML, which this is not"),
        (&[&[&*unkept], &to[..]].concat(), 1, "asks not to be archived"),
        (&[&shop.page, "--render"], 2, "/nowhere/chromium"),
        (&["nonsense"], 2, "nonsense"),
    ] {
        let line = fails(run(folder.path(), &[&["watch"], words].concat()), code);
        assert!(line.contains(says), "{words:?}: {line}");
    }
    assert_eq!(
        run(folder.path(), &["watch", &shop.page, "--below", "3"]).status.code(),
        Some(2),
        "--to is missing"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_rule_is_tested_before_the_first_crawl() {
    let shop = Shop::open();
    let folder = tempfile::tempdir().unwrap();
    let said = succeeds(run(folder.path(), &["page", "test", &shop.page, "--include", ".price"]));
    assert!(said.contains("EUR 20,50") && !said.contains("1 of 9"), "{said}");
    assert!(!folder.path().join("data").exists(), "nothing is left of it");
    let missing = fails(run(folder.path(), &["page", "test", &shop.page, "--include", ".none"]), 1);
    assert!(missing.contains("matches no element"), "{missing}");
    // What is blocked is not fetched, not even for a look.
    let world = daemon::world(5, 1, "");
    world.crawl(1);
    let host = host_of(&shop.page);
    succeeds(world.run(&["block", &host]));
    let asked = shop.asked.lock().unwrap().len();
    let blocked = fails(world.run(&["page", "test", &shop.page]), 2);
    assert!(blocked.contains("blocked by"), "{blocked}");
    assert_eq!(shop.asked.lock().unwrap().len(), asked);
}
