//! Operators' decisions in `recrawl status`, readable while a crawl runs.

use crate::command::thousands;
use crate::decisions::{Decisions, Mark};
use crate::reading;
use crate::settings::Settings;
use recrawl_archive::timestamp;
use serde_json::{Value, json};

/// Operators' decisions in force, or why they cannot be read.
pub enum Standing {
    Known(Decisions),
    /// The error.
    Unknown(String),
}

impl Standing {
    /// Reads the decisions of a data directory.
    pub fn of(settings: &Settings) -> Standing {
        let tables = || reading::tables(&settings.data_dir);
        reading::decisions(&settings.data_dir, tables)
            .map_or_else(|fault| Standing::Unknown(fault.to_string()), Standing::Known)
    }

    /// The JSON field `controls`: null if unknown; then `controls_unknown` has the reason.
    pub fn json(&self) -> Value {
        match self {
            Standing::Known(Decisions { paused, paused_hosts, blocks, taken_down }) => json!({
                "paused": paused, "paused_hosts": paused_hosts.len(), "blocked": blocks.len(),
                "taken_down": taken_down.len(),
            }),
            Standing::Unknown(_) => Value::Null,
        }
    }

    /// Why the decisions are unknown.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Standing::Known(_) => None,
            Standing::Unknown(why) => Some(why),
        }
    }

    /// As one printed line.
    pub fn words(&self) -> String {
        match self {
            Standing::Known(Decisions { paused, paused_hosts, blocks, taken_down }) => {
                let crawl = match paused {
                    Some(Mark { who, at }) => format!("paused by {who} at {}", timestamp(*at)),
                    None => "not paused".into(),
                };
                let [hosts, blocked, down] =
                    [paused_hosts.len(), blocks.len(), taken_down.len()].map(|count| thousands(count as u64));
                format!("{crawl}; {hosts} hosts paused, {blocked} patterns blocked, {down} taken down")
            }
            Standing::Unknown(why) => format!("unreadable: {why}"),
        }
    }
}
