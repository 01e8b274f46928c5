//! GP4C: genetic programming learns the score formula from recorded page changes.
//!
//! For the program's `learn`: [`learn()`] takes a recorded history and options and gives back a formula, how it
//! was chosen, and how it does beside every known policy on pages and cycles that had no part in its making
//! (Santos 2013; Santos et al. 2015). A [`Preset`] holds every parameter, an [`Evaluate`] replays the history.
//!
//! The learner knows nothing of HTTP and of the disk layout of a crawl; it reads and writes no files but
//! presets. Everything that chance decides follows from seeds, and nothing depends on the number of threads.

pub mod artifact;
pub mod checkpoint;
pub mod create;
pub mod crossover;
pub mod evaluate;
pub mod evolve;
pub mod fitness;
pub mod folds;
pub mod judge;
pub mod kept;
pub mod learn;
pub mod memo;
pub mod mutate;
pub mod options;
pub mod preset;
pub mod proof;
pub mod report;
pub mod select;
pub mod standing;
pub mod tree;
pub mod vocabulary;
pub mod work;

pub use crate::checkpoint::{Checkpoint, CheckpointError};
pub use crate::evaluate::Evaluate;
pub use crate::fitness::{Fitness, FitnessError};
pub use crate::folds::{FoldBy, Folds, FoldsError, Protocol};
pub use crate::judge::Learned;
pub use crate::learn::{Ending, LearnError, Observer, Progress, learn};
pub use crate::options::{Options, Start, StartError};
pub use crate::preset::{Method, Preset, PresetError};
pub use crate::report::Report;
pub use crate::work::Work;

#[cfg(test)]
mod testing;
