//! The rules that keep pages from being requested: robots.txt, the scope, opt-outs, takedowns and
//! blocks, for commands that list them. `readmission.rs` checks them for a crawl.

use crate::control::Blocks;
use crate::crawl::seed_sites;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::scope::Scope;
use crate::settings::Settings;
use recrawl_fetcher::robots::Rules;
use recrawl_repository::SledTables;
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostState};

/// Known pages whose rules a command looks up: the first in URL order.
pub const MAX_LOOKED_AT: u64 = 10_000;

/// The rules of the configuration and of operators.
pub struct Forbidding<'c> {
    settings: &'c Settings,
    scope: Scope,
    blocks: Blocks,
}

impl<'c> Forbidding<'c> {
    /// The rules in force under these decisions.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of(
        settings: &'c Settings,
        tables: &SledTables,
        decided: &Decisions,
    ) -> Result<Forbidding<'c>, Failure> {
        let mut scope = settings.scope.clone();
        scope.refuse_taken_down(decided.taken_down.clone());
        if settings.config.scope.hosts.is_empty() {
            scope.admit_sites(seed_sites(tables, &[])?);
        }
        Ok(Forbidding { settings, scope, blocks: Blocks::of(decided.blocks.keys()) })
    }

    /// The rules of an origin's robots.txt; none if it has none.
    pub fn robots(&self, state: &HostState) -> Option<Rules> {
        state.robots.as_ref().and_then(|robots| match &robots.body {
            RobotsBody::Rules(file) => Some(Rules::parse(file, self.settings.fetch.product_token())),
            RobotsBody::AllowAll | RobotsBody::DisallowAll(_) => None,
        })
    }

    /// All rules that forbid a page, in words. `robots` is of its origin.
    pub fn rules(&self, robots: Option<&Rules>, url: &CanonicalUrl) -> impl Iterator<Item = String> {
        let robots = robots.and_then(|rules| rules.forbids(url.path_and_query()));
        let robots = robots.map(|line| format!("robots.txt: {line}"));
        let scope = self.scope.refuse(url).map(|refusal| refusal.to_string());
        let block = self.blocks.cover(url).map(|pattern| format!("the block of {pattern}"));
        [robots, scope, block].into_iter().flatten()
    }
}
