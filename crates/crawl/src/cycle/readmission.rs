//! Readmits pages when the rule that refused them no longer does.
//!
//! A page refused by robots.txt, the scope, an opt-out, a block or a trap is marked in its record,
//! and is no candidate in a cycle. Instead, the rules are checked again when a cycle is planned,
//! without a request: for all pages after the operator's rules changed, for an origin's pages after
//! its robots.txt changed, and for each origin every [`RECHECK_EVERY`] cycles. A page that they
//! admit is passed to the merge like a seed, and competes from the next cycle on.
//!
//! The address guard needs an address, so a page on a refused one is tried again after its back-off, which ends when the
//! operator's rules change.
//!
//! robots.txt is only fetched for a visit. If an outdated one forbids all other pages of an origin,
//! one page is admitted every [`RECHECK_EVERY`] cycles, so that it is fetched again.

use crate::admission::gates::{ClosedGate, Gates, OriginGates};
use crate::admission::scope::Scope;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::operator::control::Control;
use crate::parts::pings::Pings;
use crate::parts::traps::Traps;
use recrawl_fetcher::FetchConfig;
use recrawl_fleet::Partition;
use recrawl_repository::{Generation, OriginRun, OriginRuns, VisitLog};
use recrawl_types::{
    CanonicalUrl, Cycle, HostState, HostTable, Link, LogRecord, Origin, Outcome, PageStatus, ScheduleEntry,
    Share, Skip,
};
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Cycles after which the pages of an origin are checked again, whatever changed.
pub const RECHECK_EVERY: u32 = 32;
/// Pages per log record.
const PAGES_A_RECORD: usize = 1000;

/// The rules that refuse pages without a request.
pub struct RefusalRules {
    scope: Scope,
    control: Arc<Control>,
    traps: Arc<Traps>,
    pings: Arc<Pings>,
    partition: Option<Arc<Partition>>,
}

impl RefusalRules {
    /// The rules of this cycle.
    pub fn new(crawl: &Crawl, traps: Arc<Traps>) -> RefusalRules {
        let (scope, control, pings) =
            (crawl.settings.scope.clone(), crawl.control.clone(), crawl.pings.clone());
        RefusalRules { scope, control, traps, pings, partition: crawl.partition.clone() }
    }

    /// Why the page is skipped, if it is. The fetcher knows the newest robots.txt and applies it.
    pub fn refuse(&self, entry: &ScheduleEntry) -> Option<Skip> {
        if let Some(partition) = &self.partition {
            // Another process may own the partition by now; if not, the page is due as before.
            if !partition.may_ask() {
                return Some(Skip::Deadline);
            }
            // Where a redirect leaves the partition, its owner visits the target: the link tells of it.
            if !partition.owns(entry.url.key()) {
                return Some(Skip::OutOfScope);
            }
        }
        match self.first(entry, &OriginGates::default())?.outcome() {
            Outcome::Skipped(skip) => Some(skip),
            _ => None,
        }
    }

    /// The first gate that keeps the page out.
    fn first(&self, entry: &ScheduleEntry, origin: &OriginGates) -> Option<ClosedGate> {
        let (blocks, is_trap) = (self.control.blocks(), |url: &CanonicalUrl| self.traps.refuse(url));
        // A key file is no page of the crawl.
        let scope =
            (entry.share != Share::Asked || !self.pings.is_key_file(&entry.url)).then_some(&self.scope);
        let gates = Gates { scope, blocks: &blocks, is_trap: &is_trap, origin };
        gates.closed_to(&entry.url, entry.record.visited.is_some()).next()
    }
}

/// A digest that changes with the operator's rules.
///
/// # Errors
/// When the tables cannot be read.
pub fn digest(crawl: &Crawl) -> Result<u64, Failure> {
    let lifted = match Control::lifted(&crawl.tables)? {
        0 => String::new(),
        times => format!(" {times}"),
    };
    let (scope, blocks) = (crawl.settings.scope.digest(), crawl.control.blocks().digest());
    let rules = format!("{scope} {blocks}{lifted}{}", address_rules(&crawl.settings.fetch));
    Ok(xxh3_64(rules.as_bytes()))
}

/// The rules of the address guard, as a text; empty for those of most crawls.
pub fn address_rules(config: &FetchConfig) -> String {
    let allowed = config.allow_addresses.iter().map(|block| format!(" {block}"));
    allowed.chain(config.contact.is_none().then(|| " no contact".to_owned())).collect()
}

/// Changes since the last plan.
pub struct SinceLastPlan {
    /// The cycle being planned, if origins have their turn in this round.
    pub turn: Option<Cycle>,
    /// Time of the last plan, in milliseconds since 1970.
    pub planned: u64,
    /// Have the operator's rules changed?
    pub rules_changed: bool,
}

