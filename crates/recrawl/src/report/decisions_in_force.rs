//! Operators' decisions in `recrawl status`, readable while a crawl runs.

use super::{counted, thousands};
use recrawl_archive::timestamp;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::{Decisions, Mark};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::parts::seed_hosts;
use recrawl_crawl::settings::Settings;
use recrawl_repository::SledTables;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Decisions of each kind that are printed.
const SHOWN: usize = 10;

/// Operators' decisions in force, or why they cannot be read.
pub enum DecisionsInForce {
    Known(Decisions),
    /// The error.
    Unknown(String),
}

/// A decision in force.
#[derive(Debug, PartialEq, Serialize)]
pub struct InForce {
    kind: DecisionKind,
    /// Host or pattern; none for the whole crawl.
    what: Option<String>,
    /// Who decided it, and when; none for a takedown, which `control.jsonl` has.
    #[serde(flatten)]
    by: Option<Mark>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DecisionKind {
    Paused,
    HostPaused,
    Blocked,
    TakenDown,
}

impl DecisionKind {
    const ALL: [DecisionKind; 4] =
        [DecisionKind::Paused, DecisionKind::HostPaused, DecisionKind::Blocked, DecisionKind::TakenDown];

    fn words(self) -> &'static str {
        match self {
            DecisionKind::Paused => "crawl paused",
            DecisionKind::HostPaused => "host paused",
            DecisionKind::Blocked => "blocked",
            DecisionKind::TakenDown => "taken down",
        }
    }
}

impl DecisionsInForce {
    /// Reads the decisions of a data directory.
    pub fn read(settings: &Settings) -> DecisionsInForce {
        let tables = || open_read::tables(&settings.data_dir);
        open_read::decisions(&settings.data_dir, tables)
            .map_or_else(|fault| DecisionsInForce::Unknown(fault.to_string()), DecisionsInForce::Known)
    }

    /// The pause of the whole crawl, as far as that is known.
    pub fn paused(&self) -> Option<&Mark> {
        match self {
            DecisionsInForce::Known(decided) => decided.paused.as_ref(),
            DecisionsInForce::Unknown(_) => None,
        }
    }

    /// The hosts of seeds of which no page can be fetched, but for those that are blocked, as far as that is known.
    pub fn failing_seed_hosts(&self, tables: Option<&SledTables>) -> Result<BTreeSet<String>, Failure> {
        let blocks = match self {
            DecisionsInForce::Known(decided) => Blocks::from_patterns(decided.blocks.keys()),
            DecisionsInForce::Unknown(_) => Blocks::default(),
        };
        tables.map_or(Ok(BTreeSet::new()), |tables| seed_hosts::failing_unblocked(tables, &blocks))
    }

    /// The JSON field `controls`: null if unknown; then `controls_unknown` has the reason.
    pub fn json(&self) -> Value {
        match self {
            DecisionsInForce::Known(Decisions { paused, paused_hosts, blocks, taken_down }) => json!({
                "paused": paused, "paused_hosts": paused_hosts.len(), "blocked": blocks.len(),
                "taken_down": taken_down.len(),
            }),
            DecisionsInForce::Unknown(_) => Value::Null,
        }
    }

    /// Why the decisions are unknown.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            DecisionsInForce::Known(_) => None,
            DecisionsInForce::Unknown(why) => Some(why),
        }
    }

    /// All decisions; none if they are unknown.
    pub fn list(&self) -> Option<Vec<InForce>> {
        match self {
            DecisionsInForce::Known(decided) => Some(list(decided)),
            DecisionsInForce::Unknown(_) => None,
        }
    }

    /// As one printed line.
    pub fn words(&self) -> String {
        match self {
            DecisionsInForce::Known(Decisions { paused, paused_hosts, blocks, taken_down }) => {
                let crawl = match paused {
                    Some(Mark { who, at }) => format!("paused by {who} at {}", timestamp(*at)),
                    None => "not paused".into(),
                };
                let [hosts, blocked] = [(paused_hosts.len(), "host"), (blocks.len(), "pattern")]
                    .map(|(count, noun)| counted(count as u64, noun));
                format!("{crawl}; {hosts} paused, {blocked} blocked, {} taken down", taken_down.len())
            }
            DecisionsInForce::Unknown(why) => format!("unreadable: {why}"),
        }
    }
}

/// All decisions in force, by kind.
fn list(decided: &Decisions) -> Vec<InForce> {
    let Decisions { paused, paused_hosts, blocks, taken_down } = decided;
    let paused =
        paused.iter().map(|mark| InForce { kind: DecisionKind::Paused, what: None, by: Some(mark.clone()) });
    let marked = |kind, what: String, mark: &Mark| InForce { kind, what: Some(what), by: Some(mark.clone()) };
    let hosts = paused_hosts.iter().map(|(host, mark)| marked(DecisionKind::HostPaused, host.clone(), mark));
    let blocked =
        blocks.iter().map(|(pattern, mark)| marked(DecisionKind::Blocked, pattern.to_string(), mark));
    let down = taken_down.iter().map(|pattern| InForce {
        kind: DecisionKind::TakenDown,
        what: Some(pattern.to_string()),
        by: None,
    });
    paused.chain(hosts).chain(blocked).chain(down).collect()
}

/// The decisions that concern pages of a host.
pub fn of_host(decided: &Decisions, host: &str) -> Vec<InForce> {
    let mut decided = decided.clone();
    decided.paused_hosts.retain(|name, _| name == host);
    decided.blocks.retain(|pattern, _| pattern.meets_host(host));
    decided.taken_down.retain(|pattern| pattern.meets_host(host));
    list(&decided)
}

/// As printed lines, a limited number of each kind.
pub fn lines(all: &[InForce]) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in DecisionKind::ALL {
        let of_kind = || all.iter().filter(|decision| decision.kind == kind);
        for InForce { what, by, .. } in of_kind().take(SHOWN) {
            let what = what.as_ref().map(|what| format!(": {what}")).unwrap_or_default();
            let by = by.as_ref().map(|Mark { who, at }| format!(" (by {who} at {})", timestamp(*at)));
            lines.push(format!("{}{what}{}", kind.words(), by.unwrap_or_default()));
        }
        let more = of_kind().count().saturating_sub(SHOWN) as u64;
        if more > 0 {
            lines.push(format!("… and {} more {}; see --json", thousands(more), kind.words()));
        }
    }
    lines
}
