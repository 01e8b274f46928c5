//! Learning: every run of every fold, then validation and test.

mod error;

pub use error::LearnError;

use crate::checkpoint::Checkpoint;
use crate::evaluate::Evaluate;
use crate::evaluate::cpu::Fast;
use crate::evolve::{Generation, Run};
use crate::folds::Folds;
use crate::judge::{self, Learned};
use crate::memo::Memo;
use crate::options::Options;
use crate::work::Work;
use rayon::ThreadPool;
use recrawl_simulation::Dataset;

/// Gets the progress of learning, and can stop it.
pub trait Observer {
    /// Called after each evaluated generation.
    fn generation(&mut self, progress: &Progress);

    /// Called at the start of a longer step, with its description.
    fn begins(&mut self, what: &str);

    /// Called after each generation; true stops learning.
    fn stop(&mut self) -> bool;
}

/// Progress of learning.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Evaluated generations over all folds and seeds, including those before a checkpoint.
    pub done: u64,
    /// Total number of generations.
    pub all: u64,
    /// The fold, from 0.
    pub fold: usize,
    /// The random seed of the run.
    pub seed: u64,
    /// The generation of the run, from 0.
    pub generation: u32,
    /// The figures of that generation.
    pub figures: Generation,
    /// Work since the start or the last resumption.
    pub work: Work,
}

/// How learning ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// With a formula.
    Learned(Box<Learned>),
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
    options: &Options,
    runs: Vec<Run>,
    pool: &ThreadPool,
    observer: &mut dyn Observer,
) -> Result<Ending, LearnError> {
    let vocabulary = options.preset.vocabulary().map_err(LearnError::Preset)?;
    let warmup = options.rules.warmup;
    let folds = Folds::new(data, options.preset.protocol, options.fold_by, options.folds, warmup)
        .map_err(LearnError::Folds)?;
    let numbers: Vec<usize> = match options.only_fold {
        None => (0..folds.count()).collect(),
        Some(fold) if fold < folds.count() => vec![fold],
        Some(fold) => return Err(LearnError::NoFold { fold, count: folds.count() }),
    };
    let population = &options.preset.population;
    let (seeds, generations) = (population.random_seeds.len(), u64::from(population.generations));
    if runs.len() > numbers.len() * seeds {
        return Err(LearnError::TooManyRuns { runs: runs.len(), asked: numbers.len() * seeds });
    }
    let (meaning, preset) = (options.meaning(), &options.preset);
    let mut earlier = runs.into_iter();
    let (mut runs, mut work): (Vec<Run>, Work) = (Vec::new(), Work::default());
    for (i, &number) in numbers.iter().enumerate() {
        let ahead: Vec<Run> = earlier.by_ref().take(seeds).collect();
        if ahead.len() == seeds && ahead.iter().all(Run::is_done) {
            runs.extend(ahead);
            continue;
        }
        let mut ahead = ahead.into_iter();
        let train = folds.fold(number).train;
        let evaluator = Fast::new(&train, &options.rules, &meaning, pool).map_err(LearnError::Replay)?;
        let mut memo = Memo::new(&evaluator, preset.protection);
        for &seed in &population.random_seeds {
            let begin = || Run::new(preset, &vocabulary, &options.start, seed);
            let mut run = ahead.next().unwrap_or_else(begin);
            while !run.is_done() {
                run.step(preset, &vocabulary, &mut memo);
                let before = i as u64 * seeds as u64 + (runs.len() % seeds) as u64;
                observer.generation(&Progress {
                    done: before * generations + u64::from(run.generation),
                    all: (numbers.len() * seeds) as u64 * generations,
                    fold: number,
                    seed,
                    generation: run.generation - 1,
                    figures: *run.history.last().expect("a generation was evaluated"),
                    work: work + memo.work() + evaluator.work(),
                });
                if observer.stop() {
                    runs.push(run);
                    return Ok(Ending::Stopped(Checkpoint::new(data, options, runs)));
                }
            }
            runs.push(run);
        }
        work = work + memo.work() + evaluator.work();
    }
    let runs: Vec<&[Run]> = runs.chunks(seeds).collect();
    judge::judge(&folds, &numbers, &runs, options, pool, work, observer).map(|l| Ending::Learned(Box::new(l)))
}

#[cfg(test)]
pub(crate) mod tests;
