//! A real server of documents, Typesense: random webs, rules and takedowns, kills of both sides, answers that get lost and
//! requests that come twice. In the end the server holds what it should, and never what it must not.

use crate::crash::setting;
use crate::harness::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KEY: &str = "secret";
const PAGES: usize = 10;
const COLLECTION: &str = "/collections/docs";

/// A server with a folder of its own.
struct Typesense {
    program: PathBuf,
    folder: TempDir,
    /// Those of its API and of its peers.
    ports: [u16; 2],
    child: Child,
}

impl Drop for Typesense {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it; none if it is not installed. RECRAWL_TYPESENSE names the program (scripts/typesense-server.sh).
#[expect(
    clippy::disallowed_methods,
    reason = "a component that may be installed is named by a documented variable"
)]
fn typesense() -> Option<Typesense> {
    let program = PathBuf::from(std::env::var_os("RECRAWL_TYPESENSE")?);
    if !program.is_file() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
    let child = Typesense::spawn(&program, &folder, ports);
    let server = Typesense { program, folder, ports, child };
    server.answers();
    Some(server)
}

impl Typesense {
    fn spawn(program: &PathBuf, folder: &TempDir, [api, peers]: [u16; 2]) -> Child {
        let mut command = Command::new(program);
        command.arg("--data-dir").arg(folder.path()).args(["--api-key", KEY, "--api-address", "127.0.0.1"]);
        command.args(["--api-port", &api.to_string(), "--peering-address", "127.0.0.1"]);
        command.args(["--peering-port", &peers.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start(&mut self) {
        self.child = Typesense::spawn(&self.program, &self.folder, self.ports);
        self.answers();
    }

    fn answers(&self) {
        let begun = Instant::now();
        while self.ask("GET", "/health").is_none_or(|(status, _)| status != 200) {
            assert!(begun.elapsed() < PATIENCE, "typesense does not answer");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn ask(&self, method: &str, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[0])).ok()?;
        let head = format!("{method} {path} HTTP/1.0\r\nx-typesense-api-key: {KEY}\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The documents by id, without what is of one delivery.
    fn documents(&self) -> BTreeMap<String, Value> {
        let (status, lines) = self.ask("GET", &format!("{COLLECTION}/documents/export")).unwrap();
        assert_eq!(status, 200, "{lines}");
        json_lines(&lines).into_iter().map(of_content).collect()
    }

    /// The server behind a line that loses answers. As many requests as `losses` says lose theirs; half of them come twice.
    fn behind_losses(&self, losses: Arc<AtomicU64>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, server) = (listener.local_addr().unwrap().port(), self.ports[0]);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let losses = losses.clone();
                // Without the server, the client is left alone.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                thread::spawn(move || forward(client, server, &losses));
            }
        });
        port
    }
}

/// Forwards requests and their answers, until one answer gets lost.
fn forward(client: TcpStream, server: TcpStream, losses: &AtomicU64) {
    let request = Arc::new(Mutex::new(Vec::new()));
    let (mut from, mut to, sent) =
        (client.try_clone().unwrap(), server.try_clone().unwrap(), request.clone());
    thread::spawn(move || {
        let mut part = [0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut part) {
            sent.lock().unwrap().extend_from_slice(&part[..read]);
            if to.write_all(&part[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut client, mut server, mut part) = (client, server, [0; 1 << 16]);
    while let Ok(read @ 1..) = server.read(&mut part) {
        let left = losses.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if let Ok(left) = left {
            let repeated = std::mem::take(&mut *request.lock().unwrap());
            if left % 2 == 0
                && let Ok(mut again) = TcpStream::connect(server.peer_addr().unwrap())
            {
                let _ = again.write_all(&repeated);
                let _ = again.read(&mut part);
            }
            break;
        }
        request.lock().unwrap().clear();
        if client.write_all(&part[..read]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

/// A document by its id, without version, time, and the operation that its line has in a file.
fn of_content(mut document: Value) -> (String, Value) {
    let fields = document.as_object_mut().unwrap();
    fields.retain(|name, value| !matches!(&**name, "version" | "fetched_at" | "op") && !value.is_null());
    (fields["id"].as_str().unwrap().to_owned(), document)
}

/// The answer of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PageAnswer {
    Text(u32),
    /// A duplicate of another page.
    Of(usize, u32),
    NoIndex,
    Redirect,
}

impl PageAnswer {
    fn random(lot: &mut StdRng) -> PageAnswer {
        match lot.random_range(0..10) {
            0 => PageAnswer::NoIndex,
            1 => PageAnswer::Redirect,
            2 | 3 => PageAnswer::Of(lot.random_range(0..PAGES), lot.random_range(0..100)),
            _ => PageAnswer::Text(lot.random_range(0..100)),
        }
    }

    /// The number in the text of its document, if there may be one.
    fn edition(self) -> Option<u32> {
        match self {
            PageAnswer::Text(edition) | PageAnswer::Of(_, edition) => Some(edition),
            PageAnswer::NoIndex | PageAnswer::Redirect => None,
        }
    }

    /// The other page that a page names as its original.
    fn original(self, page: usize) -> Option<usize> {
        match self {
            PageAnswer::Of(original, _) if original != page => Some(original),
            _ => None,
        }
    }
}

/// The pages, and which of them were requested since they changed last.
struct ServedPages {
    states: Vec<PageAnswer>,
    asked: BTreeSet<usize>,
}

fn serve(web: Arc<Mutex<ServedPages>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    serve_each(listener, move |target, _| {
        let links: String = (0..PAGES).map(|page| format!("<a href=/{page}>{page}</a> ")).collect();
        let mut web = web.lock().unwrap();
        let page = target[1..].parse().ok();
        web.asked.extend(page);
        let (head, edition) = match page.and_then(|page: usize| web.states.get(page)) {
            None => (String::new(), 0),
            Some(PageAnswer::Redirect) => return ("text/html", "Location: /\r\n".into(), String::new()),
            Some(PageAnswer::NoIndex) => ("<meta name=robots content=noindex>".into(), 0),
            Some(PageAnswer::Of(original, edition)) => {
                (format!("<link rel=canonical href=/{original}>"), *edition)
            }
            Some(PageAnswer::Text(edition)) => (String::new(), *edition),
        };
        let text = format!("<p>Words of page {target}, edition {edition}x.</p><p>{links}</p>");
        ("text/html", String::new(), format!("<title>Page {target}</title>{head}{text}"))
    });
    site
}

/// A web, its crawl, and what the server must not hold.
struct Life<'s> {
    server: &'s mut Typesense,
    lot: StdRng,
    folder: TempDir,
    web: Arc<Mutex<ServedPages>>,
    site: String,
    losses: Arc<AtomicU64>,
    port: u16,
    excluded: Option<usize>,
    blocked: BTreeSet<usize>,
    taken_down: BTreeSet<usize>,
    is_markdown: bool,
    kills: [u32; 2],
}

impl Life<'_> {
    fn configure(&self) {
        let exclude = self.excluded.map_or(String::new(), |page| format!("exclude = [\"*/{page}\"]"));
        let content = if self.is_markdown { "markdown" } else { "text" };
        let lines = self.folder.path().join("docs.jsonl");
        let text = format!(
            "[cycle]\npages = \"100%\"\nperiod = \"1 s\"\n[politeness]\ndelay_per_host = \"0 s\"\ndelay_per_ip = \"0 s\"\n\
             [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n[hints]\nsitemaps = false\n[storage]\nreserve = \"0 B\"\n\
             [scope]\n{exclude}\n[[deliver]]\nname = \"search\"\nto = \"typesense+http://127.0.0.1:{}/docs\"\n\
             bearer = \"env:KEY\"\nbatch = 3\ntimeout = \"2 s\"\nallow_addresses = [\"127.0.0.1\"]\n\
             canonical = \"fold\"\ncontent = \"{content}\"\n[[deliver]]\nname = \"lines\"\nto = \"jsonl+file://{}\"\n\
             canonical = \"fold\"\ncontent = \"{content}\"\n",
            self.port,
            lines.display(),
        );
        std::fs::write(self.folder.path().join("recrawl.toml"), text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.env("KEY", KEY).args(words).arg("--config").arg(self.folder.path().join("recrawl.toml"));
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command
    }

    fn run(&self, words: &[&str]) -> String {
        succeeds(self.command(words).output().unwrap())
    }

    fn url(&self, page: usize) -> String {
        format!("{}/{page}", self.site)
    }

    fn id(&self, page: usize) -> String {
        recrawl_delivery::name_of(&self.url(page))
    }

    /// May a page neither be requested nor delivered?
    fn is_out(&self, page: usize) -> bool {
        self.excluded == Some(page) || self.blocked.contains(&page) || self.taken_down.contains(&page)
    }

    /// Crawls until each page was requested since the last change: a busy machine may time out.
    fn crawl(&self) {
        self.web.lock().unwrap().asked.clear();
        let begun = Instant::now();
        let is_asked = |page: &usize| self.is_out(*page) || self.web.lock().unwrap().asked.contains(page);
        while !(0..PAGES).all(|page| is_asked(&page)) {
            assert!(begun.elapsed() < PATIENCE, "a page is never visited");
            self.run(&["crawl", "--cycles", "1", "-q", "--seed", &self.site]);
        }
    }

    /// Changes the web, and what operators want of it.
    fn change(&mut self) {
        for _ in 0..self.lot.random_range(0..5) {
            let page = self.lot.random_range(0..PAGES);
            self.web.lock().unwrap().states[page] = PageAnswer::random(&mut self.lot);
        }
        let page = self.lot.random_range(0..PAGES);
        match self.lot.random_range(0..8) {
            0 => self.excluded = Some(page),
            1 => self.excluded = None,
            2 if self.blocked.insert(page) => drop(self.run(&["block", &self.url(page)])),
            3 if self.blocked.remove(&page) => drop(self.run(&["unblock", &self.url(page)])),
            4 => self.is_markdown = !self.is_markdown,
            5 => drop(self.run(&["deliver", "rebuild", "search"])),
            _ => {}
        }
        self.configure();
    }

    /// Delivers until all is taken. A page that was taken down leaves with the first delivery that ends well.
    fn deliver(&self) {
        let begun = Instant::now();
        while !self.command(&["deliver", "send"]).output().unwrap().status.success() {
            assert!(begun.elapsed() < PATIENCE, "it is never delivered");
            thread::sleep(Duration::from_millis(100));
        }
        self.keeps_out();
    }

    fn keeps_out(&self) {
        for page in &self.taken_down {
            let path = format!("{COLLECTION}/documents/{}", self.id(*page));
            assert_eq!(self.server.ask("GET", &path).unwrap().0, 404, "page {page} was taken down");
        }
    }

    /// Begins a delivery, and kills one of both sides while it is on its way.
    fn is_killed(&mut self) {
        let mut send = self.command(&["deliver", "send"]);
        let mut child = send.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(self.lot.random_range(0..250_000)));
        if self.lot.random() {
            child.kill().unwrap();
            self.kills[0] += u32::from(!child.wait().unwrap().success());
        } else {
            self.server.kill();
            self.kills[1] += u32::from(!child.wait().unwrap().success());
            self.server.start();
        }
        self.keeps_out();
    }

    /// The view that an operator has of the web, from its states alone.
    fn expected(&self) -> BTreeMap<String, u32> {
        let states = &self.web.lock().unwrap().states;
        let has_document = |page: &usize| states[*page].edition().is_some() && !self.is_out(*page);
        let is_folded = |page: usize| {
            let original = states[page].original(page);
            original.is_some_and(|of| has_document(&of) && states[of].original(of).is_none())
        };
        let pages = (0..PAGES).filter(has_document).filter(|page| !is_folded(*page));
        pages.map(|page| (self.id(page), states[page].edition().unwrap())).collect()
    }

    /// The server holds what the states say, and the same documents as a file to which nothing happened.
    fn is_exact(&self) {
        let mut held = self.server.documents();
        let mut lines = BTreeMap::new();
        for line in json_lines(&std::fs::read_to_string(self.folder.path().join("docs.jsonl")).unwrap()) {
            match line["op"] == "put" {
                true => lines.extend([of_content(line)]),
                false => drop(lines.remove(line["id"].as_str().unwrap())),
            }
        }
        assert_eq!(held, lines);
        held.remove(&recrawl_delivery::name_of(&format!("{}/", self.site))).expect("the first page");
        let edition = |document: &Value| {
            let text = document["text"].as_str().unwrap();
            let (_, edition) = text.split_once("edition ").unwrap();
            edition.split('x').next().unwrap().parse().unwrap()
        };
        let held: BTreeMap<String, u32> =
            held.iter().map(|(id, found)| (id.clone(), edition(found))).collect();
        let known = (self.excluded, &self.blocked, &self.taken_down);
        assert_eq!(held, self.expected(), "{:?}, {known:?}", self.web.lock().unwrap().states);
        self.run(&["deliver", "verify", "search"]);
    }
}

/// RECRAWL_LIVES sets how many lives there are, RECRAWL_LIFE_SEED with which one to begin.
#[test]
fn typesense_holds_what_it_should_after_kills_and_lost_answers() {
    let Some(mut server) = typesense() else {
        eprintln!("SKIPPED, 1 test: no typesense-server; scripts/typesense-server.sh installs it");
        return;
    };
    let first = setting("RECRAWL_LIFE_SEED", 1);
    let mut kills = [0; 2];
    for seed in first..first + setting("RECRAWL_LIVES", 2) {
        println!("life {seed}");
        let mut lot = StdRng::seed_from_u64(seed);
        let states = (0..PAGES).map(|_| PageAnswer::random(&mut lot)).collect();
        let web = Arc::new(Mutex::new(ServedPages { states, asked: BTreeSet::new() }));
        let losses = Arc::new(AtomicU64::new(0));
        let (site, port) = (serve(web.clone()), server.behind_losses(losses.clone()));
        let folder = tempfile::tempdir().unwrap();
        let mut life = Life {
            server: &mut server,
            lot,
            folder,
            web,
            site,
            losses,
            port,
            excluded: None,
            blocked: BTreeSet::new(),
            taken_down: BTreeSet::new(),
            is_markdown: false,
            kills: [0; 2],
        };
        life.configure();
        life.crawl();
        for _ in 0..4 {
            if life.lot.random() {
                life.is_killed();
            }
            if life.lot.random() {
                life.losses.store(life.lot.random_range(1..4), Relaxed);
            }
            if life.lot.random_ratio(1, 3) {
                let page = life.lot.random_range(0..PAGES);
                life.run(&["takedown", "--page", &life.url(page)]);
                // From the first delivery on that ends well it is confirmed.
                life.deliver();
                life.taken_down.insert(page);
            }
            life.deliver();
            life.change();
            life.crawl();
        }
        life.losses.store(0, Relaxed);
        life.deliver();
        life.is_exact();
        kills.iter_mut().zip(life.kills).for_each(|(all, own)| *all += own);
        let (status, told) = life.server.ask("DELETE", COLLECTION).unwrap();
        assert_eq!(status, 200, "{told}");
    }
    println!("{} deliveries and {} servers were killed before the end of a delivery", kills[0], kills[1]);
}
