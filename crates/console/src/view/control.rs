//! Changes by operators, and the decisions in force.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use utoipa::ToSchema;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// Pause the crawl or one host.
    Pause {
        /// Host; null for the whole crawl.
        host: Option<String>,
    },
    /// End a pause.
    Resume {
        /// Host; null for the whole crawl. Pauses of the crawl and of hosts are independent.
        host: Option<String>,
    },
    /// Add seed URLs.
    AddSeeds {
        /// URLs.
        urls: Vec<String>,
    },
    /// Block the pages of a pattern.
    Block {
        /// `example.com` or `https://example.com/a/`.
        pattern: String,
    },
    /// Remove a block.
    Unblock {
        /// The blocked pattern.
        pattern: String,
    },
    /// Fetch a page now, within robots.txt and politeness.
    Recrawl {
        /// URL.
        url: String,
    },
    /// Use another formula from the next cycle on.
    UseFormula {
        /// A name, an expression, or the text of a formula file.
        text: String,
    },
    /// Roll back to the previous formula from the next cycle on.
    RollBackFormula,
    /// Hold the loop of `improve`: nothing is tried.
    HoldLoop,
    /// Let the loop go on.
    ReleaseLoop,
    /// Put the candidate in force from the next cycle on.
    PromoteCandidate,
    /// Take the promoted formula back from the next cycle on.
    RollBackCandidate,
    /// Learn a formula from the crawl's own visits now.
    LearnNow,
    /// Read the configuration again, between two rounds.
    Reload,
    /// Leave the data directory to a command that needs it alone, until it ends.
    StepAside,
}

/// One line, whatever the size of the change.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Pause { host: None } => f.write_str("pause the crawl"),
            Change::Resume { host: None } => f.write_str("resume the crawl"),
            Change::Pause { host: Some(host) } => write!(f, "pause {host}"),
            Change::Resume { host: Some(host) } => write!(f, "resume {host}"),
            Change::AddSeeds { urls } => match urls.as_slice() {
                [url] => write!(f, "add the seed {url}"),
                urls => write!(f, "add {} seeds", urls.len()),
            },
            Change::Block { pattern } => write!(f, "block {pattern}"),
            Change::Unblock { pattern } => write!(f, "unblock {pattern}"),
            Change::Recrawl { url } => write!(f, "fetch {url} now"),
            Change::UseFormula { .. } => f.write_str("use another formula"),
            Change::RollBackFormula => f.write_str("roll back the formula"),
            Change::HoldLoop => f.write_str("hold the loop"),
            Change::ReleaseLoop => f.write_str("release the loop"),
            Change::PromoteCandidate => f.write_str("promote the candidate"),
            Change::RollBackCandidate => f.write_str("take the promoted formula back"),
            Change::LearnNow => f.write_str("learn a formula now"),
            Change::Reload => f.write_str("reload the configuration"),
            Change::StepAside => f.write_str("step aside for a command"),
        }
    }
}

/// The operator who makes a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// Name of the token, or `user NAME` through the local socket.
    pub name: String,
    /// Client address.
    pub from: IpAddr,
}

/// Result of an accepted change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// What was done with the change.
    pub did: Effect,
    /// Description.
    pub detail: String,
}

/// What was done with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Applied.
    Done,
    /// No change needed.
    Already,
    /// Applies from the next round on, which begins within seconds.
    NextRound,
    /// Applies from the next cycle on.
    NextCycle,
}

/// Operator decisions in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Controls {
    /// The pause of the whole crawl.
    pub paused: Option<Decision>,
    /// Paused hosts.
    pub paused_hosts: Vec<Decision>,
    /// Blocked patterns.
    pub blocks: Vec<Decision>,
    /// Patterns taken down with `recrawl takedown` and never fetched. Unblocking does not affect them.
    pub taken_down: Vec<String>,
    /// Seeds queued for the next round.
    pub seeds_waiting: u64,
    /// Requests to fetch a page now that are still queued.
    pub recrawls_waiting: u64,
    /// Those of the first 100 queued pages that cannot be requested yet.
    pub waiting: Vec<WaitingPage>,
}

/// A page that somebody asked for and that cannot be requested yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingPage {
    /// Its URL.
    pub url: String,
    /// Why it waits.
    pub why: String,
    /// When that ends, in milliseconds since 1970; null: unknown.
    pub until: Option<u64>,
}

/// A pause or block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Decision {
    /// Host or pattern; empty for the whole crawl.
    pub what: String,
    /// Name of the operator's token, `user NAME` for a local user, or `command line`.
    pub who: String,
    /// Time.
    pub at: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_in_a_line() {
        let (host, url) = (Some("a.example".to_owned()), "https://a.example/".to_owned());
        for (change, line) in [
            (Change::Pause { host: None }, "pause the crawl"),
            (Change::Pause { host: host.clone() }, "pause a.example"),
            (Change::Resume { host: None }, "resume the crawl"),
            (Change::Resume { host }, "resume a.example"),
            (Change::AddSeeds { urls: vec![url.clone()] }, "add the seed https://a.example/"),
            (Change::AddSeeds { urls: vec![url.clone(); 10_000] }, "add 10000 seeds"),
            (Change::Block { pattern: url.clone() }, "block https://a.example/"),
            (Change::Unblock { pattern: url.clone() }, "unblock https://a.example/"),
            (Change::Recrawl { url }, "fetch https://a.example/ now"),
            (Change::UseFormula { text: "name = \"x\"\n".into() }, "use another formula"),
            (Change::RollBackFormula, "roll back the formula"),
            (Change::HoldLoop, "hold the loop"),
            (Change::ReleaseLoop, "release the loop"),
            (Change::PromoteCandidate, "promote the candidate"),
            (Change::RollBackCandidate, "take the promoted formula back"),
            (Change::LearnNow, "learn a formula now"),
            (Change::Reload, "reload the configuration"),
            (Change::StepAside, "step aside for a command"),
        ] {
            assert_eq!(change.to_string(), line);
        }
    }
}
