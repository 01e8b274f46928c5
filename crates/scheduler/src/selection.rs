//! Chooses pages by scores that are given, in one pass: a [`Planner`](crate::Planner) without its policy.

use crate::arm_counter::{ArmCounter, ArmRuns};
use crate::candidate::{RankedPage, TieBreak, discovery_key, focused_key, score_key, warmup_key};
use crate::chosen::{ChosenBy, ChosenEntry};
use crate::explore::Explore;
use crate::first::FirstInOrder;
use crate::hosts::{HostDivider, HostSlots, ScanHosts};
use crate::pools::{PoolLimits, Pools};
use crate::runs::Runs;
use crate::shares::ShareRules;
use crate::shuffle::{Shuffle, ShufflePurpose};
use crate::spilling_top_k::SpillingTopK;
use crate::{DueFirst, Gate, Gather, Plan, PlanCounts, PlanError, PlanMemory, PlanRequest};
use recrawl_types::{Cycle, StateColumns};
use std::io;
use std::ops::Range;

/// What a plan has collected of the pages that were scanned.
pub(crate) struct PlanSelection<H> {
    collector: ShareCollector,
    /// Candidates of all complete hosts, or of all pages without a limit per host.
    all: Pools,
    /// The warm-up of the same pages.
    choice: ChosenEntry,
    disk: Runs,
    /// Only with a limit per host.
    hosts: Option<HostDivider<H>>,
    /// Only if arms are counted.
    arms: Option<ArmCounter>,
    scanned: u64,
    rules: ShareRules,
}

/// Offers each page to the shares that it competes for.
struct ShareCollector {
    cycle: Cycle,
    warmup: u32,
    audits: bool,
    announces: bool,
    samples: bool,
    first: FirstInOrder,
    ties: TieBreak,
    audit: Shuffle,
    explore: Option<Explore>,
    counts: PlanCounts,
}

impl<H: ScanHosts> PlanSelection<H> {
    /// `hosts` are the hosts in scan order; only used with `max_per_host`.
    ///
    /// # Errors
    /// Invalid shares.
    pub fn new(request: PlanRequest, hosts: H, memory: PlanMemory) -> Result<PlanSelection<H>, PlanError> {
        request.check()?;
        let (k, targets) = (request.pages, request.targets());
        // No more than k pages are chosen, so no order needs more than its best k.
        let all = PoolLimits {
            warmup: None,
            discovery: k.saturating_add(request.discovery_min),
            score: k,
            announced: if targets.announced > 0 { k } else { 0 },
            audit: targets.audit,
        };
        let [cap, in_round] = [request.max_per_host, request.max_per_host_in_round];
        let least = cap.into_iter().chain(in_round).min();
        let of_host = least.map(|limit| PoolLimits {
            warmup: Some(limit),
            discovery: all.discovery.min(limit),
            score: all.score.min(limit),
            announced: all.announced.min(limit),
            audit: all.audit,
        });
        // All orders share one memory. Those that outgrow their part continue in sorted files.
        let needed_by_host = of_host.iter().flat_map(PoolLimits::bytes_needed);
        let division = memory
            .divide(all.bytes_needed().into_iter().chain(needed_by_host).chain([ChosenEntry::BYTES_NEEDED]));
        let ties = TieBreak::new(request.ties, request.seed, request.cycle);
        // An order of its own: the sample must not depend on the scores that it is to judge.
        let audit = Shuffle::new(request.seed, request.cycle, ShufflePurpose::Audit);
        Ok(PlanSelection {
            collector: ShareCollector {
                cycle: request.cycle,
                warmup: request.warmup,
                audits: targets.audit > 0,
                announces: targets.announced > 0,
                samples: request.samples_siblings,
                first: FirstInOrder::default(),
                ties,
                audit,
                explore: Explore::from_request(&request),
                counts: PlanCounts::default(),
            },
            all: Pools::new(&all, division),
            choice: ChosenEntry::new(division),
            disk: Runs::new(memory.spill),
            hosts: of_host.map(|limits| {
                let [cap, in_round] = [cap, in_round].map(|limit| limit.unwrap_or(u64::MAX));
                HostDivider::new(hosts, cap, in_round, Pools::new(&limits, division))
            }),
            arms: None,
            scanned: 0,
            rules: ShareRules {
                pages: k,
                discovery_min: request.discovery_min,
                samples_siblings: request.samples_siblings,
                targets,
                ties,
                audit,
                explore: Explore::from_request(&request),
            },
        })
    }

