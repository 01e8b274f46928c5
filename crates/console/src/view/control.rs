//! What an operator can change, and what holds of it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use utoipa::ToSchema;

/// A change, as it is logged too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// Ask for nothing more: of one host, or at all.
    Pause {
        /// The host; none for all.
        host: Option<String>,
    },
    /// The end of a pause.
    Resume {
        /// The host; none for all. A pause of all and pauses of hosts are apart from each other.
        host: Option<String>,
    },
    /// More seeds, from the next cycle on.
    AddSeeds {
        /// Their URLs.
        urls: Vec<String>,
    },
    /// Never ask for what a pattern covers: a host, and what is below it, or the beginning of a URL.
    Block {
        /// `example.com` or `https://example.com/a/`.
        pattern: String,
    },
    /// The end of a block.
    Unblock {
        /// As it was blocked.
        pattern: String,
    },
    /// Fetch a page now, as far as politeness has it.
    Recrawl {
        /// Its URL.
        url: String,
    },
    /// Another formula, from the next cycle on.
    UseFormula {
        /// A name, an expression, or a formula file's text.
        text: String,
    },
    /// The formula before, from the next cycle on.
    RollBackFormula,
}

impl Change {
    /// Its kind, as it is written in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::Pause { .. } => "pause",
            Change::Resume { .. } => "resume",
            Change::AddSeeds { .. } => "add_seeds",
            Change::Block { .. } => "block",
            Change::Unblock { .. } => "unblock",
            Change::Recrawl { .. } => "recrawl",
            Change::UseFormula { .. } => "use_formula",
            Change::RollBackFormula => "roll_back_formula",
        }
    }
}

/// In a line, however much is changed.
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
        }
    }
}

/// Who asks for a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Who {
    /// The name beside the token.
    pub name: String,
    /// The address that it came from.
    pub from: IpAddr,
}

/// That a change is in force, or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Accepted {
    /// What was done.
    pub did: Did,
    /// What that means, in words.
    pub detail: String,
}

/// What was done about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It is in force.
    Done,
    /// It was in force before.
    Already,
    /// It will be in force from the next cycle on.
    NextCycle,
}

/// What operators decided, as far as it holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Controls {
    /// The pause of the whole crawl.
    pub paused: Option<Decision>,
    /// Paused hosts.
    pub paused_hosts: Vec<Decision>,
    /// Blocked patterns.
    pub blocks: Vec<Decision>,
    /// What was taken down and is asked for no more, by a command while the crawl stood still: `example.com`,
    /// `*.example.com` or the beginning of URLs. No unblocking ends that.
    pub taken_down: Vec<String>,
    /// Seeds that wait for the next cycle.
    pub seeds_waiting: u64,
    /// Pages asked for that were not fetched yet.
    pub recrawls_waiting: u64,
}

/// One decision that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Decision {
    /// The host, or the pattern; empty for the whole crawl.
    pub what: String,
    /// The name beside the token.
    pub who: String,
    /// When.
    pub at: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_called_what_json_calls_it_and_said_in_a_line() {
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
        ] {
            assert_eq!(serde_json::to_value(&change).unwrap()["kind"], change.kind());
            assert_eq!(change.to_string(), line);
        }
    }
}
