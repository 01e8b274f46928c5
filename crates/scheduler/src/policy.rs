//! The policies: how a page is scored, one file each.

pub mod age;
pub mod formula;
pub mod random;

use recrawl_formula::Formula;
use recrawl_types::{Cycle, StateColumns};

/// Scores pages. In two steps: what a policy has to think about once a cycle it does in `prepare`, and
/// `score` then takes constant time a page.
pub trait Policy: Send {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// Called before the first page of a cycle.
    fn prepare(&mut self, cycle: Cycle, seed: u64);

    /// Scores every row of the block, whose first page has the ordinal `first_ordinal`: `out` is
    /// emptied and gets one score a row. The higher the score the sooner the visit; NaN ranks below
    /// every number. Rows that were never visited may get any score: they do not compete by it.
    fn score(&self, columns: &StateColumns, first_ordinal: u64, out: &mut Vec<f64>);
}

/// A policy that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct PolicyKind {
    /// The name.
    pub name: &'static str,
    /// What it does, in words.
    pub help: &'static str,
    /// Makes one; the formula is that of the crawl, which most policies have no use for.
    pub build: fn(&Formula) -> Box<dyn Policy>,
}

/// Every policy.
pub const ALL: &[PolicyKind] = &[formula::KIND, random::KIND, age::KIND];

impl PolicyKind {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<PolicyKind> {
        ALL.iter().copied().find(|kind| kind.name == name)
    }
}

#[cfg(test)]
mod tests;
