//! Replays many formulas over one history, much faster than [page by page](crate::replay) and with
//! identical digits.
//!
//! A learner needs tens of thousands of replays of the same history under the same rules. Five
//! exact shortcuts make them fast:
//!
//! - **States instead of pages.** Pages that agree in all that a formula [reads](Program::reads)
//!   have the same score. After visits in the same cycle with the same outcome they agree again. So
//!   the replay scores and selects whole states. Single pages matter only in a tie class of which
//!   only a part fits the budget.
//! - **Work for visited pages only.** Other pages stay in their state and are not touched. What a visit finds is
//!   written once, and states refer to it. Staleness is updated only at changes and visits.
//! - **Ties without sorting.** The first pages of a large tie class are found by walking the
//!   cycle's order of all pages, those of a small one by selection.
//! - **Similar pages are neighbours.** Pages are put in the order of their changes, and stay so, run by run,
//!   in the list of a state. Visits read histories nearly in sequence.
//! - **A cache of choices.** Formulas that order states equally are one policy, and most of a
//!   population are variations of a few. A cycle whose choices were made before is answered without
//!   touching a page, and mostly without making the choice: scores tell whether it is one of the last. See `memo`.
//!
//! Results depend neither on the number of threads nor on the cache.

mod choice;
mod error;
mod memo;
mod pages;
mod ranking;
mod staleness;
mod start;
mod states;
mod ties;
mod work;

use crate::replay::ndcg::Ndcg;
use crate::{CycleFigures, Dataset, Rules, Truth};
use choice::{RowChoice, is_chosen};
use memo::{ChoiceTree, CycleStep};
use pages::RowMembers;
use ranking::hits;
use recrawl_formula::Program;
use recrawl_types::{Cycle, Reads};
use staleness::{ChangeLists, Staleness};
use start::{Starts, WarmStart};
use states::{Move, States};
use std::borrow::Cow;
use std::sync::Arc;
use ties::Orders;
use work::WorkCounters;

pub use error::ReplayerError;
pub use work::Work;

/// Replays formulas over one history under the same rules.
#[derive(Debug)]
pub struct Replayer<'a> {
    data: &'a Dataset,
    rules: &'a Rules,
    k: usize,
    /// The history of the pages in their order here: those with similar changes are near each other.
    truth: Cow<'a, Truth>,
    sites: Vec<u32>,
    /// The importance of each page in thousandths.
    importance: Vec<u32>,
    orders: Orders,
    lists: ChangeLists,
    log2: Ndcg,
    gp4c: Ndcg,
    starts: Starts,
    memo: ChoiceTree,
    work: WorkCounters,
}

/// The figures of a cycle to compute, besides visits and changes, which are always computed. The
/// others may stay 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WantedFigures {
    /// [`CycleFigures::ndcg_log2`] and [`CycleFigures::ndcg_gp4c`].
    pub ndcg: bool,
    /// [`CycleFigures::stale`] and [`CycleFigures::pending`].
    pub freshness: bool,
    /// [`CycleFigures::age`].
    pub age: bool,
    /// [`CycleFigures::harmonic`].
    pub harmonic: bool,
    /// [`CycleFigures::importance`].
    pub importance: bool,
}

impl WantedFigures {
    /// All figures.
    pub const ALL: WantedFigures =
        WantedFigures { ndcg: true, freshness: true, age: true, harmonic: true, importance: true };

    /// Whether staleness must be tracked.
    fn staleness(self) -> bool {
        self.ndcg || self.freshness || self.age || self.harmonic || self.importance
    }
}

/// Buffers of one run, reused by the next. One per thread.
#[derive(Debug, Default)]
pub struct ReplayScratch {
    states: States,
    pages: RowMembers,
    staleness: Staleness,
    choice: RowChoice,
    scores: Vec<f64>,
    /// The cycles that the pages still have to follow.
    behind: Vec<Arc<CycleStep>>,
    moves: Vec<Move>,
    class: Vec<(u64, bool)>,
    hits: Vec<bool>,
}

impl<'a> Replayer<'a> {
    /// Default limit of the cache of choices, in bytes.
    pub const MEMO_BYTES: usize = 512 << 20;

