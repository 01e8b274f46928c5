//! The gates that are closed to pages, for commands that list them. `readmission.rs` asks them for a crawl.

use crate::admission::blocks::Blocks;
use crate::admission::decisions::Decisions;
use crate::admission::gates::{ClosedGate, Gates, OriginGates};
use crate::admission::scope::Scope;
use crate::failure::Failure;
use crate::parts::traps::{self, OriginTraps, TrapRules};
use recrawl_fetcher::FetchConfig;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, HostTable, Origin};

/// Known pages whose rules a command looks up: the first in URL order.
pub const MAX_LOOKED_AT: u64 = 10_000;

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
        Ok(OfOrigin { gates, traps: traps::known(tables, origin)? })
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
}
