//! One pass over all pages, and then the plan.

use crate::candidate::{Candidate, TieBreak, discovery_key, score_key, warmup_key};
use crate::hosts::{Crowds, Hosts};
use crate::pools::Pools;
use crate::shares::Rules;
use crate::shuffle::{Purpose, Shuffle};
use crate::{Counts, Gate, Plan, PlanError, PlanRequest, Policy, TopK};
use recrawl_types::{Cycle, StateColumns};
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
/// **Memory**: 16 bytes for each of up to 2k candidates by score and as many for discovery, that is 64 k
/// bytes at most, 50 more for each of the announced and the audit share, 16 bytes for each warm-up page, and 24 for each page chosen; with `max_per_host` also
/// 40 bytes for each host that has more candidates than places. A k beyond memory is for the caller to
/// divide: the plan itself is a list of ordinals that can be written out as it is.
pub struct Planner<'p, H> {
    policy: &'p mut dyn Policy,
    keeper: Keeper,
    /// The candidates of all hosts that were scanned to their end, or of all pages without a limit.
    all: Pools,
    /// Only with a limit on hosts.
    hosts: Option<Hosts<H>>,
    scanned: u64,
    scores: Vec<f64>,
    rules: Rules,
}

/// Looks at each page and offers it where it competes.
struct Keeper {
    cycle: Cycle,
    warmup: u32,
    audits: bool,
    ties: TieBreak,
    audit: Shuffle,
    counts: Counts,
}

impl<'p, H: Iterator<Item = u64>> Planner<'p, H> {
    /// Prepares the policy for the cycle. `host_lengths` says of how many consecutive pages each host
    /// consists, in order; it is read only when `max_per_host` is set.
    ///
    /// # Errors
    /// Shares that cannot be.
    pub fn new(
        request: PlanRequest,
        policy: &'p mut dyn Policy,
        host_lengths: H,
    ) -> Result<Planner<'p, H>, PlanError> {
        request.check()?;
        policy.prepare(request.cycle, request.seed);
        let (k, targets) = (request.pages, request.targets());
        let unfetched = k.saturating_add(request.discovery_min);
        // As many of the best may be in the audit sample.
        let announced = if targets.announced > 0 { targets.announced + targets.audit } else { 0 };
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        let audit = Shuffle::new(request.seed, request.cycle, Purpose::Audit);
        Ok(Planner {
            policy,
            keeper: Keeper {
                cycle: request.cycle,
                warmup: request.warmup,
                audits: targets.audit > 0,
                ties,
                audit,
                counts: Counts::default(),
            },
            all: Pools::new(u64::MAX, unfetched, k, announced, targets.audit),
            hosts: request.max_per_host.map(|limit| {
                let announced = limit.min(announced);
                let pools = Pools::new(limit, limit.min(unfetched), limit.min(k), announced, targets.audit);
                Hosts::new(host_lengths, limit, pools)
            }),
            scanned: 0,
            scores: Vec::new(),
            rules: Rules { pages: k, discovery_min: request.discovery_min, targets, ties, audit },
        })
    }

    /// Takes the next block of pages.
    ///
    /// # Errors
    /// When `max_per_host` is set and the hosts have fewer pages.
    ///
    /// # Panics
    /// When the policy does not give each row a score.
    pub fn scan(&mut self, columns: &StateColumns) -> Result<(), PlanError> {
        self.policy.score(columns, self.scanned, &mut self.scores);
        assert_eq!(self.scores.len(), columns.len(), "policy {} scores each row", self.policy.name());
        let block = Block { columns, scores: &self.scores, first: self.scanned };
        match &mut self.hosts {
            None => self.keeper.offer(&block, 0..columns.len(), &mut self.all),
            Some(hosts) => {
                let mut row = 0;
                while row < columns.len() {
                    let ordinal = block.first + row as u64;
                    let run = hosts.next_run(ordinal, columns.len() - row)?;
                    self.keeper.offer(&block, row..row + run, &mut hosts.pools);
                    hosts.advance(ordinal, run, &mut self.all);
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
    /// When `max_per_host` is set and the hosts have more pages than were scanned.
    pub fn finish(self) -> Result<Plan, PlanError> {
        let crowds = match self.hosts {
            None => Crowds::default(),
            Some(hosts) => hosts.finish(self.scanned)?,
        };
        Ok(self.rules.fill(self.all, crowds, self.keeper.counts))
    }
}

/// A block of pages and their scores.
struct Block<'a> {
    columns: &'a StateColumns,
    scores: &'a [f64],
    first: u64,
}

impl Keeper {
    /// Offers the pages of some rows to `pools`.
    fn offer(&mut self, block: &Block<'_>, rows: Range<usize>, pools: &mut Pools) {
        for row in rows {
            let ordinal = block.first + row as u64;
            self.counts.pages += 1;
            match Gate::of_row(block.columns, row, self.cycle, self.warmup) {
                Gate::Gone => self.counts.gone += 1,
                Gate::BackOff => self.counts.backing_off += 1,
                Gate::Discovery => {
                    self.counts.discovery_due += 1;
                    pools.unfetched += 1;
                    self.offer_by(discovery_key(&block.columns.known[row]), ordinal, &mut pools.discovery);
                }
                Gate::Warmup => {
                    self.counts.warmup_due += 1;
                    self.offer_by(warmup_key(block.columns.last[row]), ordinal, &mut pools.warmup);
                }
                Gate::Revisit => {
                    self.counts.revisit_due += 1;
                    pools.eligible += 1;
                    if self.audits {
                        pools.audit.offer(self.audit.apply(ordinal));
                    }
                    let key = score_key(block.scores[row]);
                    self.offer_by(key, ordinal, &mut pools.score);
                    if block.columns.known[row].is_announced {
                        self.offer_by(key, ordinal, &mut pools.announced);
                    }
                }
            }
        }
    }

    /// Offers a page by its key. Most pages are beyond the bar by the key alone; only for the others is
    /// it worth finding out what decides between equals.
    fn offer_by(&self, key: u64, ordinal: u64, pool: &mut TopK<Candidate>) {
        if pool.bar().is_none_or(|bar| key <= bar.key) {
            pool.offer(self.ties.candidate(key, ordinal));
        }
    }
}

#[cfg(test)]
mod tests;
