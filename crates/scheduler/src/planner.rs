//! Makes a plan in one pass over all pages.

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

/// Makes the plan of one cycle in one pass over all pages.
///
/// Every page has a [`Gate`]. Due pages are chosen by share:
///
/// - **Warm-up**: all warm-up pages, in addition to k.
/// - **Audit**: round(`audit_share`·k) of the pages that compete by score, drawn uniformly without
///   replacement. Each carries its sampling probability.
/// - **Announced**: round(`announced_share`·k) of the pages that compete by score and are announced
///   as changed, highest scores first.
/// - **Discovery**: round(`discovery_share`·k) of the URLs that were never fetched, and beyond k up
///   to `discovery_min`. Lower depth comes first, then redirect targets, then URLs with more links.
/// - **Score**: the rest of k by the policy's score, highest first and NaN last. Pages of the audit
///   sample and announced pages are not chosen again; the next ones take their place.
///
/// With `samples_siblings`, of each group of siblings only the best page competes by score, beside announced ones, and
/// discovery stays within its share: what is left of k is for a later round.
///
/// If announced pages do not fill their share, the score gets the rest. If another share is not
/// filled, the others get the rest, see the module `shares`. [`Ties`](crate::Ties) breaks ties.
/// With `max_per_host`, no host gets more pages than that in the cycle. Its warm-up comes first
/// (longest wait first, if it exceeds the limit), the audit second. Then each share takes the
/// host's best pages.
///
/// **Memory**: [`PlanMemory`] limits the memory that is proportional to k: candidates, sample and
/// plan. They need 16 bytes for each of:
///
/// - up to 2k candidates by score
/// - up to 2k announced candidates, if there is an announced share
/// - up to 2(k + `discovery_min`) candidates for discovery
/// - the pages of the audit share
/// - the chosen pages
/// - with `max_per_host`, the candidates of one host again, at most twice its limit per order
///
/// The limit is divided fairly among these. So 128 bytes per page of k keep everything in memory.
/// With less memory, sorted runs are spilled, and the plan is the same. At most 2k candidates of
/// each order are spilled, 16 bytes each, and as much again during a merge. In addition, with
/// `max_per_host`, each host with more candidates than slots takes 48 bytes.
pub struct Planner<'p, H> {
    policy: &'p mut dyn Policy,
    collector: Collector,
    /// Candidates of all complete hosts, or of all pages without a limit per host.
    all: Pools,
    /// The warm-up of the same pages.
    choice: Choice,
    disk: Runs,
    /// Only with a limit per host.
    hosts: Option<Hosts<H>>,
    scanned: u64,
    scores: Vec<f64>,
    rules: ShareRules,
}

/// Offers each page to the shares that it competes for.
struct Collector {
    cycle: Cycle,
    warmup: u32,
    audits: bool,
    announces: bool,
    samples: bool,
    ties: TieBreak,
    audit: Shuffle,
    counts: Counts,
}

impl<'p, H: Iterator<Item: Into<HostPages>>> Planner<'p, H> {
    /// Prepares the policy for the cycle. `hosts` are the hosts in scan order; only used with
    /// `max_per_host`.
    ///
    /// # Errors
    /// Invalid shares.
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
        let [cap, in_round] = [request.max_per_host, request.max_per_host_in_round];
        let least = cap.into_iter().chain(in_round).min();
        let of_host = least.map(|limit| Limits {
            warmup: Some(limit),
            discovery: all.discovery.min(limit),
            score: all.score.min(limit),
            announced: all.announced.min(limit),
            audit: all.audit,
        });
        let needed_by_host = of_host.iter().flat_map(Limits::bytes_needed);
        let division =
            memory.divide(all.bytes_needed().into_iter().chain(needed_by_host).chain([Choice::BYTES_NEEDED]));
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        let audit = Shuffle::new(request.seed, request.cycle, Purpose::Audit);
        Ok(Planner {
            policy,
            collector: Collector {
                cycle: request.cycle,
                warmup: request.warmup,
                audits: targets.audit > 0,
                announces: targets.announced > 0,
                samples: request.samples_siblings,
                ties,
                audit,
                counts: Counts::default(),
            },
            all: Pools::new(&all, division),
            choice: Choice::new(division),
            disk: Runs::new(memory.spill),
            hosts: of_host.map(|limits| {
                let [cap, in_round] = [cap, in_round].map(|limit| limit.unwrap_or(u64::MAX));
                Hosts::new(hosts, cap, in_round, Pools::new(&limits, division))
            }),
            scanned: 0,
            scores: Vec::new(),
            rules: ShareRules {
                pages: k,
                discovery_min: request.discovery_min,
                samples_siblings: request.samples_siblings,
                targets,
                ties,
                audit,
            },
        })
    }

    /// Scans the next block of pages.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts have fewer pages than were scanned; or a run cannot be
    /// written.
    ///
    /// # Panics
    /// The policy does not score each row.
    pub fn scan(&mut self, columns: &StateColumns) -> Result<(), PlanError> {
        self.policy.score(columns, self.scanned, &mut self.scores);
        assert_eq!(self.scores.len(), columns.len(), "policy {} scores each row", self.policy.name());
        let Planner { collector, all, choice, disk, hosts, scores, .. } = self;
        let best = if collector.samples { collector.best(columns, scores, self.scanned) } else { Vec::new() };
        let block = Block { columns, scores, best, first: self.scanned };
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

    /// Returns the plan, after the last block.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts have more pages than were scanned; or a run cannot be read.
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
    /// By group of siblings, the row of the page that is offered.
    best: Vec<usize>,
    first: u64,
}

impl Collector {
    /// Offers the pages of some rows to `pools`. Chooses a warm-up page directly if `pools` keeps
    /// none.
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
            pools.tried += u64::from(block.columns.known[row].last_attempt == self.cycle);
            match Gate::of_row(block.columns, row, self.cycle, self.warmup) {
                Gate::Gone => self.counts.gone += 1,
                Gate::Refused => self.counts.refused += 1,
                Gate::BackOff => self.counts.backing_off += 1,
                Gate::Visited => self.counts.visited += 1,
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
                    if is_announced {
                        self.offer_by(score_key(block.scores[row]), ordinal, &mut pools.announced, disk)?;
                    } else if self.is_in_sample(block, row) {
                        self.offer_by(score_key(block.scores[row]), ordinal, &mut pools.score, disk)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// By group of siblings, the row of its best page that competes by score and is not announced.
    fn best(&self, columns: &StateColumns, scores: &[f64], first: u64) -> Vec<usize> {
        let mut best = Vec::new();
        let candidate = |row: usize| self.ties.by_score(scores[row], first + row as u64);
        for (row, &group) in columns.siblings.iter().enumerate() {
            let competes = Gate::of_row(columns, row, self.cycle, self.warmup) == Gate::Revisit
                && !(self.announces && columns.known[row].is_announced);
            if group == StateColumns::ALONE || !competes {
                continue;
            }
            let group = group as usize;
            if best.len() <= group {
                best.resize(group + 1, usize::MAX);
            }
            if best[group] == usize::MAX || candidate(row) < candidate(best[group]) {
                best[group] = row;
            }
        }
        best
    }

    /// Is a page that competes by score the best of its siblings, or are all offered?
    fn is_in_sample(&self, block: &Block<'_>, row: usize) -> bool {
        let group =
            block.columns.siblings.get(row).filter(|group| self.samples && **group != StateColumns::ALONE);
        group.is_none_or(|&group| block.best[group as usize] == row)
    }

    /// Offers a page by its key. Most keys are above the threshold; for these the tie break need
    /// not be computed.
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
