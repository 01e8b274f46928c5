//! Learning: every run of every fold, then validation and test.

mod error;
pub(crate) mod train;

pub use error::LearnError;

use crate::checkpoint::Checkpoint;
use crate::evaluate::Evaluate;
use crate::evaluate::cpu::{Meaning, Replays};
use crate::evolve::{EvolutionRun, EvolvedGeneration};
use crate::folds::Folds;
use crate::judge::{self, LearningResult};
use crate::options::LearnOptions;
use crate::work::Work;
use rayon::ThreadPool;
use recrawl_simulation::Dataset;
use train::{Trained, TrainingParts};

/// Gets the progress of learning, and can stop it.
pub trait Observer {
    /// Called after each evaluated generation.
    fn generation(&mut self, progress: &Progress);

    /// Called at the start of a longer step, with its description.
    fn begins(&mut self, what: &str);

    /// Called after each generation; true stops learning.
    fn stop(&mut self) -> bool;

    /// Called after each generation of a run; true ends the run with what it has found.
    fn ends_run(&mut self, _: &Progress) -> bool {
        false
    }
}

/// Progress of learning.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Evaluated generations over all folds and seeds, including those before a checkpoint.
    pub done: u64,
    /// Total number of generations.
    pub all: u64,
    /// The run, from 0.
    pub run: u64,
    /// The number of all runs.
    pub runs: u64,
    /// The fold, from 0.
    pub fold: usize,
    /// The random seed of the run.
    pub seed: u64,
    /// The generation of the run, from 0.
    pub generation: u32,
    /// The figures of that generation.
    pub figures: EvolvedGeneration,
    /// Work since the start or the last resumption.
    pub work: Work,
}

/// How learning ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending<L = LearningResult> {
    /// With a formula.
    Learned(Box<L>),
    /// It was stopped.
    Stopped(Checkpoint),
}

/// Learns a formula from recorded page changes. For each fold and each random seed it runs GP4C on
/// the training part; then it selects by validation and tests. Continues from `runs` of a
/// checkpoint, if there are any.
///
/// The result depends only on data, options and seeds, not on the number of threads or on
/// interruptions.
///
/// # Errors
/// If data and options do not allow it.
pub fn learn(
    data: &Dataset,
    options: &LearnOptions,
    runs: Vec<EvolutionRun>,
    pool: &ThreadPool,
    observer: &mut dyn Observer,
) -> Result<Ending, LearnError> {
    let warmup = options.rules.warmup;
    let folds = Folds::new(data, options.preset.protocol, options.fold_by, options.folds, warmup)
        .map_err(LearnError::Folds)?;
    let numbers = train::numbers(options, folds.count())?;
    let parts = OneSet { folds: &folds, options, meaning: options.meaning(), pool };
    let (runs, work) = match train::train(&parts, &numbers, &data.name, options, runs, observer)? {
        Trained::Stopped(checkpoint) => return Ok(Ending::Stopped(checkpoint)),
        Trained::All(runs, work) => (runs, work),
    };
    let runs: Vec<&[EvolutionRun]> = runs.chunks(options.preset.population.random_seeds.len()).collect();
    judge::judge(&folds, &numbers, &runs, options, pool, work, observer).map(|l| Ending::Learned(Box::new(l)))
}

/// The training parts of the folds of one data set.
struct OneSet<'a> {
    folds: &'a Folds<'a>,
    options: &'a LearnOptions,
    meaning: Meaning,
    pool: &'a ThreadPool,
}

impl TrainingParts for OneSet<'_> {
    type Part = Dataset;

    fn part(&self, fold: usize) -> Dataset {
        self.folds.fold(fold).train
    }

    fn evaluator<'s>(&'s self, train: &'s Dataset) -> Result<Box<dyn Evaluate + 's>, LearnError> {
        let replays = Replays::new(train, &self.options.rules, &self.meaning, self.pool, 1);
        Ok(Box::new(replays.map_err(LearnError::Replay)?))
    }
}

#[cfg(test)]
pub(crate) mod tests;
