//! One pass over all pages, and then the plan.

use crate::candidate::{Candidate, TieBreak, discovery_key, score_key, warmup_key};
use crate::chosen::{Choice, ChosenBy};
use crate::hosts::{HostPages, HostSlots, Hosts};
use crate::pools::{Limits, Pools};
use crate::runs::Runs;
use crate::shares::ShareRules;
use crate::shuffle::{Purpose, Shuffle};
use crate::spilling_top_k::SpillingTopK;
use crate::{Counts, Gate, Plan, PlanError, PlanMemory, PlanRequest, Policy};
use recrawl_types::{Cycle, StateColumns};
use std::io;
use std::ops::Range;

/// Makes the plan of one cycle from one pass over the pages.
///
/// Every page stands at a [`Gate`]. What is due is chosen thus:
///
/// - **Warm-up** pages are all chosen, beside k.
/// - **Audit**: round(`audit_share`·k) of the pages that compete by score, drawn uniformly without
///   replacement; each carries the probability with which it was.
/// - **Announced**: round(`announced_share`·k) of the pages that compete by score and are announced as changed,
///   those with the highest scores.
/// - **Discovery**: round(`discovery_share`·k), and beyond k up to `discovery_min`, of the URLs that were never
///   fetched: those nearer to a seed first, of one depth the targets of redirects first, then those
///   with more links to them.
/// - **Score**: the rest of k, by the policy's score, highest first and NaN last; a page that the audit
///   drew, or that is announced, is not chosen again, the score goes on to the next.
///
/// What is announced leaves to the score what it cannot use; what one of the others cannot use goes to the rest: see the module `shares`. Between equals
/// [`Ties`](crate::Ties) decides. With `max_per_host`, no host gets more pages than that in the cycle:
/// its warm-up comes first (those that wait longest, where it is more than the limit), the audit second,
/// and for the rest each share takes the host's best first.
///
/// **Memory**: [`PlanMemory`] bounds what is in proportion to k: candidates, sample and plan. They want 16 bytes for
/// each of up to 2k candidates by score, as many for what is announced (if it has a share) and for discovery (there with
/// `discovery_min` added to k), 16 for each page of the audit share, as many for each page chosen while it is listed; with `max_per_host` the same
/// again for the candidates of one host, of which there are no more than twice its places. An equal part of the memory goes to each who wants as much. So
/// 128 bytes a page of k are enough for all to stay in memory; where they are not there, sorted runs are spilled, and the plan is the same.
/// What is spilled is at most 2k candidates of each order at 16 bytes, and as much again while it is merged. Beside all that there are, with
/// `max_per_host`, 48 bytes for each host that has more candidates than places.
pub struct Planner<'p, H> {
    policy: &'p mut dyn Policy,
    collector: Collector,
    /// The candidates of all hosts that were scanned to their end, or of all pages without a limit.
    all: Pools,
    /// The warm-up of the same.
    choice: Choice,
    disk: Runs,
    /// Only with a limit on hosts.
    hosts: Option<Hosts<H>>,
    scanned: u64,
    scores: Vec<f64>,
    rules: ShareRules,
}

/// Looks at each page and offers it where it competes.
struct Collector {
    cycle: Cycle,
    warmup: u32,
    audits: bool,
    announces: bool,
    ties: TieBreak,
    audit: Shuffle,
    counts: Counts,
}

