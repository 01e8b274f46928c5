//! What the console is told when it starts.

use crate::token::Tokens;
use crate::view::{Accepted, Change, Did, Refusal, Who};
use axum::http::uri::Authority;
use serde::Serialize;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Connections at a time, whatever is configured: each is an open file, of which a process has some thousands at most.
pub const MAX_CONNECTIONS: usize = 10_000;

/// What the console is told when it starts; each field but the last is a key of the section `serve`.
#[derive(Clone)]
pub struct ConsoleConfig {
    /// Where to listen. Port 0 takes one that is free.
    pub listen: SocketAddr,
    /// Names by which the console may be called besides addresses and `localhost`; without a port. Others are
    /// refused, since a page from anywhere can have a name of its own that leads here (DNS rebinding).
    pub names: Vec<String>,
    /// Connections at a time; one more is told to come back.
    pub connections: usize,
    /// Requests a second of one address, on average; as many may come at once.
    pub requests: u32,
    /// After so long without a sign of life of the crawl `/health` says 503.
    pub stall: Duration,
    /// Whose changes are taken; without any, nothing can be changed.
    pub tokens: Option<Tokens>,
    /// Told of every change twice, one change at a time: that it will be tried ([`Outcome::Begun`]), without which it is
    /// not tried, and what came of it, before the client is answered. A client that fails to prove who it is does not come
    /// that far.
    pub audit: Arc<Audit>,
}

/// What keeps the log of changes. An entry is durable once this returns.
pub type Audit = dyn Fn(&Entry) -> io::Result<()> + Send + Sync;

impl ConsoleConfig {
    /// What of it can never work: the key of the section `serve`, and what to write instead.
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        let bad_name = |name: &&String| {
            let is_host = name.parse::<Authority>().is_ok_and(|authority| authority.host() == name.as_str());
            !is_host || name.ends_with('.')
        };
        if let Some(name) = self.names.iter().find(bad_name) {
            return Some((
                "names",
                format!("`{name}` is no name: write it without scheme, port and last dot"),
            ));
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Some(("connections", format!("write a number from 1 to {MAX_CONNECTIONS}")));
        }
        if self.requests == 0 {
            return Some(("requests", "with none a second nobody is ever answered: write at least 1".into()));
        }
        if self.stall.is_zero() {
            return Some((
                "stall",
                "no crawl moves all the time: write a duration such as \"10 min\"".into(),
            ));
        }
        None
    }
}

/// A line of the log of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When, in milliseconds since 1970, by the crawl's clock.
    pub at: u64,
    /// Who, and from where.
    #[serde(flatten)]
    pub who: Who,
    /// What.
    pub change: Change,
    /// What came of it.
    pub result: Outcome,
    /// The same in words.
    pub detail: String,
}

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It will be tried. Where nothing follows, the process ended meanwhile: it may be in force or not.
    Begun,
    /// It is in force.
    Done,
    /// It was in force before.
    Already,
    /// It will be in force from the next cycle on.
    NextCycle,
    /// It was refused.
    Refused,
}

/// As JSON has it.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Begun => "begun",
            Outcome::Done => "done",
            Outcome::Already => "already",
            Outcome::NextCycle => "next_cycle",
            Outcome::Refused => "refused",
        })
    }
}

impl Entry {
    /// What `who` is about to try at `at`.
    pub fn begun(at: u64, who: &Who, change: &Change) -> Entry {
        Entry { at, who: who.clone(), change: change.clone(), result: Outcome::Begun, detail: String::new() }
    }

    /// What `who` tried at `at`, and what came of it.
    pub fn of(at: u64, who: &Who, change: &Change, result: &Result<Accepted, Refusal>) -> Entry {
        let (result, detail) = match result {
            Ok(accepted) => (accepted.did.into(), accepted.detail.clone()),
            Err(refusal) => (Outcome::Refused, refusal.to_string()),
        };
        Entry { at, who: who.clone(), change: change.clone(), result, detail }
    }
}

impl From<Did> for Outcome {
    fn from(did: Did) -> Outcome {
        match did {
            Did::Done => Outcome::Done,
            Did::Already => Outcome::Already,
            Did::NextCycle => Outcome::NextCycle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::client::config;

    #[test]
    fn what_can_never_work_is_named() {
        let wrong = |adapt: fn(&mut ConsoleConfig)| {
            let mut config = config();
            adapt(&mut config);
            config.wrong().map(|(key, _)| key)
        };
        assert_eq!(wrong(|_| ()), None);
        assert_eq!(wrong(|c| c.names = vec!["crawl.example".into(), "recrawl".into()]), None);
        for name in ["crawl.example:80", "http://crawl.example", "crawl.example.", "a@b", "", "a b"] {
            let config = ConsoleConfig { names: vec![name.into()], ..config() };
            assert_eq!(config.wrong().map(|(key, _)| key), Some("names"), "{name}");
        }
        assert_eq!(wrong(|c| c.connections = 0), Some("connections"));
        assert_eq!(wrong(|c| c.connections = MAX_CONNECTIONS + 1), Some("connections"));
        assert_eq!(wrong(|c| c.requests = 0), Some("requests"));
        assert_eq!(wrong(|c| c.stall = Duration::ZERO), Some("stall"));
    }
}
