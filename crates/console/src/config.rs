//! Configuration of the console.

use crate::session::Sessions;
use crate::token::Tokens;
use crate::view::{Accepted, Actor, Change, Effect};
use serde::Serialize;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Upper bound of [`ConsoleConfig::connections`]. Each connection is an open file.
pub const MAX_CONNECTIONS: usize = 10_000;

/// Configuration of the console. Each field up to `tokens` is a key of the section `serve`.
#[derive(Clone)]
pub struct ConsoleConfig {
    /// Address to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Accepted canonical host names besides addresses and `localhost`. Other names are
    /// rejected, because a foreign page could resolve its own name to this address (DNS rebinding).
    pub names: Vec<String>,
    /// Maximum concurrent connections. Further ones get 503.
    pub connections: usize,
    /// Requests per second and address, on average; also the burst size.
    pub requests: u32,
    /// Tokens that authorize changes. If none are configured, a one-time link in the log does.
    pub tokens: Option<Tokens>,
    /// The link and its sessions.
    pub sessions: Arc<Sessions>,
    /// Writes the change log. Called twice per change, for one change at a time: before the attempt
    /// ([`ChangeResult::Begun`]; if this fails, the change is not made), and with the result, before the
    /// client is answered. Unauthorized requests are not passed to it.
    pub audit: Arc<Audit>,
}

/// Appends to the change log. The entry is durable once this returns.
pub type Audit = dyn Fn(&Entry) -> io::Result<()> + Send + Sync;

impl ConsoleConfig {
    /// The first invalid value: its key in the section `serve`, and the remedy.
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Some(("connections", format!("write a number from 1 to {MAX_CONNECTIONS}")));
        }
        if self.requests == 0 {
            return Some(("requests", "must be at least 1 per second".into()));
        }
        None
    }
}

/// A line of the change log. Commands log kinds of changes that the console does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry<C = Change> {
    /// Time in milliseconds since 1970, by the crawl's clock.
    pub at: u64,
    /// Name and address of the operator.
    #[serde(flatten)]
    pub who: Actor,
    /// The change.
    pub change: C,
    /// The result.
    pub result: ChangeResult,
    /// The result in words.
    pub detail: String,
}

/// Result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeResult {
    /// About to be made. If no second line follows, the process ended in between: the change may or
    /// may not be in force.
    Begun,
    /// Applied.
    Done,
    /// No change needed.
    Already,
    /// Applies from the next round on.
    NextRound,
    /// Applies from the next cycle on.
    NextCycle,
    /// Rejected.
    Refused,
}

/// Same words as in JSON.
impl fmt::Display for ChangeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangeResult::Begun => "begun",
            ChangeResult::Done => "done",
            ChangeResult::Already => "already",
            ChangeResult::NextRound => "next_round",
            ChangeResult::NextCycle => "next_cycle",
            ChangeResult::Refused => "refused",
        })
    }
}

impl<C: Clone> Entry<C> {
    /// The line before an attempt of `who` at `at`.
    pub fn begun(at: u64, who: &Actor, change: &C) -> Entry<C> {
        Entry {
            at,
            who: who.clone(),
            change: change.clone(),
            result: ChangeResult::Begun,
            detail: String::new(),
        }
    }

    /// The line with the result of an attempt.
    pub fn new(at: u64, who: &Actor, change: &C, result: &Result<Accepted, impl fmt::Display>) -> Entry<C> {
        let (result, detail) = match result {
            Ok(accepted) => (accepted.did.into(), accepted.detail.clone()),
            Err(refusal) => (ChangeResult::Refused, refusal.to_string()),
        };
        Entry { at, who: who.clone(), change: change.clone(), result, detail }
    }
}

impl From<Effect> for ChangeResult {
    fn from(did: Effect) -> ChangeResult {
        match did {
            Effect::Done => ChangeResult::Done,
            Effect::Already => ChangeResult::Already,
            Effect::NextRound => ChangeResult::NextRound,
            Effect::NextCycle => ChangeResult::NextCycle,
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
        assert_eq!(wrong(|c| c.connections = 0), Some("connections"));
        assert_eq!(wrong(|c| c.connections = MAX_CONNECTIONS + 1), Some("connections"));
        assert_eq!(wrong(|c| c.requests = 0), Some("requests"));
    }
}
