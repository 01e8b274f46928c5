//! Documents that a command converts (`[[pages]] convert`): their text, changes, failures and limits.

use crate::harness::{fails, json_lines, program, serve_each, succeeds};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::process::Output;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const UPPER: &str = r#"["tr", "a-z", "A-Z"]"#;

/// A site with a page, documents and an image. Odd editions of /document differ from even ones.
struct Site {
    folder: TempDir,
    url: String,
    edition: Arc<AtomicU64>,
    /// The heads of requests for the document.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let site = Site {
            folder: tempfile::tempdir().unwrap(),
            url,
            edition: Arc::default(),
            asked: Arc::default(),
        };
        let (edition, asked) = (site.edition.clone(), site.asked.clone());
        serve_each(listener, move |target, head| match target {
            "/document" => {
                asked.lock().unwrap().push(head.to_lowercase());
                let edition = edition.load(Relaxed);
                let body = format!("%PDF- a <small> report,\nedition {edition}\n");
                ("application/pdf", format!("ETag: \"{edition}\"\r\n"), body)
            }
            "/untyped" => ("application/octet-stream", String::new(), "%PDF- untyped".into()),
            "/image" => {
                let edition = edition.load(Relaxed);
                ("image/png", format!("ETag: \"{edition}\"\r\n"), format!("dots {edition}"))
            }
            _ => {
                let links = "<a href=/document>d</a><a href=/untyped>u</a><a href=/image>i</a>";
                ("text/html", String::new(), format!("<p>lower case{links}"))
            }
        });
        site
    }

    fn configure(&self, more: &str) {
        let text = "[cycle]\npages = \"100%\"\nwarmup = 0\ndiscovery_min = 100\n[politeness]\ndelay_per_host = \"0 s\"\n\
            delay_per_ip = \"0 s\"\n[fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[hints]\nsitemaps = false\n[storage]\n\
            reserve = \"0 B\"\n";
        fs::write(self.folder.path().join("recrawl.toml"), format!("{text}{more}")).unwrap();
    }

    /// Configures a rule with this command.
    fn convert(&self, command: &str, limits: &str) {
        self.configure(&format!("{limits}[[pages]]\nmatch = \"127.0.0.1\"\nconvert = {command}\n"));
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = program();
        command.current_dir(self.folder.path()).args(words);
        command.args(["--config", "recrawl.toml", "--data-dir", "data"]).output().unwrap()
    }

    fn cycle(&self) {
        succeeds(self.run(&["crawl", "--cycles", "1", "--json", "--seed", &self.url]));
    }

    /// The last visit of a page.
    fn visit(&self, path: &str) -> Value {
        let visits = json_lines(&succeeds(self.run(&["export", "visits", "--out", "-"])));
        let url = format!("{}{path}", self.url);
        visits.into_iter().rfind(|visit| visit["url"] == url).unwrap_or_else(|| panic!("no visit of {url}"))
    }

    /// Outcome and reason of the last visit, and whether the page had changed.
    fn outcome(&self, path: &str) -> [Value; 3] {
        let visit = self.visit(path);
        ["outcome", "why", "changed"].map(|name| visit[name].clone())
    }

    fn shown(&self, path: &str) -> String {
        succeeds(self.run(&["show", &format!("{}{path}", self.url)]))
    }

    fn last_request(&self) -> String {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

/// A rule that comes or goes is no change, and a document that changes is one.
#[test]
fn documents_have_the_text_that_a_command_makes_of_them() {
    let site = Site::new();
    site.configure("");
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], Value::Null);
    site.convert(UPPER, "");
    site.cycle();
    assert!(!site.last_request().contains("if-none-match"), "nobody has read it");
    for path in ["/document", "/untyped", "/image", "/"] {
        assert_eq!(site.visit(path)["changed"], false, "{path}");
    }
    assert_eq!(site.shown("/document"), "%PDF- A <SMALL> REPORT,\nEDITION 0\n");
    assert_eq!(site.shown("/untyped").trim(), "%PDF- UNTYPED");
    assert!(site.shown("/").starts_with("lower case"), "it has text of its own");
    site.cycle();
    assert!(site.last_request().contains("if-none-match: \"0\""), "{}", site.last_request());
    site.edition.store(1, Relaxed);
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], true);
    assert_eq!(site.visit("/image")["changed"], true, "nobody converts it");
    let difference = succeeds(site.run(&["changes", "--diff"]));
    assert!(difference.contains("-EDITION 0\n") && difference.contains("+EDITION 1\n"), "{difference}");
    site.configure("");
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], false, "the rule has gone, not the text");
    assert!(!site.last_request().contains("if-none-match"), "{}", site.last_request());
    site.edition.store(2, Relaxed);
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], true);
    assert_eq!(site.visit("/image")["changed"], true);
}

