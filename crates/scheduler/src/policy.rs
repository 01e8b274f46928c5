//! The policies that score pages, one file each.

pub mod age;
pub mod formula;
pub mod random;

use recrawl_formula::Formula;
use recrawl_types::{Cycle, StateColumns};

/// Scores pages. `prepare` does the work that is needed once per cycle. Then `score` takes constant
/// time per page.
pub trait Policy: Send {
    /// Name in reports.
    fn name(&self) -> &str;

    /// Called before the first page of a cycle.
    fn prepare(&mut self, cycle: Cycle, seed: u64);

    /// Scores every row of the block, whose first page has the ordinal `first_ordinal`. Replaces
    /// `out` by one score per row. A higher score means an earlier visit; NaN ranks below every
    /// number. Rows that were never visited may get any score: they do not compete by it.
    fn score(&self, columns: &StateColumns, first_ordinal: u64, out: &mut Vec<f64>);
}

/// A policy that can be selected by name.
#[derive(Clone, Copy, Debug)]
pub struct PolicyKind {
    /// Its name.
    pub name: &'static str,
    /// One-line description.
    pub help: &'static str,
    /// Makes the policy from the crawl's formula, which most policies ignore.
    pub build: fn(&Formula) -> Box<dyn Policy>,
}

/// Two policies are the same if their names are.
impl PartialEq for PolicyKind {
    fn eq(&self, other: &PolicyKind) -> bool {
        self.name == other.name
    }
}

/// All policies.
pub const ALL: &[PolicyKind] = &[formula::KIND, random::KIND, age::KIND];

impl Default for PolicyKind {
    /// The score of the crawl's formula.
    fn default() -> PolicyKind {
        formula::KIND
    }
}

impl PolicyKind {
    /// Does it rank by the crawl's formula?
    pub fn is_formula(&self) -> bool {
        *self == formula::KIND
    }

    /// The policy of this name.
    pub fn named(name: &str) -> Option<PolicyKind> {
        ALL.iter().copied().find(|kind| kind.name == name)
    }
}

#[cfg(test)]
mod tests;