/// Checks refused pages again, and writes those that the rules admit to the log. Two passes: over
/// the states, and over the refused pages whose turn it is.
///
/// # Errors
/// When the generation or the tables cannot be read, or the log cannot be written.
pub fn readmit(
    crawl: &Crawl,
    generation: &Generation,
    since: &SinceLastPlan,
    refusals: RefusalRules,
    log: &mut VisitLog,
) -> Result<(), Failure> {
    let hosts = || RefusedOrigins { crawl, origins: generation.origin_runs(), since, last: None };
    // Each goes through all hosts in order.
    let (mut looked_at_hosts, mut admitting_hosts) = (hosts(), hosts());
    let mut admitted = Vec::new();
    let mut total = 0;
    let mut states = generation.states();
    while let Some((first, columns)) = states.next_block().map_err(Failure::work)? {
        crawl.live.moved();
        let mut looked_at = Vec::new();
        for (ordinal, known) in (first..).zip(&columns.known) {
            let is_looked_at = match known.status {
                PageStatus::Refused => looked_at_hosts.for_page(ordinal)?.is_looked_at,
                PageStatus::AddressRefused => since.rules_changed,
                PageStatus::Live | PageStatus::Gone => false,
            };
            if is_looked_at {
                looked_at.push(ordinal);
            }
        }
        let mut pages = generation.gather(looked_at.into_iter());
        while let Some((ordinal, url, record)) = pages.next_page().map_err(Failure::work)? {
            let entry = ScheduleEntry::new(url, Share::Score, record);
            if !admitting_hosts.for_page(ordinal)?.admits(&entry, &refusals) {
                continue;
            }
            let known = entry.record.known;
            admitted.push(Link { hops: known.hops, ..Link::to(entry.url, known.depth) });
            total += 1;
            if admitted.len() == PAGES_A_RECORD {
                let record = LogRecord::Seeds(std::mem::take(&mut admitted));
                log.append(&record).map_err(Failure::work)?;
            }
        }
    }
    if !admitted.is_empty() {
        log.append(&LogRecord::Seeds(admitted)).map_err(Failure::work)?;
    }
    if total > 0 {
        tracing::info!(pages = total, "readmitted pages: no rule refuses them any more");
    }
    Ok(())
}

/// The hosts of refused pages, one at a time, in page order.
struct RefusedOrigins<'c> {
    crawl: &'c Crawl,
    origins: OriginRuns,
    since: &'c SinceLastPlan,
    /// The last one, and the ordinal after its last page.
    last: Option<(u64, RefusedOrigin)>,
}

/// An origin with refused pages.
struct RefusedOrigin {
    is_looked_at: bool,
    gates: OriginGates,
    /// May a page be admitted so that robots.txt is fetched again?
    may_probe: bool,
}

impl RefusedOrigins<'_> {
    fn for_page(&mut self, ordinal: u64) -> Result<&mut RefusedOrigin, Failure> {
        if self.last.as_ref().is_none_or(|(end, _)| *end <= ordinal) {
            let run = self.origins.of_page(ordinal)?;
            let run =
                run.ok_or_else(|| Failure::work("a page has no origin; run `recrawl repository verify`"))?;
            self.last = Some((run.first + run.pages, RefusedOrigin::read(self.crawl, self.since, run)?));
        }
        Ok(&mut self.last.as_mut().expect("read just before").1)
    }
}

impl RefusedOrigin {
    fn read(crawl: &Crawl, since: &SinceLastPlan, run: &OriginRun) -> Result<RefusedOrigin, Failure> {
        let home = run.home().map_err(Failure::work)?;
        let state = crawl.tables.load(&Origin::from_url(&home))?.unwrap_or_default();
        let has_its_turn = since.turn.is_some_and(|cycle| {
            let turn = xxh3_64(&run.key).wrapping_add(u64::from(cycle.0));
            turn.is_multiple_of(u64::from(RECHECK_EVERY))
        });
        let config = &crawl.settings.fetch;
        Ok(RefusedOrigin {
            is_looked_at: has_its_turn
                || since.rules_changed
                || state.rules_changed >= since.planned && state.rules_changed > 0,
            may_probe: has_its_turn && is_out_of_date(&state, config.robots_cache, (crawl.clock)()),
            gates: OriginGates::from_state(&state, config),
        })
    }

    /// Is no gate closed to the page, or is it admitted so that robots.txt is fetched again?
    fn admits(&mut self, entry: &ScheduleEntry, refusals: &RefusalRules) -> bool {
        match refusals.first(entry, &self.gates) {
            None => true,
            Some(ClosedGate::Robots(_) | ClosedGate::Host(_)) => std::mem::take(&mut self.may_probe),
            Some(ClosedGate::Scope(_) | ClosedGate::Block(_) | ClosedGate::Trap) => false,
        }
    }
}

fn is_out_of_date(state: &HostState, cache: Duration, now: u64) -> bool {
    let until = |fetched: u64| fetched.saturating_add(cache.as_millis() as u64);
    state.robots.as_ref().is_some_and(|robots| !(robots.fetched..until(robots.fetched)).contains(&now))
}