/// A command that changes is no change of a document. Each is converted again, and sent to who holds its text.
#[test]
fn another_command_converts_documents_again() {
    let site = Site::new();
    let index = "[[deliver]]\nname = \"lines\"\nto = \"jsonl+file:///LINES\"\n";
    let lines = site.folder.path().join("docs.jsonl");
    let index = index.replace("/LINES", &lines.display().to_string());
    site.convert(UPPER, &index);
    site.cycle();
    succeeds(site.run(&["deliver", "send"]));
    site.cycle();
    assert!(site.last_request().contains("if-none-match"), "{}", site.last_request());
    site.convert(r#"["tr", "a-m", "A-M"]"#, &index);
    for is_first in [true, false] {
        site.cycle();
        assert_eq!(site.last_request().contains("if-none-match"), !is_first, "{}", site.last_request());
        for path in ["/document", "/untyped", "/"] {
            assert_eq!(site.visit(path)["changed"], false, "{path}");
        }
    }
    let sent = succeeds(site.run(&["deliver", "send"]));
    assert_eq!(sent, "lines: 2 documents sent, 0 removed\n");
    site.convert(r#"["tr", "a-c", "A-C"]"#, &index);
    site.cycle();
    assert_eq!(site.shown("/document"), "%PDF- A <smAll> report,\nedition 0\n");
    site.edition.store(1, Relaxed);
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], true);
    let status = succeeds(site.run(&["status"]));
    let told = status.lines().find(|line| line.starts_with("converted ")).expect("conversions are told");
    assert!(told.ends_with(" documents in these cycles"), "{told}");
}

#[test]
fn what_cannot_be_converted_has_failed_and_is_not_gone() {
    let limits = "[convert]\ntime = \"1 s\"\nmax_document = \"1 KiB\"\n";
    for (script, limits) in [
        ("echo no such font >&2; exit 3", ""),
        ("sleep 1000 & sleep 1000", limits),
        ("yes", limits),
        ("kill -9 $$", ""),
        ("printf '<%.0s' $(seq 1000)", limits),
        ("echo '<!DOCTYPE html><p>'; yes; exit 0", limits),
    ] {
        // Each has a site of its own: a page that has failed waits some cycles.
        let site = Site::new();
        site.convert(UPPER, "");
        site.cycle();
        assert_eq!(site.outcome("/document")[0], "fetched", "{script}");
        let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
        site.convert(&command, limits);
        site.cycle();
        let [outcome, why, _] = site.outcome("/document");
        assert_eq!((&outcome, &why), (&"failed".into(), &"render".into()), "{script}");
        assert_eq!(site.outcome("/")[0], "fetched", "{script}");
        assert_eq!(site.shown("/document"), "%PDF- A <SMALL> REPORT,\nEDITION 0\n", "{script}");
        site.convert(UPPER, "");
        let is_back = (0..8).any(|_| {
            site.cycle();
            site.outcome("/document")[0] == "fetched"
        });
        assert!(is_back, "{script}");
        assert_eq!(site.visit("/document")["changed"], false, "{script}");
    }
}