    /// Counts the population of each arm. See [`Planner::count_arms`](crate::Planner::count_arms).
    pub fn count_arms(mut self, runs: ArmRuns) -> PlanSelection<H> {
        self.arms = Some(ArmCounter::new(runs));
        self
    }

    /// Counts ordinals behind so many others, in all that is drawn or ordered by them.
    pub fn behind(self, before: u64) -> PlanSelection<H> {
        let PlanSelection { collector, rules, .. } = self;
        let (ties, audit) = (rules.ties.behind(before), rules.audit.behind(before));
        let explore = rules.explore.map(|explore| explore.behind(before));
        let collector = ShareCollector { ties, audit, explore, ..collector };
        PlanSelection { collector, rules: ShareRules { ties, audit, explore, ..rules }, ..self }
    }

    /// Visits these pages whatever their score.
    pub fn due_first(mut self, pages: Vec<DueFirst>) -> PlanSelection<H> {
        self.collector.first = FirstInOrder::new(pages);
        self
    }

    /// Scans some rows of a block, which come after all rows scanned before.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts have fewer pages than were scanned; or a run cannot be
    /// written.
    pub fn scan(&mut self, block: &ScoredBlock<'_>, rows: Range<usize>) -> Result<(), PlanError> {
        let best = if self.collector.samples { self.collector.best(block) } else { Vec::new() };
        let Some(mut arms) = self.arms.take() else { return self.scan_rows(block, &best, rows) };
        let mut row = rows.start;
        while row < rows.end {
            let end = row + arms.in_run(block.first + row as u64, rows.end - row)?;
            self.scan_rows(block, &best, row..end)?;
            arms.add(end - row, self.all.eligible, self.all.expected.changes);
            row = end;
        }
        self.arms = Some(arms);
        Ok(())
    }

    fn scan_rows(
        &mut self,
        block: &ScoredBlock<'_>,
        best: &[usize],
        rows: Range<usize>,
    ) -> Result<(), PlanError> {
        let PlanSelection { collector, all, choice, disk, hosts, .. } = self;
        self.scanned += rows.len() as u64;
        match hosts {
            None => collector.offer(block, best, rows, all, choice, disk)?,
            Some(hosts) => {
                let mut row = rows.start;
                while row < rows.end {
                    let ordinal = block.first + row as u64;
                    let run = hosts.next_run(ordinal, rows.end - row)?;
                    collector.offer(block, best, row..row + run, &mut hosts.pools, choice, disk)?;
                    hosts.advance(ordinal, run, &collector.ties, all, choice, disk)?;
                    row += run;
                }
            }
        }
        Ok(())
    }

    /// Returns the plan, after the last block.
    ///
    /// # Errors
    /// With `max_per_host`, the hosts have more pages than were scanned; a run cannot be read; or the others cannot be
    /// heard.
    pub fn finish(self, others: Option<&mut Gather<'_>>) -> Result<Plan, PlanError> {
        let host_slots = match self.hosts {
            None => HostSlots::default(),
            Some(hosts) => hosts.finish(self.scanned)?,
        };
        let [warmup, panel, promised] =
            [ChosenBy::Warmup, ChosenBy::Panel, ChosenBy::Promised].map(|by| self.choice.of_share(by));
        let counts = PlanCounts { warmup, panel, promised, ..self.collector.counts };
        let arms = self.arms.map(ArmCounter::finish).unwrap_or_default();
        let plan = match others {
            None => self.rules.fill(self.all, self.choice, host_slots, counts, self.disk)?,
            Some(gather) => {
                self.rules.fill_with(gather, self.all, self.choice, host_slots, counts, self.disk)?
            }
        };
        Ok(Plan { arms, ..plan })
    }
}

/// A block of pages and their scores.
pub(crate) struct ScoredBlock<'a> {
    pub columns: &'a StateColumns,
    pub scores: &'a [f64],
    /// P of each page; empty unless it is summed up.
    pub expected: &'a [f64],
    /// The ordinal of its first page.
    pub first: u64,
}

