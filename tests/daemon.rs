//! `recrawl serve` as a child process, and its console as a client meets it.

use crate::harness::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";
pub use crate::harness::PATIENCE;

/// `recrawl serve`, running.
pub struct Daemon {
    pub child: Child,
    pub address: String,
    /// What it said so far.
    pub log: Arc<Mutex<String>>,
    /// Who writes it down, to the end.
    hearer: Option<JoinHandle<()>>,
}

impl Daemon {
    /// Starts it and waits until the console listens.
    pub fn start(world: &World) -> Daemon {
        Daemon::of(world.command(&["serve"]))
    }

    pub fn of(command: Command) -> Daemon {
        let (mut daemon, lines) = Daemon::unheard(command);
        let told = daemon.log.clone();
        daemon.hearer = Some(std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                told.lock().unwrap().push_str(&format!("{line}\n"));
            }
        }));
        daemon
    }

    /// The same, but nobody hears what it says once the console listens.
    pub fn unheard(mut command: Command) -> (Daemon, BufReader<ChildStderr>) {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
        let log = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).expect("UTF-8") > 0, "it ended: {}", log.lock().unwrap());
            log.lock().unwrap().push_str(&line);
            if let Some((_, rest)) = line.split_once("the console is at http://") {
                break rest.split('/').next().expect("an address").to_owned();
            }
        };
        (Daemon { child, address, log, hearer: None }, lines)
    }

    /// A request, with the token; the status and the document.
    pub fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let body = body.map(|b| b.to_string()).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).expect("the console listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a header and a body");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, document) = self.ask("GET", path, None);
        assert_eq!(status, 200, "{path}: {document}");
        document
    }

    /// A change that is accepted: what was done.
    pub fn change(&self, method: &str, path: &str, body: Option<Value>) -> String {
        let (status, document) = self.ask(method, path, body);
        assert!(status == 200 || status == 202, "{method} {path}: {status} {document}");
        document["did"].as_str().expect("it says what was done").to_owned()
    }

    pub fn status(&self) -> Value {
        self.get("/api/v1/status")
    }

    /// What it tells of a page.
    pub fn page(&self, url: &str) -> Value {
        let url: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
        self.get(&format!("/api/v1/page?url={url}"))
    }

    /// Waits until the status is so.
    pub fn until(&self, what: &str, so: impl FnMut(&Value) -> bool) -> Value {
        self.until_within(PATIENCE, what, so)
    }

    /// The same, with this patience.
    pub fn until_within(&self, patience: Duration, what: &str, mut so: impl FnMut(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if so(&status) {
                return status;
            }
            assert!(begun.elapsed() < patience, "not {what}: {status:#}\n{}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn seed(&self, urls: &[String]) -> String {
        self.change("POST", "/api/v1/seeds", Some(json!({"urls": urls})))
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// SIGTERM, and a clean end.
    pub fn stop(self) -> String {
        self.signal("-TERM");
        self.ends()
    }

    /// Waits for a clean end.
    pub fn ends(mut self) -> String {
        let ended = self.child.wait().expect("it ends");
        if let Some(hearer) = self.hearer.take() {
            hearer.join().unwrap();
        }
        let log = self.log.lock().unwrap().clone();
        assert!(ended.success(), "{ended}: {log}");
        log
    }

    /// kill -9
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Of a test that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A web and a daemon's configuration.
pub fn world(pages: u32, hosts: u32, extra: &str) -> World {
    world_of(web(pages, hosts), extra)
}

pub fn world_of(web: recrawl_mockweb::Config, extra: &str) -> World {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new(web, "");
    let tokens = world.folder.path().join("tokens");
    std::fs::write(&tokens, format!("anna {TOKEN}\n")).unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    configure(&world, extra);
    world
}

pub fn configure(world: &World, extra: &str) {
    let tokens = world.folder.path().join("tokens");
    let serve =
        format!("[serve]\nlisten = \"127.0.0.1:0\"\nrequests = 1000\ntokens = \"{}\"\n", tokens.display());
    world.configure(&(serve + extra));
}

/// A cycle long enough to be steered: some seconds.
pub const SLOW: &str = "[politeness]\ndelay_per_host = \"40 ms\"\ndelay_per_latency = 0.0";
/// Cycles one after the other.
pub const QUICK: &str = "[cycle]\nperiod = \"100 ms\"";