#[test]
fn a_command_knows_its_page_and_has_its_limits() {
    let site = Site::new();
    let script =
        "echo $RECRAWL_URL $RECRAWL_TYPE; ulimit -v; cat | wc -c; cat /dev/stdin | wc -c; printf '\\377'";
    let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
    site.convert(&command, "[convert]\nmemory = \"64 MiB\"\n");
    site.cycle();
    let text = site.shown("/document");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let first = format!("{}/document application/pdf", site.url);
    assert_eq!(lines[..3], [&*first, "65536", "34"], "{text}");
    assert_eq!(lines.last(), Some(&"\u{fffd}"), "{text}");
    site.convert(r#"["sh", "-c", "echo '<!DOCTYPE html><title>T</title><p>one<a href=/more>more</a>'"]"#, "");
    site.cycle();
    assert_eq!(site.shown("/document").trim(), "onemore");
    site.cycle();
    assert_eq!(site.outcome("/more")[0], "fetched", "links of the document are followed");
}

#[test]
fn a_command_that_is_not_there_is_told_before_anything_is_done() {
    let site = Site::new();
    site.convert(r#"["no-such-program"]"#, "");
    for words in [&["config", "check"][..], &["crawl", "--cycles", "1", "--seed", &site.url]] {
        let why = fails(site.run(words), 2);
        assert!(why.contains("pages.convert of \"127.0.0.1\": no-such-program is no program"), "{why}");
    }
    assert!(site.asked.lock().unwrap().is_empty());
}

#[test]
fn what_a_command_made_is_searched_delivered_and_exported() {
    let site = Site::new();
    let index = "[[deliver]]\nname = \"search\"\nto = \"index\"\n";
    let html = r#"["sh", "-c", "echo '<!DOCTYPE html><title>Paper</title><h1>Zanzibar</h1>'; cat"]"#;
    site.convert(html, index);
    let tested = succeeds(site.run(&["page", "test", &format!("{}/document", site.url)]));
    assert!(tested.contains("[[pages]] match \"127.0.0.1\""), "{tested}");
    site.cycle();
    succeeds(site.run(&["deliver", "send"]));
    let found = || succeeds(site.run(&["search", "--json", "zanzibar"]));
    let results = || serde_json::from_str::<Value>(&found()).unwrap()["results"].clone();
    let urls: Vec<Value> = results().as_array().unwrap().iter().map(|page| page["url"].clone()).collect();
    let document = format!("{}/document", site.url);
    assert!(urls.contains(&document.clone().into()) && urls.len() == 2, "{urls:?}");
    let markdown = succeeds(site.run(&["show", "--markdown", &document]));
    assert!(markdown.contains("# Zanzibar"), "{markdown}");
    let rows = json_lines(&succeeds(site.run(&["export", "contents", "--text", "--markdown", "--out", "-"])));
    let row = rows.iter().find(|row| row["url"] == *document).expect("the document has content");
    assert_eq!((&row["title"], &row["content_type"]), (&"Paper".into(), &"application/pdf".into()), "{row}");
    assert!(row["text"].as_str().unwrap().contains("edition 0"), "{row}");
    // A failure leaves the copy as it is.
    site.edition.store(1, Relaxed);
    site.convert(r#"["false"]"#, index);
    site.cycle();
    assert_eq!(site.outcome("/document")[0], "failed");
    succeeds(site.run(&["deliver", "send"]));
    assert_eq!(results().as_array().unwrap().len(), 2);
}

/// Of scanned paper, a command makes empty pages.
#[test]
fn a_document_without_text_is_empty_and_loses_its_text_only_at_the_second_visit() {
    let site = Site::new();
    let script = site.folder.path().join("convert");
    site.convert(&serde_json::to_string(&["sh", script.to_str().unwrap()]).unwrap(), "");
    let empty = "printf '\\f\\f'";
    fs::write(&script, empty).unwrap();
    site.cycle();
    assert_eq!(site.outcome("/document"), ["fetched".into(), Value::Null, Value::Null]);
    assert_eq!(site.shown("/document").trim(), "");
    fs::write(&script, "cat").unwrap();
    site.edition.store(1, Relaxed);
    site.cycle();
    assert_eq!(site.visit("/document")["changed"], true);
    for (command, edition, change) in [("true", 2, false), (empty, 3, true)] {
        fs::write(&script, command).unwrap();
        site.edition.store(edition, Relaxed);
        site.cycle();
        assert_eq!(site.visit("/document")["changed"], change, "{command}");
    }
}

#[test]
fn nothing_that_a_command_started_outlives_it() {
    let site = Site::new();
    let pid = site.folder.path().join("pid");
    let script = format!("setsid sleep 1000 & echo $! > '{}'; echo text", pid.display());
    site.convert(&serde_json::to_string(&["sh", "-c", &script]).unwrap(), "");
    site.cycle();
    assert_eq!(site.shown("/document").trim(), "text");
    let pid = fs::read_to_string(pid).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "{pid}");
}
