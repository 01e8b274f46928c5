//! Decisions stored in the tables, as JSON. Every field has a default, so that older entries can be
//! read.

use super::DecisionResult;
use crate::admission::decisions::{Mark, Marks};
use recrawl_types::Cycle;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Queued seeds.
pub type QueuedSeeds = BTreeSet<String>;
/// Requested pages.
pub type RequestedPages = BTreeMap<String, PageRequest>;
/// The history of formulas.
pub type Chosens = Vec<ChosenFormula>;

/// A request for a page: its author, and how often it was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRequest {
    /// Author and time of the request.
    #[serde(flatten)]
    pub mark: Mark,
    /// Cycles that skipped it for a temporary reason.
    #[serde(default)]
    pub tries: u32,
    /// The last of these cycles.
    #[serde(default)]
    pub tried_in: Cycle,
    /// When it was skipped because its host was in back-off, if that is why it still waits; in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_at: Option<u64>,
}

/// A chosen formula.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenFormula {
    /// Text of the formula file.
    pub toml: String,
    /// Author and time of the choice.
    #[serde(flatten)]
    pub mark: Mark,
    /// The first cycle ranked by it; none if unknown.
    pub from_cycle: Option<u64>,
}

/// Adds a decision, or removes it if `mark` is none.
pub fn set<K: Ord + Clone>(all: &mut Marks<K>, what: &K, mark: Option<Mark>, limit: usize) -> DecisionResult {
    match mark {
        Some(_) if all.contains_key(what) => DecisionResult::Already,
        Some(_) if all.len() >= limit => DecisionResult::Full,
        Some(mark) => {
            all.insert(what.clone(), mark);
            DecisionResult::Done
        }
        None if all.remove(what).is_some() => DecisionResult::Done,
        None => DecisionResult::Already,
    }
}
