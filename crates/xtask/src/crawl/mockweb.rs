//! A web of our own as a child process, and its control port.

use super::error::CrawlError;
use super::http::{self, HttpError};
use crate::truth::{self, Page};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The first port that is tried for the web.
const FIRST_PORT: u16 = 8418;
/// The address of the web's first host.
pub const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// A running mock web; it ends with this value.
pub struct MockWeb {
    child: Child,
    control: SocketAddr,
    /// Had nobody visited this web when it was started?
    unvisited: bool,
    /// Where a crawl of it starts.
    pub seeds: Vec<String>,
    /// The recording's last clock; a web that goes on for ever has the largest number.
    pub last_clock: u32,
}

/// The line that the mock web prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    control_port: u16,
    seeds: Vec<String>,
    last_cycle: Option<u32>,
}

/// How many of the pages that exist now the crawler holds as they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Freshness {
    /// Pages that exist.
    pub total: u64,
    /// Those whose last complete answer is what stands there now.
    pub fresh: u64,
}

/// The answer of `/held`.
#[derive(Deserialize)]
struct Held {
    all: Freshness,
}

impl Freshness {
    /// The second over the first; none while there is no page.
    pub fn share(self) -> Option<f64> {
        (self.total > 0).then(|| self.fresh as f64 / self.total as f64)
    }
}

/// What the crawler did and should not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    /// Requests that robots.txt forbids, or that came before it was read.
    pub robots: u64,
    /// Hosts that were asked for two things at once.
    pub politeness: u64,
}

/// The answer of `/violations`. Without a delay there are no gaps to be kept.
#[derive(Deserialize)]
struct Manners {
    forbidden: u64,
    before_robots: u64,
    hosts: Vec<HostManners>,
}

#[derive(Deserialize)]
struct HostManners {
    max_requests: u32,
}

impl Manners {
    /// `first_visit`: the crawler cannot know robots.txt from an earlier run, when another process of
    /// the mock web was asked for it.
    fn violations(&self, first_visit: bool) -> Violations {
        Violations {
            robots: self.forbidden + if first_visit { self.before_robots } else { 0 },
            politeness: self.hosts.iter().filter(|h| h.max_requests > 1).count() as u64,
        }
    }
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
    /// Starts the web that the words `web` mean on `port` and waits until it is ready. The access log in
    /// `log` is continued, so that the web knows what its visitor holds.
    ///
    /// # Errors
    /// It does not start; its own words are on standard error.
    pub fn start(executable: &Path, web: &[String], port: u16, log: &Path) -> Result<MockWeb, CrawlError> {
        let unvisited = fs::metadata(log).map_or(true, |m| m.len() == 0);
        let mut command = Command::new(executable);
        command.args(web).args(["--with-parent", "--port", &port.to_string(), "--log"]).arg(log);
        // Its input stays open as long as this process lives, however that ends.
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| CrawlError::file(executable, e))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        let ready = match read {
            Ok(0) => Err("its words are above".to_owned()),
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
                Err(CrawlError::MockWeb(format!("it did not start on port {port}: {why}")))
            }
        }
    }

    /// Lets it be `clock` on the recorded web.
    pub fn set_clock(&self, clock: u32) -> Result<(), CrawlError> {
        let answer = http::post(self.control, "/clock", &format!("{{\"cycle\":{clock}}}"));
        answer.map(drop).map_err(|e| refused("/clock", &e))
    }

    /// Lets these faults strike, and no others.
    pub fn set_faults(&self, rules: &[String]) -> Result<(), CrawlError> {
        let rules = serde_json::to_string(rules).expect("texts are JSON");
        http::post(self.control, "/faults", &rules).map(drop).map_err(|e| refused("/faults", &e))
    }

    /// The truth, as JSON lines.
    pub fn truth(&self) -> Result<String, CrawlError> {
        self.text("/truth")
    }

    /// How the crawler's copy stands.
    pub fn freshness(&self) -> Result<Freshness, CrawlError> {
        self.get::<Held>("/held").map(|held| held.all)
    }

    /// All that was objected to since the start.
    pub fn violations(&self) -> Result<Violations, CrawlError> {
        let manners: Manners = self.get("/violations?delay_ms=0")?;
        Ok(manners.violations(self.unvisited))
    }

    /// The answer to any other question of docs/internals/mockweb.md, as it comes.
    pub fn text(&self, path: &str) -> Result<String, CrawlError> {
        http::get(self.control, path).map_err(|e| refused(path, &e))
    }

    /// The same, read as a document of JSON.
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
        assert_eq!(Freshness { total: 8, fresh: 6 }.share(), Some(0.75));
        assert_eq!(Freshness::default().share(), None);
    }

    #[test]
    fn violations_are_read_from_the_account_of_manners() {
        let json = r#"{"delay_ms":0,"forbidden":2,"before_robots":3,"host_gaps_under":0,
            "hosts":[{"host":"a:1","max_requests":1},{"host":"b:1","max_requests":2}]}"#;
        let manners: Manners = parse(json).expect("an account");
        assert_eq!(manners.violations(true), Violations { robots: 5, politeness: 1 });
        // Known from an earlier run, robots.txt need not be asked for again.
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
