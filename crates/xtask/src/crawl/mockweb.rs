//! The recorded web as a child process, and its control port.

use super::CrawlError;
use super::http::{self, HttpError};
use crate::truth::{self, Page};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The first port that is tried for the web.
const FIRST_PORT: u16 = 8418;
/// The address of the web's first host.
const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// A running mock web; it ends with this value.
pub struct MockWeb {
    child: Child,
    control: SocketAddr,
    /// Where a crawl of it starts.
    pub seeds: Vec<String>,
}

/// The line that the mock web prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    control: SocketAddr,
    seeds: Vec<String>,
}

/// What is being replayed.
#[derive(Deserialize)]
pub struct Info {
    /// The recording's last clock.
    pub last_cycle: u32,
}

/// How many of the pages that exist now the crawler holds as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Freshness {
    /// Pages that exist.
    pub existing: u64,
    /// Those whose last complete answer is what stands there now.
    pub fresh: u64,
}

impl Freshness {
    /// The second over the first; none while there is no page.
    pub fn share(self) -> Option<f64> {
        (self.existing > 0).then(|| self.fresh as f64 / self.existing as f64)
    }
}

/// What the crawler did and should not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    /// Requests that robots.txt forbids.
    pub robots: u64,
    /// Requests too soon after another, or beside another, on one host.
    pub politeness: u64,
}

impl Violations {
    /// What came after `earlier`, both counted from one start.
    pub fn since(self, earlier: Violations) -> Violations {
        Violations { robots: self.robots - earlier.robots, politeness: self.politeness - earlier.politeness }
    }

    /// Both together.
    pub fn plus(self, other: Violations) -> Violations {
        Violations { robots: self.robots + other.robots, politeness: self.politeness + other.politeness }
    }
}

impl MockWeb {
    /// Starts the replay of `recording` (none: the bundled one) on `port` and waits until it is ready.
    pub fn start(executable: &Path, recording: Option<&str>, port: u16) -> Result<MockWeb, CrawlError> {
        let mut command = Command::new(executable);
        command.args(["replay", "--port", &port.to_string()]);
        if let Some(recording) = recording {
            command.args(["--data", recording]);
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| CrawlError::file(executable, e))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        let ready = read.map_err(|e| e.to_string()).and_then(|_| parse::<Ready>(&line));
        match ready {
            Ok(Ready { control, seeds }) => Ok(MockWeb { child, control, seeds }),
            Err(why) => {
                end(&mut child);
                Err(CrawlError::MockWeb(format!("it did not start on port {port}: {why}")))
            }
        }
    }

    /// What is being replayed.
    pub fn info(&self) -> Result<Info, CrawlError> {
        self.get("/info")
    }

    /// Lets it be `clock` on the recorded web.
    pub fn set_clock(&self, clock: u32) -> Result<(), CrawlError> {
        let answer = http::post(self.control, "/clock", &format!("{{\"cycle\":{clock}}}"));
        answer.map(drop).map_err(|e| refused("/clock", &e))
    }

    /// The truth, as JSON lines.
    pub fn truth(&self) -> Result<String, CrawlError> {
        self.text("/truth")
    }

    /// How the crawler's copy stands.
    pub fn freshness(&self) -> Result<Freshness, CrawlError> {
        self.get("/held")
    }

    /// All that was objected to since the start.
    pub fn violations(&self) -> Result<Violations, CrawlError> {
        self.get("/violations?delay_ms=0")
    }

    /// Every complete answer since the start, as JSON lines.
    pub fn log(&self) -> Result<String, CrawlError> {
        self.text("/log")
    }

    fn text(&self, path: &str) -> Result<String, CrawlError> {
        http::get(self.control, path).map_err(|e| refused(path, &e))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CrawlError> {
        parse(&self.text(path)?).map_err(|why| CrawlError::MockWeb(format!("{path}: {why}")))
    }
}

impl Drop for MockWeb {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The pages of a truth.
pub fn pages(truth: &str) -> Result<Vec<Page>, CrawlError> {
    truth::json_lines(truth).map_err(|why| CrawlError::MockWeb(format!("/truth: {why}")))
}

/// The first port from [`FIRST_PORT`] on that nobody listens on.
pub fn free_port() -> Result<u16, CrawlError> {
    let is_free = |port: &u16| TcpListener::bind((FIRST_HOST, *port)).is_ok();
    (FIRST_PORT..FIRST_PORT + 100)
        .find(is_free)
        .ok_or_else(|| CrawlError::MockWeb(format!("no port is free from {FIRST_PORT} on")))
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|e| format!("{e}: {}", json.trim()))
}

fn refused(path: &str, error: &HttpError) -> CrawlError {
    CrawlError::MockWeb(format!("{path}: {error}"))
}

/// Ends and reaps a child; it may have ended by itself.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_is_a_share() {
        assert_eq!(Freshness { existing: 8, fresh: 6 }.share(), Some(0.75));
        assert_eq!(Freshness::default().share(), None);
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let port = free_port().expect("some port is free");
        let held = TcpListener::bind((FIRST_HOST, port)).expect("it is free");
        assert!(free_port().expect("another is free") != port);
        drop(held);
    }
}
