//! A console on its own port, and a client that can send arbitrary bytes.

use super::crawl::MadeUp;
use crate::{ConsoleConfig, Entry, RunningConsole, Tokens, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The token of `anna`.
pub const ANNA: &str = "anna-0123456789abcdef0123456789abcdef";

/// A console that serves a made-up crawl, until it is dropped.
pub struct Served {
    pub address: SocketAddr,
    pub crawl: Arc<MadeUp>,
    pub stop: CancellationToken,
    pub log: Arc<Mutex<Vec<Entry>>>,
    pub running: Option<RunningConsole>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}

pub fn tokens() -> Tokens {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("anna {ANNA}\n")).unwrap();
    Tokens::read(file.path()).unwrap()
}

/// Test configuration, without an effective rate limit.
pub fn config() -> ConsoleConfig {
    ConsoleConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        names: vec!["crawl.example".into()],
        connections: 64,
        requests: 1_000_000,
        tokens: Some(tokens()),
        sessions: Arc::default(),
        audit: Arc::new(|_| Ok(())),
    }
}

pub fn served() -> Served {
    served_with(MadeUp::new(), |_| ())
}

pub fn served_with(crawl: MadeUp, adapt: impl FnOnce(&mut ConsoleConfig)) -> Served {
    let (crawl, stop) = (Arc::new(crawl), CancellationToken::new());
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = log.clone();
    let audit = Arc::new(move |entry: &Entry| {
        lines.lock().unwrap().push(entry.clone());
        Ok(())
    });
    let mut config = ConsoleConfig { audit, ..config() };
    adapt(&mut config);
    let running = serve(crawl.clone(), config, None, stop.clone()).unwrap();
    Served { address: running.address(), crawl, stop, log, running: Some(running) }
}

/// A response.
#[derive(Debug)]
pub struct ClientResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl ClientResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The kind of a problem; asserts that the response is one.
    pub fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        for field in ["title", "detail", "instance"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {self:?}");
        }
        problem["type"].as_str().unwrap().strip_prefix("/problems/").unwrap().to_owned()
    }
}

fn parsed(text: &str) -> ClientResponse {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let fields = lines.map(|line| line.split_once(": ").unwrap());
    let headers = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    ClientResponse { status, headers, body: body.to_owned() }
}

impl Served {
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Sends these bytes and reads to the end.
    pub fn raw(&self, request: &str) -> ClientResponse {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        parsed(&answer)
    }

    /// Sends a request with these header lines, each ending with CRLF.
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> ClientResponse {
        let address = self.address;
        let length = match body.is_empty() {
            true => String::new(),
            false => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
        };
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}{length}\r\n{body}"
        ))
    }

    pub fn get(&self, path: &str) -> ClientResponse {
        self.ask("GET", path, "", "")
    }

    /// Waits until a condition holds.
    pub fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(300), "not yet: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a request with anna's token.
    pub fn change(&self, method: &str, path: &str, body: &str) -> ClientResponse {
        self.ask(method, path, &format!("Authorization: Bearer {ANNA}\r\n"), body)
    }
}
