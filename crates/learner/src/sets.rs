//! Learning from several data sets together.
//!
//! Pages of several sets in one pool would give a busy set nearly all weight. So each set is replayed by itself, and the
//! fitness of a formula is its gain over the best known formula of the set, the mean over all sets.

mod check;
mod gains;
pub mod judge;
pub mod report;

pub use check::{SetsError, check, without_shared_pages};
pub use judge::{FoldOfSets, LearnedOfSets, SetResult};

use crate::evaluate::Evaluate;
use crate::evaluate::cpu::Meaning;
use crate::evolve::EvolutionRun;
use crate::folds::{Fold, Folds};
use crate::judge::FoldChanges;
use crate::learn::train::{self, Trained, TrainingParts};
use crate::learn::{Ending, LearnError, Observer};
use crate::options::LearnOptions;
use gains::Gains;
use rayon::ThreadPool;
use recrawl_formula::Formula;
use recrawl_simulation::Dataset;
use std::collections::BTreeMap;

/// The name of several data sets together.
pub fn names(sets: &[Dataset]) -> String {
    sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Learns a formula from several data sets. Each is divided into as many folds, and fold i of all sets together is fold
/// i. The rest is as in [`learn`](crate::learn()).
///
/// # Errors
/// If a set and the options do not allow it.
pub fn learn_sets(
    sets: &[Dataset],
    options: &LearnOptions,
    runs: Vec<EvolutionRun>,
    pool: &ThreadPool,
    observer: &mut dyn Observer,
) -> Result<Ending<LearnedOfSets>, LearnError> {
    let numbers = train::numbers(options, options.folds)?;
    let parts = SeveralSets::new(sets, options, &numbers, pool)?;
    let (runs, work) = match train::train(&parts, &numbers, &names(sets), options, runs, observer)? {
        Trained::Stopped(checkpoint) => return Ok(Ending::Stopped(checkpoint)),
        Trained::All(runs, work) => (runs, work),
    };
    let runs: Vec<&[EvolutionRun]> = runs.chunks(options.preset.population.random_seeds.len()).collect();
    judge::judge(&parts, &numbers, &runs, work, observer).map(|learned| Ending::Learned(Box::new(learned)))
}

/// Several data sets, each divided into folds.
pub(crate) struct SeveralSets<'a> {
    sets: &'a [Dataset],
    folds: Vec<Folds<'a>>,
    options: &'a LearnOptions,
    meaning: Meaning,
    pool: &'a ThreadPool,
    /// For each fold to learn, by set the best known formula of the training part.
    known: BTreeMap<usize, Vec<Formula>>,
}

impl<'a> SeveralSets<'a> {
    fn new(
        sets: &'a [Dataset],
        options: &'a LearnOptions,
        numbers: &[usize],
        pool: &'a ThreadPool,
    ) -> Result<SeveralSets<'a>, LearnError> {
        let (protocol, warmup) = (options.preset.protocol, options.rules.warmup);
        let divide = |set: &'a Dataset| {
            let folds = Folds::new(set, protocol, options.fold_by, options.folds, warmup);
            folds.map_err(|cause| LearnError::Folds(cause).in_set(&set.name))
        };
        let folds: Vec<Folds<'_>> = sets.iter().map(divide).collect::<Result<_, _>>()?;
        for (set, folds) in sets.iter().zip(&folds) {
            let changes = FoldChanges::count(folds, numbers.iter().copied(), &options.rules);
            if !changes.are_enough() {
                return Err(LearnError::FewChanges(changes).in_set(&set.name));
            }
        }
        let meaning = options.meaning();
        let mut parts = SeveralSets { sets, folds, options, meaning, pool, known: BTreeMap::new() };
        for &fold in numbers {
            let known = parts.best_known(fold)?;
            parts.known.insert(fold, known);
        }
        Ok(parts)
    }

    /// By set the best known formula of a fold's training part. After hours of training it would be too late to find
    /// that no gain over it can be told on one of the parts.
    fn best_known(&self, fold: usize) -> Result<Vec<Formula>, LearnError> {
        let parts = self.fold(fold);
        let [train, validation, test]: [Vec<&Dataset>; 3] = [
            parts.iter().map(|fold| &fold.train).collect(),
            parts.iter().map(|fold| &fold.validation).collect(),
            parts.iter().map(|fold| &fold.test).collect(),
        ];
        let known = gains::best_known(self, &train)?;
        for part in [train, validation, test] {
            Gains::over(self, &part, &known)?;
        }
        Ok(known)
    }

    /// The parts of a fold, by set.
    fn fold(&self, fold: usize) -> Vec<Fold> {
        self.folds.iter().map(|folds| folds.fold(fold)).collect()
    }
}

impl TrainingParts for SeveralSets<'_> {
    /// The number of the fold, and its training part of each set.
    type Part = (usize, Vec<Dataset>);

    fn part(&self, fold: usize) -> (usize, Vec<Dataset>) {
        (fold, self.fold(fold).into_iter().map(|fold| fold.train).collect())
    }

    fn evaluator<'s>(
        &'s self,
        (fold, train): &'s (usize, Vec<Dataset>),
    ) -> Result<Box<dyn Evaluate + 's>, LearnError> {
        let train: Vec<&Dataset> = train.iter().collect();
        Ok(Box::new(Gains::over(self, &train, &self.known[fold])?))
    }
}

#[cfg(test)]
mod tests;
