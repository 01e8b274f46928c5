//! The runs of all folds, one fold after the other.

use super::{LearnError, Observer, Progress};
use crate::checkpoint::Checkpoint;
use crate::evaluate::Evaluate;
use crate::evolve::EvolutionRun;
use crate::memo::Memo;
use crate::options::{LearnOptions, vocabulary};
use crate::work::Work;

/// The training parts of folds.
pub(crate) trait TrainingParts {
    /// What the evaluator of a fold replays.
    type Part;

    /// The training part of a fold.
    fn part(&self, fold: usize) -> Self::Part;

    /// Evaluates formulas on it.
    ///
    /// # Errors
    /// If it cannot be replayed.
    fn evaluator<'s>(&'s self, part: &'s Self::Part) -> Result<Box<dyn Evaluate + 's>, LearnError>;
}

/// How training ended.
pub(crate) enum Trained {
    /// With all runs, by fold and then by seed, and the work.
    All(Vec<EvolutionRun>, Work),
    /// It was stopped.
    Stopped(Checkpoint),
}

/// The numbers of the folds to learn, of `count`.
///
/// # Errors
/// If only one is asked for that does not exist.
pub(crate) fn numbers(options: &LearnOptions, count: usize) -> Result<Vec<usize>, LearnError> {
    match options.only_fold {
        None => Ok((0..count).collect()),
        Some(fold) if fold < count => Ok(vec![fold]),
        Some(fold) => Err(LearnError::NoFold { fold, count }),
    }
}

/// Runs GP4C for the folds with these numbers and for each random seed. Continues from `runs`.
///
/// # Errors
/// If the preset is invalid, `runs` are too many, or a part cannot be replayed.
pub(crate) fn train<P: TrainingParts>(
    parts: &P,
    numbers: &[usize],
    data_name: &str,
    options: &LearnOptions,
    runs: Vec<EvolutionRun>,
    observer: &mut dyn Observer,
) -> Result<Trained, LearnError> {
    let preset = &options.preset;
    let vocabulary = vocabulary(preset, &options.fitness).map_err(LearnError::Preset)?;
    let population = &preset.population;
    let (seeds, generations) = (population.random_seeds.len(), u64::from(population.generations));
    if runs.len() > numbers.len() * seeds {
        return Err(LearnError::TooManyRuns { runs: runs.len(), asked: numbers.len() * seeds });
    }
    let mut earlier = runs.into_iter();
    let (mut runs, mut work): (Vec<EvolutionRun>, Work) = (Vec::new(), Work::default());
    for (i, &number) in numbers.iter().enumerate() {
        let ahead: Vec<EvolutionRun> = earlier.by_ref().take(seeds).collect();
        // A fold that is done needs no evaluator, which would read its histories.
        if ahead.len() == seeds && ahead.iter().all(EvolutionRun::is_done) {
            runs.extend(ahead);
            continue;
        }
        let mut ahead = ahead.into_iter();
        let part = parts.part(number);
        let evaluator = parts.evaluator(&part)?;
        // For all seeds of the fold: their populations meet the same formulas.
        let mut memo = Memo::new(&*evaluator, preset.protection);
        for &seed in &population.random_seeds {
            let begin = || EvolutionRun::new(preset, &vocabulary, &options.start, seed);
            let mut run = ahead.next().unwrap_or_else(begin);
            while !run.is_done() {
                run.step(preset, &vocabulary, &mut memo);
                let before = i as u64 * seeds as u64 + (runs.len() % seeds) as u64;
                let progress = Progress {
                    run: before,
                    runs: (numbers.len() * seeds) as u64,
                    done: before * generations + u64::from(run.generation),
                    all: (numbers.len() * seeds) as u64 * generations,
                    fold: number,
                    seed,
                    generation: run.generation - 1,
                    figures: *run.history.last().expect("a generation was evaluated"),
                    work: work + memo.work() + evaluator.work(),
                };
                observer.generation(&progress);
                if observer.ends_run(&progress) {
                    run.end();
                }
                // The unfinished run is part of the checkpoint, which continues at its generation.
                if observer.stop() {
                    runs.push(run);
                    return Ok(Trained::Stopped(Checkpoint::new(data_name, options, runs)));
                }
            }
            runs.push(run);
        }
        work = work + memo.work() + evaluator.work();
    }
    Ok(Trained::All(runs, work))
}
