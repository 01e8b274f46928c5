//! The mock web as a child process, and its control port.

use super::error::CrawlError;
use super::http::{self, HttpError};
use crate::truth::{self, TruthPage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The first port to try for the web.
const FIRST_PORT: u16 = 8418;
/// The address of the web's first host.
pub const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// A running mock web; it ends with this value.
pub struct MockWeb {
    child: Child,
    control: SocketAddr,
    /// Whether the web had no visits when it was started.
    unvisited: bool,
    /// Seed URLs.
    pub seeds: Vec<String>,
    /// The last cycle of the recording; the largest number for an endless web.
    pub last_clock: u32,
}

/// The line that the mock web prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    control_port: u16,
    seeds: Vec<String>,
    last_cycle: Option<u32>,
}

/// Current pages of which the crawler holds the current version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFreshness {
    /// Pages that exist.
    pub total: u64,
    /// Pages whose last complete response is the current version.
    pub fresh: u64,
}

/// The answer of `/held`.
#[derive(Deserialize)]
struct HeldReply {
    all: MeasuredFreshness,
}

impl MeasuredFreshness {
    /// `fresh` over `total`; none without pages.
    pub fn share(self) -> Option<f64> {
        (self.total > 0).then(|| self.fresh as f64 / self.total as f64)
    }
}

/// Rules that the crawler broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    /// Requests that robots.txt forbids, or that came before it was read.
    pub robots: u64,
    /// Hosts with concurrent requests.
    pub politeness: u64,
}

/// The answer of `/violations`. Without a delay there are no gaps to be kept.
#[derive(Deserialize)]
struct MannersReply {
    forbidden: u64,
    before_robots: u64,
    hosts: Vec<HostViolations>,
}

#[derive(Deserialize)]
struct HostViolations {
    max_requests: u32,
}

impl MannersReply {
    /// `first_visit`: the crawler cannot know robots.txt from an earlier run, when another process
    /// of the mock web was asked for it.
    fn violations(&self, first_visit: bool) -> Violations {
        Violations {
            robots: self.forbidden + if first_visit { self.before_robots } else { 0 },
            politeness: self.hosts.iter().filter(|h| h.max_requests > 1).count() as u64,
        }
    }
}

impl Violations {
    /// The violations after `earlier`.
    pub fn since(self, earlier: Violations) -> Violations {
        Violations { robots: self.robots - earlier.robots, politeness: self.politeness - earlier.politeness }
    }

    /// The sum.
    pub fn plus(self, other: Violations) -> Violations {
        Violations { robots: self.robots + other.robots, politeness: self.politeness + other.politeness }
    }
}

impl MockWeb {
    /// Starts a web with the arguments `web` on `port` and waits until it is ready. It continues
    /// the access log in `log`, so that it knows the versions that its client holds.
    ///
    /// # Errors
    /// If it does not start; its message is on standard error.
    pub fn start(executable: &Path, web: &[String], port: u16, log: &Path) -> Result<MockWeb, CrawlError> {
        let unvisited = fs::metadata(log).map_or(true, |m| m.len() == 0);
        let mut command = Command::new(executable);
        command.args(web).args(["--with-parent", "--port", &port.to_string(), "--log"]).arg(log);
        // Its input stays open until this process ends, however that happens.
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| CrawlError::file(executable, e))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        let ready = match read {
            Ok(0) => Err("see its message above".to_owned()),
            Ok(_) => parse::<Ready>(&line),
            Err(e) => Err(e.to_string()),
        };
        match ready {
            Ok(Ready { control_port, seeds, last_cycle }) => {
                let control = SocketAddr::from((Ipv4Addr::LOCALHOST, control_port));
                let last_clock = last_cycle.unwrap_or(u32::MAX);
                Ok(MockWeb { child, control, unvisited, seeds, last_clock })
            }
            Err(why) => {
                end(&mut child);
                Err(CrawlError::MockWeb(format!("cannot start on port {port}: {why}")))
            }
        }
    }

    /// Sets the clock.
    pub fn set_clock(&self, clock: u32) -> Result<(), CrawlError> {
        let answer = http::post(self.control, "/clock", &format!("{{\"cycle\":{clock}}}"));
        answer.map(drop).map_err(|e| refused("/clock", &e))
    }

    /// Replaces the faults.
    pub fn set_faults(&self, rules: &[String]) -> Result<(), CrawlError> {
        let rules = serde_json::to_string(rules).expect("texts are JSON");
        http::post(self.control, "/faults", &rules).map(drop).map_err(|e| refused("/faults", &e))
    }

    /// The truth, as JSON lines.
    pub fn truth(&self) -> Result<String, CrawlError> {
        self.text("/truth")
    }

    /// Freshness of the crawler's copy.
    pub fn freshness(&self) -> Result<MeasuredFreshness, CrawlError> {
        self.get::<HeldReply>("/held").map(|held| held.all)
    }

    /// All violations since the start.
    pub fn violations(&self) -> Result<Violations, CrawlError> {
        let manners: MannersReply = self.get("/violations?delay_ms=0")?;
        Ok(manners.violations(self.unvisited))
    }

    /// The response to any other request of docs/internals/mockweb.md, as text.
    pub fn text(&self, path: &str) -> Result<String, CrawlError> {
        http::get(self.control, path).map_err(|e| refused(path, &e))
    }

    /// The same, parsed as JSON.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CrawlError> {
        parse(&self.text(path)?).map_err(|why| CrawlError::MockWeb(format!("{path}: {why}")))
    }
}

impl Drop for MockWeb {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The pages of a truth.
pub fn pages(truth: &str) -> Result<Vec<TruthPage>, CrawlError> {
    truth::json_lines(truth).map_err(|why| CrawlError::MockWeb(format!("/truth: {why}")))
}

/// The first free port from [`FIRST_PORT`] on.
pub fn free_port() -> Result<u16, CrawlError> {
    let is_free = |port: &u16| TcpListener::bind((FIRST_HOST, *port)).is_ok();
    (FIRST_PORT..FIRST_PORT + 100)
        .find(is_free)
        .ok_or_else(|| CrawlError::MockWeb(format!("no free port from {FIRST_PORT} on")))
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|e| format!("{e}: {}", json.trim()))
}

fn refused(path: &str, error: &HttpError) -> CrawlError {
    CrawlError::MockWeb(format!("{path}: {error}"))
}

/// Kills and reaps a child that may have ended already.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_is_a_share() {
        assert_eq!(MeasuredFreshness { total: 8, fresh: 6 }.share(), Some(0.75));
        assert_eq!(MeasuredFreshness::default().share(), None);
    }

    #[test]
    fn violations_are_read_from_the_account_of_manners() {
        let json = r#"{"delay_ms":0,"forbidden":2,"before_robots":3,"host_gaps_under":0,
            "hosts":[{"host":"a:1","max_requests":1},{"host":"b:1","max_requests":2}]}"#;
        let manners: MannersReply = parse(json).expect("an account");
        assert_eq!(manners.violations(true), Violations { robots: 5, politeness: 1 });
        // A client that knows robots.txt from an earlier run need not fetch it again.
        let later = manners.violations(false);
        assert_eq!(later, Violations { robots: 2, politeness: 1 });
        assert_eq!(
            later.since(Violations { robots: 1, politeness: 1 }),
            Violations { robots: 1, politeness: 0 }
        );
        assert_eq!(later.plus(later), Violations { robots: 4, politeness: 2 });
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let port = free_port().expect("some port is free");
        let held = TcpListener::bind((FIRST_HOST, port)).expect("it is free");
        assert!(free_port().expect("another is free") != port);
        drop(held);
    }
}
