//! The gates that are closed to pages, for commands that list them. `readmission.rs` asks them for a crawl.

use crate::admission::blocks::Blocks;
use crate::admission::decisions::Decisions;
use crate::admission::gates::{ClosedGate, Gates, OriginGates};
use crate::admission::scope::Scope;
use crate::failure::Failure;
use crate::parts::traps::{self, OriginTraps, TrapRules};
use recrawl_fetcher::FetchConfig;
use recrawl_repository::SledTables;
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostTable, Origin};

/// Known pages whose rules a command looks up: the first in URL order.
pub const MAX_LOOKED_AT: u64 = 10_000;

/// Bytes of robots.txt that are compared with pages in all: each page is compared with each of its rules.
const MAX_COMPARED: u64 = 100 << 20;

/// The rules of the configuration and of operators.
pub struct Forbidding<'c> {
    fetch: &'c FetchConfig,
    traps: &'c TrapRules,
    scope: Scope,
    blocks: Blocks,
}

impl<'c> Forbidding<'c> {
    /// The rules in force under these decisions. The scope admits the sites of seeds.
    pub fn new(
        fetch: &'c FetchConfig,
        traps: &'c TrapRules,
        mut scope: Scope,
        decided: &Decisions,
    ) -> Forbidding<'c> {
        scope.refuse_taken_down(decided.taken_down.clone());
        Forbidding { fetch, traps, scope, blocks: Blocks::from_patterns(decided.blocks.keys()) }
    }

    /// Reads what is stored of an origin.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of_origin(&self, tables: &SledTables, origin: &Origin) -> Result<OfOrigin, Failure> {
        let state = tables.load(origin)?.unwrap_or_default();
        let gates = OriginGates::from_state(&state, self.fetch);
        let rules = match state.robots.as_ref().map(|robots| &robots.body) {
            Some(RobotsBody::Rules(rules)) => rules.len(),
            _ => 0,
        };
        Ok(OfOrigin { gates, traps: traps::known(tables, origin)?, most_looked_at: most_looked_at(rules) })
    }

    /// All gates that are closed to a page of this origin, in order.
    pub fn gates(&self, of: &OfOrigin, url: &CanonicalUrl, is_visited: bool) -> Vec<ClosedGate> {
        let is_trap = |url: &CanonicalUrl| self.traps.cut(&of.traps, url).is_some() && !traps::is_probe(url);
        let scope = Some(&self.scope);
        let gates = Gates { scope, blocks: &self.blocks, is_trap: &is_trap, origin: &of.gates };
        gates.closed_to(url, is_visited).collect()
    }
}

/// Stored rules and state of an origin.
pub struct OfOrigin {
    gates: OriginGates,
    traps: OriginTraps,
    /// Known pages whose rules a command looks up: fewer where robots.txt has many rules.
    pub most_looked_at: u64,
}

/// Known pages that are compared with a robots.txt of this size.
fn most_looked_at(rules: usize) -> u64 {
    (MAX_COMPARED / (rules as u64).max(1)).clamp(100, MAX_LOOKED_AT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_pages_are_compared_with_more_rules() {
        for (rules, pages) in [(0, 10_000), (10 << 10, 10_000), (500 << 10, 204), (10 << 20, 100)] {
            assert_eq!(most_looked_at(rules), pages, "{rules} bytes");
        }
    }
}
