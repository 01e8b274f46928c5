//! What the console is told when it starts.

use crate::token::Tokens;
use crate::view::{Accepted, Change, Did, Refusal, Who};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

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
    /// Told of every change once it was tried, one at a time and before the client is answered. A client that
    /// fails to prove who it is does not come that far.
    pub audit: Arc<dyn Fn(&Entry) + Send + Sync>,
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
    /// It is in force.
    Done,
    /// It was in force before.
    Already,
    /// It will be in force from the next cycle on.
    NextCycle,
    /// It was refused.
    Refused,
}

impl Entry {
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