impl ShareCollector {
    /// Offers the pages of some rows to `pools`. Chooses a warm-up page directly if `pools` keeps
    /// none.
    fn offer(
        &mut self,
        block: &ScoredBlock<'_>,
        best: &[usize],
        rows: Range<usize>,
        pools: &mut Pools,
        choice: &mut ChosenEntry,
        disk: &mut Runs,
    ) -> io::Result<()> {
        for row in rows {
            let ordinal = block.first + row as u64;
            self.counts.pages += 1;
            // Earlier rounds of the cycle have used a part of the limit of the host.
            pools.tried += u64::from(block.columns.known[row].last_attempt == self.cycle);
            match Gate::of_row(block.columns, row, self.cycle, self.warmup) {
                Gate::Gone => self.counts.gone += 1,
                Gate::Refused => self.counts.refused += 1,
                Gate::BackOff => self.counts.backing_off += 1,
                Gate::Visited => self.counts.visited += 1,
                Gate::Discovery => {
                    self.counts.discovery_due += 1;
                    pools.unfetched += 1;
                    if let Some(key) = self.discovery_key(block, row) {
                        self.offer_by(key, ordinal, &mut pools.discovery, disk)?;
                    }
                }
                Gate::Warmup => {
                    self.counts.warmup_due += 1;
                    match &mut pools.warmup {
                        None => choice.push(
                            ordinal,
                            ChosenBy::Warmup,
                            warmup_key(block.columns.last[row]),
                            f32::NAN,
                            disk,
                        )?,
                        Some(pool) => {
                            self.offer_by(warmup_key(block.columns.last[row]), ordinal, pool, disk)?
                        }
                    }
                }
                Gate::Revisit => {
                    self.counts.revisit_due += 1;
                    // It is chosen in any case, so no share may choose or draw it a second time.
                    if let Some(page) = self.first.take(ordinal) {
                        match &mut pools.first {
                            None => page.choose(choice, disk)?,
                            Some(pages) => pages.push(page),
                        }
                        continue;
                    }
                    pools.eligible += 1;
                    if let Some(probability) = block.expected.get(row) {
                        pools.expected.add(*probability);
                    }
                    if self.audits {
                        let tie = u64::from((block.scores[row] as f32).to_bits());
                        pools.audit.offer(RankedPage { key: self.audit.apply(ordinal), tie }, disk)?;
                    }
                    // Announced pages that find no place in their share compete by score again.
                    let is_announced = self.announces && block.columns.known[row].is_announced;
                    if is_announced {
                        self.offer_by(score_key(block.scores[row]), ordinal, &mut pools.announced, disk)?;
                    } else if self.is_in_sample(block, best, row) {
                        self.offer_by(score_key(block.scores[row]), ordinal, &mut pools.score, disk)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The place of a URL in the order of discovery; none if it is excluded.
    fn discovery_key(&self, block: &ScoredBlock<'_>, row: usize) -> Option<u64> {
        let known = &block.columns.known[row];
        if self.explore.is_some_and(|explore| explore.draws(block.first + row as u64)) {
            return Some(0);
        }
        match block.columns.expected.get(row) {
            None => Some(discovery_key(known)),
            Some(&expected) if expected == f32::NEG_INFINITY => None,
            Some(&expected) => Some(focused_key(expected, known)),
        }
    }

    /// By group of siblings, the row of its best page that competes by score and is not announced.
    fn best(&self, block: &ScoredBlock<'_>) -> Vec<usize> {
        let ScoredBlock { columns, scores, first, .. } = *block;
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
    fn is_in_sample(&self, block: &ScoredBlock<'_>, best: &[usize], row: usize) -> bool {
        let group =
            block.columns.siblings.get(row).filter(|group| self.samples && **group != StateColumns::ALONE);
        group.is_none_or(|&group| best[group as usize] == row)
    }

    /// Offers a page by its key. Most keys are above the threshold; for these the tie break need
    /// not be computed.
    fn offer_by(
        &self,
        key: u64,
        ordinal: u64,
        pool: &mut SpillingTopK<RankedPage>,
        disk: &mut Runs,
    ) -> io::Result<()> {
        if pool.threshold().is_none_or(|threshold| key <= threshold.key) {
            pool.offer(self.ties.candidate(key, ordinal), disk)?;
        }
        Ok(())
    }
}
