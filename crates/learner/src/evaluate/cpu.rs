//! Evaluates formulas on this machine: together, or one by one.

use super::Evaluate;
use crate::fitness::Fitness;
use crate::work::Work;
use rayon::ThreadPool;
use rayon::prelude::*;
use recrawl_formula::{Basis, Expr, Formula, Program, Protection, simplify};
use recrawl_simulation::fast::{Replayer, ReplayerError, Scratch, WantedFigures};
use recrawl_simulation::policy::FormulaPolicy;
use recrawl_simulation::{Dataset, Rules, RulesError, replay};
use std::sync::{Mutex, PoisonError};

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
    scratches: Mutex<Vec<Scratch>>,
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
        };
        let replayer = Replayer::new(data, rules)?;
        Ok(Fast { replayer, meaning, wants, pool, scratches: Mutex::default() })
    }

    fn one(&self, expr: &Expr) -> Vec<f64> {
        let Meaning { protection, basis, fitness } = self.meaning;
        let program = Program::compile(&simplify(expr, *protection), *protection, *basis);
        let lock = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let figures = self.replayer.run(&program, self.wants, &mut scratch);
        lock().push(scratch);
        fitness.of_cycles(&figures)
    }
}

impl Evaluate for Fast<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        self.pool.install(|| exprs.par_iter().with_max_len(1).map(|e| self.one(e)).collect())
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
pub struct Plain<'a> {
    data: &'a Dataset,
    rules: &'a Rules,
    meaning: &'a Meaning,
    pool: &'a ThreadPool,
}

impl<'a> Plain<'a> {
    /// For one part of the data.
    ///
    /// # Errors
    /// If it cannot be replayed under the rules.
    pub fn new(
        data: &'a Dataset,
        rules: &'a Rules,
        meaning: &'a Meaning,
        pool: &'a ThreadPool,
    ) -> Result<Plain<'a>, RulesError> {
        rules.check(data.pages.len(), data.truth.cycles())?;
        Ok(Plain { data, rules, meaning, pool })
    }

    fn one(&self, expr: &Expr) -> Vec<f64> {
        let Meaning { protection, basis, fitness } = self.meaning;
        let formula = Formula { protection: *protection, basis: *basis, ..Formula::new(expr.clone()) };
        let trace = replay::run(self.data, self.rules, &mut FormulaPolicy::new(&formula));
        fitness.of_cycles(&trace.expect("the rules were checked").cycles)
    }
}

impl Evaluate for Plain<'_> {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        self.pool.install(|| exprs.par_iter().with_max_len(1).map(|e| self.one(e)).collect())
    }

    fn work(&self) -> Work {
        Work::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, data};
    use proptest::prelude::*;
    use recrawl_simulation::Budget;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// One test suite for both evaluators: identical digits for any trees.
        #[test]
        fn both_evaluators_agree_to_the_last_digit(
            trees in prop::collection::vec(testing::trees(5), 1..12), metric in 0..Fitness::metrics().count(), threads in 1usize..4,
        ) {
            let (data, rules) = (data(50, 25, 5), Rules { budget: Budget::Share(0.1), ..Rules::default() });
            let meaning = Meaning {
                protection: Protection::Program,
                basis: Basis::Visits,
                fitness: format!("{} + 0.25*freshness", Fitness::metrics().nth(metric).unwrap().name).parse().unwrap(),
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let plain = Plain::new(&data, &rules, &meaning, &pool).unwrap().evaluate(&trees);
            let fast = Fast::new(&data, &rules, &meaning, &pool).unwrap().evaluate(&trees);
            prop_assert_eq!(&plain, &fast);
            prop_assert!(plain.iter().all(|cycles| cycles.len() == 22));
            prop_assert!(plain.iter().flatten().all(|value| value.is_finite()));
        }
    }
}