    /// For a history whose pages all exist from its first cycle to its last.
    ///
    /// # Errors
    /// If the history cannot be replayed under these rules, if a page appears later or disappears
    /// earlier, or if there is a budget per site, or several rounds.
    pub fn new(data: &'a Dataset, rules: &'a Rules) -> Result<Replayer<'a>, ReplayerError> {
        let (pages, last) = (data.pages.len(), data.truth.cycles());
        rules.check_begun(pages, data.begun(rules), last).map_err(ReplayerError::Rules)?;
        if rules.per_site.is_some() {
            return Err(ReplayerError::PerSite);
        }
        if rules.rounds.count() > 1 {
            return Err(ReplayerError::Rounds);
        }
        let whole = |page: &crate::RecordedPage| page.first == 0 && page.last >= last;
        if let Some(page) = data.pages.iter().position(|page| !whole(page)) {
            return Err(ReplayerError::NotFixed { page });
        }
        let k = rules.budget.visits(pages as u64) as usize;
        let (numbers, truth) = data.truth.by_likeness();
        let importance = |&page: &u32| data.pages[page as usize].importance.thousandths() as u32;
        let importance: Vec<u32> = numbers.iter().map(importance).collect();
        Ok(Replayer {
            data,
            rules,
            k,
            truth,
            sites: numbers.iter().map(|&page| data.pages[page as usize].site).collect(),
            importance,
            orders: Orders::new(rules.ties, rules.seed, numbers, last),
            lists: ChangeLists::default(),
            log2: Ndcg::log2(k),
            gp4c: Ndcg::gp4c(k),
            starts: Starts::default(),
            memo: ChoiceTree::new(Self::MEMO_BYTES),
            work: WorkCounters::default(),
        })
    }

    /// Sets the limit of the cache of choices in bytes; 0 switches it off.
    pub fn with_memo(mut self, bytes: usize) -> Replayer<'a> {
        self.memo = ChoiceTree::new(bytes);
        self
    }

    /// Current size of the cache of choices in bytes.
    pub fn memo_bytes(&self) -> usize {
        self.memo.bytes()
    }

    /// Counters of the work so far.
    pub fn work(&self) -> Work {
        self.work.read()
    }

    /// Replays a formula: returns the figures of the cycles after the warm-up.
    ///
    /// # Panics
    /// If the formula reads signals or importance and the history has them, or sections or siblings: states hold none of
    /// these.
    pub fn run(
        &self,
        program: &Program,
        wants: WantedFigures,
        scratch: &mut ReplayScratch,
    ) -> Vec<CycleFigures> {
        let score = |states: &States, cycle, out: &mut _| program.evaluate(&states.columns, cycle, out);
        self.replay(program.reads(), wants, scratch, score)
    }

    /// Replays the first formula; returns whether the second one gives all pages the same scores in every cycle, bit for
    /// bit or both NaN.
    ///
    /// # Panics
    /// As [`run`](Self::run), for either formula.
    pub fn score_alike(&self, [first, second]: [&Program; 2], scratch: &mut ReplayScratch) -> bool {
        let (mut alike, mut others) = (true, Vec::new());
        let score = |states: &States, cycle, out: &mut Vec<f64>| {
            first.evaluate(&states.columns, cycle, out);
            second.evaluate(&states.columns, cycle, &mut others);
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            // A row without pages may be a state that no page is in.
            let rows = out.iter().zip(&others).zip(&states.counts);
            alike &= rows.filter(|(_, pages)| **pages > 0).all(|(scores, _)| same(scores));
        };
        self.replay(first.reads() | second.reads(), WantedFigures::default(), scratch, score);
        alike
    }

    /// Can formulas that read these fields be replayed? States hold no signals and no importance, and nothing of sections
    /// and siblings.
    pub fn replays(&self, reads: Reads) -> bool {
        let signals = reads.needs_signals() && !self.data.signals.is_empty();
        let importance = reads.contains(Reads::IMPORTANCE) && self.data.is_weighed();
        !signals && !importance && !reads.needs_neighbours()
    }

    /// Replays a score that reads these fields.
    fn replay(
        &self,
        reads: Reads,
        wants: WantedFigures,
        scratch: &mut ReplayScratch,
        mut score: impl FnMut(&States, Cycle, &mut Vec<f64>),
    ) -> Vec<CycleFigures> {
        assert!(
            self.replays(reads),
            "formulas that read signals, importance, sections or siblings are replayed page by page"
        );
        let reads = reads.closed();
        let start = self.starts.get(reads, || self.warm_up(reads));
        scratch.states = start.states.clone();
        scratch.behind.clear();
        let mut place = self.memo.start(reads, wants);
        let mut caught_up = false;
        let begun = self.data.begun(self.rules);
        let mut figures = Vec::with_capacity((self.truth.cycles() - begun) as usize);
        let mut work = Work { runs: 1, ..Work::default() };
        for cycle in begun + 1..=self.truth.cycles() {
            scratch.states.fill_priors();
            score(&scratch.states, Cycle(cycle), &mut scratch.scores);
            let (scores, counts) = (&scratch.scores, &scratch.states.counts);
            work.state_scores += scores.len() as u64;
            // Formulas that chose the same rows so far are in the same place: the memo knows what follows. Most choose like
            // the one before.
            let begun = place.filter(|_| !wants.ndcg && !caught_up);
            let recent =
                begun.and_then(|place| self.memo.recent(place, |rows| is_chosen(rows, scores, counts)));
            let known = recent.or_else(|| {
                scratch.choice.make(scores, counts, self.k as u64, wants.ndcg);
                place.and_then(|place| self.memo.follow(place, &scratch.choice.rows))
            });
            if let (Some((next, step)), false) = (&known, caught_up) {
                figures.push(step.figures);
                place = Some(*next);
                // Nothing follows the last cycle.
                if cycle < self.truth.cycles() {
                    scratch.follow(cycle, step);
                }
                work.cycles_remembered += 1;
                continue;
            }
            // The first cycle that no formula went through needs the states as they are now.
            if !caught_up {
                self.catch_up(&start, wants, scratch, cycle - 1, &mut work);
                caught_up = true;
            }
            let of_cycle = self.step(scratch, cycle, wants);
            work.visits += self.k as u64;
            figures.push(of_cycle);
            place = match known {
                Some((next, _)) => Some(next),
                None => place.and_then(|place| self.memo.remember(place, scratch.to_remember(of_cycle))),
            };
        }
        work.cycles = figures.len() as u64;
        work.page_scores = work.cycles * self.sites.len() as u64;
        work.runs_remembered = u64::from(work.cycles == work.cycles_remembered);
        self.work.add(work);
        figures
    }

    /// Visits every page in every cycle of the warm-up, unless the history has a beginning.
    fn warm_up(&self, reads: Reads) -> WarmStart {
        if let Some(beginning) = &self.data.beginning {
            let histories = self.orders.numbers.iter().map(|&page| &beginning.histories[page as usize]);
            let (states, rows) = States::begun(reads, histories, &self.sites, self.data.sites.len());
            let pages = RowMembers::in_rows(&states, &rows);
            return WarmStart { pages, states }.packed();
        }
        let mut of_site = vec![0; self.data.sites.len()];
        self.sites.iter().for_each(|&site| of_site[site as usize] += 1);
        let states = States::first_fetch(reads, &of_site);
        let mut start = WarmStart { pages: RowMembers::first_fetch(&states, &self.sites), states };
        let mut moves = Vec::new();
        for cycle in 1..=self.rules.warmup {
            let (all, order) = (start.states.occupied(), self.orders.in_cycle(cycle));
            start.pages.choose(&self.truth, &order, &all, self.sites.len(), &mut moves);
            start.states.apply(cycle, &mut moves);
            start.pages.settle(cycle, &moves, start.states.counts.len());
        }
        start.packed()
    }

    /// Brings the pages to the states after cycle `now`.
    fn catch_up(
        &self,
        start: &WarmStart,
        wants: WantedFigures,
        scratch: &mut ReplayScratch,
        now: u32,
        work: &mut Work,
    ) {
        let ReplayScratch { pages, behind, moves, staleness, states, .. } = scratch;
        pages.copy(&start.pages);
        for (cycle, step) in (self.data.begun(self.rules) + 1..).zip(&*behind) {
            pages.choose(&self.truth, &self.orders.in_cycle(cycle), &step.choice, self.k, moves);
            pages.settle(cycle, &step.moves, states.counts.len());
            work.visits += self.k as u64;
        }
        staleness.count(wants, &self.truth, &self.lists, &self.importance, pages, now);
    }

    /// Visits the chosen pages of a cycle.
    fn step(&self, scratch: &mut ReplayScratch, cycle: u32, wants: WantedFigures) -> CycleFigures {
        let ReplayScratch { states, pages, staleness, choice, moves, class, hits: by_rank, .. } = scratch;
        let (truth, order) = (&self.truth, self.orders.in_cycle(cycle));
        let (lists, importance) = (&self.lists, &self.importance);
        staleness.change(truth, lists, importance, cycle);
        pages.choose(truth, &order, &choice.rows, self.k, moves);
        let changed = moves.iter().map(|m| u64::from(m.changed)).sum();
        let pending = staleness.stale();
        let (pages_there, visited) = (self.sites.len() as u64, self.k as u64);
        let mut figures =
            CycleFigures { cycle, pages: pages_there, visited, changed, pending, ..CycleFigures::default() };
        if wants.ndcg {
            hits(&choice.rows, moves, pages, &order, class, by_rank);
            figures.ndcg_log2 = self.log2.score(by_rank, pending);
            figures.ndcg_gp4c = self.gp4c.score(by_rank, pending);
        }
        staleness.visit(truth, lists, importance, pages, moves, cycle);
        staleness.report(&mut figures);
        if cycle < self.truth.cycles() {
            states.apply(cycle, moves);
            pages.settle(cycle, moves, states.counts.len());
        }
        figures
    }
}

impl ReplayScratch {
    /// Applies a cached step; the pages follow later.
    fn follow(&mut self, cycle: u32, step: &Arc<CycleStep>) {
        self.states.repeat(cycle, &step.moves);
        self.behind.push(step.clone());
    }

    /// The step just taken, for the cache.
    fn to_remember(&self, figures: CycleFigures) -> CycleStep {
        CycleStep::new(&self.choice.rows, &self.moves, figures)
    }
}

#[cfg(test)]
mod tests;
