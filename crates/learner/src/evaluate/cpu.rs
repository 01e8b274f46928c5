//! Evaluates formulas on this machine: together, or one by one, or each as its reads allow.

use super::Evaluate;
use crate::fitness::Fitness;
use crate::work::Work;
use rayon::ThreadPool;
use rayon::prelude::*;
use recrawl_formula::{Basis, Expr, Formula, Program, Protection, simplify};
use recrawl_simulation::fast::{ReplayScratch, Replayer, ReplayerError, WantedFigures};
use recrawl_simulation::policy::ReplayFormula;
use recrawl_simulation::{Dataset, Rules, RulesError, replay};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Metrics that are counted page by page.
const OF_PAGES: [&str; 2] = ["coverage", "coverage_by_importance"];

/// How expressions become scores, and scores a fitness.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// How division and logarithm are protected.
    pub protection: Protection,
    /// The basis of the rate estimates.
    pub basis: Basis,
    /// The fitness.
    pub fitness: Fitness,
}

/// Evaluates all formulas with one [`Replayer`], which shares common work; one formula per thread.
pub struct Fast<'a> {
    replayer: Replayer<'a>,
    meaning: &'a Meaning,
    wants: WantedFigures,
    pool: &'a ThreadPool,
    /// Buffers of finished runs, for reuse.
    scratches: Mutex<Vec<ReplayScratch>>,
}

impl<'a> Fast<'a> {
    /// For one part of the data.
    ///
    /// # Errors
    /// If it cannot be replayed under the rules.
    pub fn new(
        data: &'a Dataset,
        rules: &'a Rules,
        meaning: &'a Meaning,
        pool: &'a ThreadPool,
    ) -> Result<Fast<'a>, ReplayerError> {
        let fitness = &meaning.fitness;
        let wants = WantedFigures {
            ndcg: fitness.uses(&["ndcg_log2", "ndcg_gp4c"]),
            freshness: fitness.uses(&["freshness", "pending_share"]),
            age: fitness.uses(&["age"]),
            harmonic: fitness.uses(&["harmonic"]),
            importance: fitness.is_by_importance(),
        };
        let replayer = Replayer::new(data, rules)?;
        Ok(Fast { replayer, meaning, wants, pool, scratches: Mutex::default() })
    }

    /// Limits the cache of choices to one of `parts` equal parts of its memory, for evaluators that are held together.
    fn with_part_of_memo(mut self, parts: usize) -> Fast<'a> {
        self.replayer = self.replayer.with_memo(Replayer::MEMO_BYTES / parts.max(1));
        self
    }

    fn one(&self, program: &Program) -> Vec<f64> {
        let lock = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let figures = self.replayer.run(program, self.wants, &mut scratch);
        lock().push(scratch);
        self.meaning.fitness.of_cycles(&figures)
    }
}

impl Meaning {
    /// The expression, simplified, as a program.
    fn program(&self, expr: &Expr) -> Program {
        Program::compile(&simplify(expr, self.protection), self.protection, self.basis)
    }
}

impl Evaluate for Fast<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        let one = |expr: &Expr| self.one(&self.meaning.program(expr));
        self.pool.install(|| exprs.par_iter().with_max_len(1).map(one).collect())
    }

    fn work(&self) -> Work {
        let work = self.replayer.work();
        Work {
            replays_remembered: work.runs_remembered,
            cycles: work.cycles,
            cycles_remembered: work.cycles_remembered,
            page_scores: work.page_scores,
            state_scores: work.state_scores,
            visits: work.visits,
            ..Work::default()
        }
    }
}

/// Replays one formula per thread without shortcuts. Slow; the reference for every other evaluator.
pub struct PlainReplays<'a> {
    data: &'a Dataset,
    rules: &'a Rules,
    meaning: &'a Meaning,
    pool: &'a ThreadPool,
    replays: AtomicU64,
}

impl<'a> PlainReplays<'a> {
    /// For one part of the data.
    ///
    /// # Errors
    /// If it cannot be replayed under the rules.
    pub fn new(
        data: &'a Dataset,
        rules: &'a Rules,
        meaning: &'a Meaning,
        pool: &'a ThreadPool,
    ) -> Result<PlainReplays<'a>, RulesError> {
        rules.check(data.pages.len(), data.truth.cycles())?;
        Ok(PlainReplays { data, rules, meaning, pool, replays: AtomicU64::new(0) })
    }

    fn one(&self, expr: &Expr) -> Vec<f64> {
        let Meaning { protection, basis, fitness } = self.meaning;
        let formula = Formula { protection: *protection, basis: *basis, ..Formula::new(expr.clone()) };
        let trace = replay::run(self.data, self.rules, &mut ReplayFormula::new(&formula));
        self.replays.fetch_add(1, Ordering::Relaxed);
        fitness.of_cycles(&trace.expect("the rules were checked").cycles)
    }
}

impl Evaluate for PlainReplays<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        self.pool.install(|| exprs.par_iter().with_max_len(1).map(|e| self.one(e)).collect())
    }

    fn work(&self) -> Work {
        let replays = self.replays.load(Ordering::Relaxed);
        let cycles = replays * u64::from(self.data.truth.cycles() - self.data.begun(self.rules));
        let scores = cycles * self.data.pages.len() as u64;
        let visits = cycles * self.rules.budget.visits(self.data.pages.len() as u64);
        Work {
            replays_by_page: replays,
            cycles,
            page_scores: scores,
            state_scores: scores,
            visits,
            ..Work::default()
        }
    }
}

/// Evaluates each formula by the fastest replay that is exact for it: [`Fast`], or [`PlainReplays`] for a formula that [`Fast`]
/// cannot replay, and for all formulas if a cycle has several rounds, or the fitness is of coverage.
///
/// What siblings and the model show depends on the visits of the formula itself, so no two formulas share it.
pub struct Replays<'a> {
    /// None with several rounds a cycle.
    fast: Option<Fast<'a>>,
    plain: PlainReplays<'a>,
}

impl<'a> Replays<'a> {
    /// For one part of the data; `held` evaluators are held at the same time and share the memory for caches.
    ///
    /// # Errors
    /// If it cannot be replayed under the rules.
    pub fn new(
        data: &'a Dataset,
        rules: &'a Rules,
        meaning: &'a Meaning,
        pool: &'a ThreadPool,
        held: usize,
    ) -> Result<Replays<'a>, ReplayerError> {
        let plain = PlainReplays::new(data, rules, meaning, pool).map_err(ReplayerError::Rules)?;
        let is_by_page = rules.rounds.count() > 1 || meaning.fitness.uses(&OF_PAGES);
        let fast = match is_by_page {
            false => Some(Fast::new(data, rules, meaning, pool)?.with_part_of_memo(held)),
            true => None,
        };
        Ok(Replays { fast, plain })
    }

    fn one(&self, expr: &Expr) -> Vec<f64> {
        let program = self.plain.meaning.program(expr);
        match &self.fast {
            Some(fast) if fast.replayer.replays(program.reads()) => fast.one(&program),
            _ => self.plain.one(expr),
        }
    }
}

impl Evaluate for Replays<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        self.plain.pool.install(|| exprs.par_iter().with_max_len(1).map(|e| self.one(e)).collect())
    }

    fn work(&self) -> Work {
        self.plain.work() + self.fast.as_ref().map_or(Work::default(), Fast::work)
    }
}

#[cfg(test)]
mod tests;
