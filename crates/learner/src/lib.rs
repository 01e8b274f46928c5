//! GP4C: genetic programming learns the score formula from recorded page changes.
//!
//! [`learn()`] takes a recorded history and options. It returns a formula, how it was selected, and
//! a comparison with known policies on pages and cycles that learning did not use (Santos 2013;
//! Santos et al. 2015). [`learn_sets()`] learns from several histories. A [`Preset`] holds every parameter; an [`Evaluate`] replays the history.
//!
//! The learner knows nothing of HTTP or the disk layout of a crawl, and reads no files except
//! presets. All random decisions follow from seeds, and nothing depends on the number of threads.

pub mod artifact;
pub mod checkpoint;
pub mod create;
pub mod crossover;
pub mod evaluate;
pub mod evolve;
pub mod fitness;
pub mod folds;
pub mod hall_of_fame;
pub mod judge;
pub mod learn;
pub mod memo;
pub mod mutate;
pub mod options;
pub mod policy_result;
pub mod preset;
pub mod proof;
pub mod report;
pub mod select;
pub mod sets;
pub mod tree;
pub mod vocabulary;
pub mod work;

pub use crate::checkpoint::{Checkpoint, CheckpointError};
pub use crate::evaluate::Evaluate;
pub use crate::fitness::{Fitness, FitnessError};
pub use crate::folds::{FoldBy, Folds, FoldsError, Protocol};
pub use crate::judge::LearningResult;
pub use crate::learn::{Ending, LearnError, Observer, Progress, learn};
pub use crate::options::{LearnOptions, StartFormula, StartFormulaError};
pub use crate::preset::{ChoiceMethod, Preset, PresetError};
pub use crate::report::Report;
pub use crate::sets::{LearnedOfSets, SetsError, learn_sets};
pub use crate::work::Work;

#[cfg(test)]
mod testing;