impl<'p, H: Iterator<Item: Into<HostPages>>> Planner<'p, H> {
    /// Prepares the policy for the cycle. `hosts` has the hosts in the order of the scan; it is read only when
    /// `max_per_host` is set.
    ///
    /// # Errors
    /// Shares that cannot be.
    pub fn new(
        request: PlanRequest,
        policy: &'p mut dyn Policy,
        hosts: H,
        memory: PlanMemory,
    ) -> Result<Planner<'p, H>, PlanError> {
        request.check()?;
        policy.prepare(request.cycle, request.seed);
        let (k, targets) = (request.pages, request.targets());
        let all = Limits {
            warmup: None,
            discovery: k.saturating_add(request.discovery_min),
            score: k,
            announced: if targets.announced > 0 { k } else { 0 },
            audit: targets.audit,
        };
        let of_host = request.max_per_host.map(|limit| Limits {
            warmup: Some(limit),
            discovery: all.discovery.min(limit),
            score: all.score.min(limit),
            announced: all.announced.min(limit),
            audit: all.audit,
        });
        let wanted_by_host = of_host.iter().flat_map(Limits::bytes_needed);
        let division =
            memory.divide(all.bytes_needed().into_iter().chain(wanted_by_host).chain([Choice::BYTES_NEEDED]));
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        let audit = Shuffle::new(request.seed, request.cycle, Purpose::Audit);
        Ok(Planner {
            policy,
            collector: Collector {
                cycle: request.cycle,
                warmup: request.warmup,
                audits: targets.audit > 0,
                announces: targets.announced > 0,
                ties,
                audit,
                counts: Counts::default(),
            },
            all: Pools::new(&all, division),
            choice: Choice::new(division),
            disk: Runs::new(memory.spill),
            hosts: request
                .max_per_host
                .zip(of_host)
                .map(|(limit, limits)| Hosts::new(hosts, limit, Pools::new(&limits, division))),
            scanned: 0,
            scores: Vec::new(),
            rules: ShareRules { pages: k, discovery_min: request.discovery_min, targets, ties, audit },
        })
    }

    /// Takes the next block of pages.
    ///
    /// # Errors
    /// When `max_per_host` is set and the hosts have fewer pages, or when the disk refuses what is spilled.
    ///
    /// # Panics
    /// When the policy does not give each row a score.
    pub fn scan(&mut self, columns: &StateColumns) -> Result<(), PlanError> {
        self.policy.score(columns, self.scanned, &mut self.scores);
        assert_eq!(self.scores.len(), columns.len(), "policy {} scores each row", self.policy.name());
        let Planner { collector, all, choice, disk, hosts, scores, .. } = self;
        let block = Block { columns, scores, first: self.scanned };
        match hosts {
            None => collector.offer(&block, 0..columns.len(), all, choice, disk)?,
            Some(hosts) => {
                let mut row = 0;
                while row < columns.len() {
                    let ordinal = block.first + row as u64;
                    let run = hosts.next_run(ordinal, columns.len() - row)?;
                    collector.offer(&block, row..row + run, &mut hosts.pools, choice, disk)?;
                    hosts.advance(ordinal, run, &collector.ties, all, choice, disk)?;
                    row += run;
                }
            }
        }
        self.scanned += columns.len() as u64;
        Ok(())
    }

    /// The plan, after the last block.
    ///
    /// # Errors
    /// When `max_per_host` is set and the hosts have more pages than were scanned, or when what was spilled cannot be
    /// read.
    pub fn finish(self) -> Result<Plan, PlanError> {
        let host_slots = match self.hosts {
            None => HostSlots::default(),
            Some(hosts) => hosts.finish(self.scanned)?,
        };
        let mut counts = self.collector.counts;
        counts.warmup = self.choice.pages();
        Ok(self.rules.fill(self.all, self.choice, host_slots, counts, self.disk)?)
    }
}

/// A block of pages and their scores.
struct Block<'a> {
    columns: &'a StateColumns,
    scores: &'a [f64],
    first: u64,
}

impl Collector {
    /// Offers the pages of some rows to `pools`, and chooses a warm-up that is not kept there.
    fn offer(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        pools: &mut Pools,
        choice: &mut Choice,
        disk: &mut Runs,
    ) -> io::Result<()> {
        for row in rows {
            let ordinal = block.first + row as u64;
            self.counts.pages += 1;
            match Gate::of_row(block.columns, row, self.cycle, self.warmup) {
                Gate::Gone => self.counts.gone += 1,
                Gate::Refused => self.counts.refused += 1,
                Gate::BackOff => self.counts.backing_off += 1,
                Gate::Discovery => {
                    self.counts.discovery_due += 1;
                    pools.unfetched += 1;
                    let key = discovery_key(&block.columns.known[row]);
                    self.offer_by(key, ordinal, &mut pools.discovery, disk)?;
                }
                Gate::Warmup => {
                    self.counts.warmup_due += 1;
                    match &mut pools.warmup {
                        None => choice.push(
                            ordinal,
                            ChosenBy::Warmup,
                            warmup_key(block.columns.last[row]),
                            disk,
                        )?,
                        Some(pool) => {
                            self.offer_by(warmup_key(block.columns.last[row]), ordinal, pool, disk)?
                        }
                    }
                }
                Gate::Revisit => {
                    self.counts.revisit_due += 1;
                    pools.eligible += 1;
                    if self.audits {
                        pools.audit.offer(self.audit.apply(ordinal), disk)?;
                    }
                    let is_announced = self.announces && block.columns.known[row].is_announced;
                    let pool = if is_announced { &mut pools.announced } else { &mut pools.score };
                    self.offer_by(score_key(block.scores[row]), ordinal, pool, disk)?;
                }
            }
        }
        Ok(())
    }

    /// Offers a page by its key. Most pages are beyond the threshold by the key alone; only for the others is
    /// it worth finding out what decides between equals.
    fn offer_by(
        &self,
        key: u64,
        ordinal: u64,
        pool: &mut SpillingTopK<Candidate>,
        disk: &mut Runs,
    ) -> io::Result<()> {
        if pool.threshold().is_none_or(|threshold| key <= threshold.key) {
            pool.offer(self.ties.candidate(key, ordinal), disk)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
