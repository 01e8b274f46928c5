//! What operators asked for, as it is kept in the tables: plain data, in JSON, every field with a default, so that an older
//! entry is read.

use super::Effect;
use crate::decisions::{Mark, Marks};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Seeds that wait.
pub type Seeds = BTreeSet<String>;
/// Pages that are asked for.
pub type Asked = BTreeMap<String, Wish>;
/// The history of formulas.
pub type Chosens = Vec<Chosen>;

/// Who asked for a page, and how often a cycle came to it and could not ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Who, and when.
    #[serde(flatten)]
    pub mark: Mark,
    /// Cycles that skipped it for a reason that passes.
    #[serde(default)]
    pub tries: u32,
}

/// A formula that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The text of its file.
    pub toml: String,
    /// Who chose it, and when.
    #[serde(flatten)]
    pub mark: Mark,
    /// The first cycle that it ranks; none where nobody knows.
    pub from_cycle: Option<u64>,
}

/// Enters a decision, or takes it out where `mark` is none.
pub fn set(all: &mut Marks, what: &str, mark: Option<Mark>, limit: usize) -> Effect {
    match mark {
        Some(_) if all.contains_key(what) => Effect::Already,
        Some(_) if all.len() >= limit => Effect::Full,
        Some(mark) => {
            all.insert(what.to_owned(), mark);
            Effect::Done
        }
        None if all.remove(what).is_some() => Effect::Done,
        None => Effect::Already,
    }
}
