//! What operators decided, in `recrawl status`: read from the tables, which a running crawl keeps to itself.

use crate::archive::timestamp;
use crate::command::thousands;
use crate::control::{Control, Mark};
use crate::crawl::TABLES;
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use crate::takedown;
use recrawl_repository::SledTables;
use serde_json::{Value, json};

/// Decisions that hold, or why they cannot be told.
pub enum Standing {
    /// As they are kept.
    Known {
        /// Who paused the whole crawl.
        paused: Option<Mark>,
        /// Hosts that are paused by themselves.
        paused_hosts: u64,
        /// Patterns that are blocked.
        blocked: u64,
        /// Patterns that were taken down.
        taken_down: u64,
    },
    /// They were not looked up.
    Unknown(String),
}

impl Standing {
    /// Of a data directory; of one without tables nothing was ever decided.
    pub fn of(settings: &Settings) -> Standing {
        if !settings.data_dir.join(TABLES).is_dir() {
            return Standing::Known { paused: None, paused_hosts: 0, blocked: 0, taken_down: 0 };
        }
        match reading::tables(&settings.data_dir) {
            Ok(tables) => {
                Standing::kept(&tables).unwrap_or_else(|fault| Standing::Unknown(fault.to_string()))
            }
            Err(why) => Standing::Unknown(super::beside(why, "GET /api/v1/controls")),
        }
    }

    fn kept(tables: &SledTables) -> Result<Standing, Failure> {
        let decided = Control::kept(tables)?;
        Ok(Standing::Known {
            paused: decided.paused,
            paused_hosts: decided.paused_hosts.len() as u64,
            blocked: decided.blocks.len() as u64,
            taken_down: takedown::blocked(tables)?.len() as u64,
        })
    }

    /// For machines; nothing where it is not known, and `controls_unknown` says why.
    pub fn json(&self) -> Value {
        match self {
            Standing::Known { paused, paused_hosts, blocked, taken_down } => json!({
                "paused": paused, "paused_hosts": paused_hosts, "blocked": blocked, "taken_down": taken_down,
            }),
            Standing::Unknown(_) => Value::Null,
        }
    }

    /// Why it is not known.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Standing::Known { .. } => None,
            Standing::Unknown(why) => Some(why),
        }
    }

    /// In a line.
    pub fn words(&self) -> String {
        match self {
            Standing::Known { paused, paused_hosts, blocked, taken_down } => {
                let crawl = match paused {
                    Some(Mark { who, at }) => format!("paused by {who} at {}", timestamp(*at)),
                    None => "not paused".into(),
                };
                let [hosts, blocked, down] = [*paused_hosts, *blocked, *taken_down].map(thousands);
                format!("{crawl}; {hosts} hosts paused, {blocked} patterns blocked, {down} taken down")
            }
            Standing::Unknown(why) => format!("not looked up: {why}"),
        }
    }
}
