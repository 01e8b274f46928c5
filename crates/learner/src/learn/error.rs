//! Errors of learning.

use crate::folds::FoldsError;
use crate::judge::FoldChanges;
use crate::preset::PresetError;
use recrawl_simulation::RulesError;
use recrawl_simulation::fast::ReplayerError;

/// Why nothing can be learned from this data with these options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The preset is invalid.
    #[error("{0}")]
    Preset(#[source] PresetError),
    /// The data cannot be divided.
    #[error("{0}")]
    Folds(#[source] FoldsError),
    /// No such fold.
    #[error("no fold {}; use 1 to {count}", .fold + 1)]
    NoFold {
        /// The number, from 0.
        fold: usize,
        /// Folds.
        count: usize,
    },
    /// A checkpoint has more runs than requested.
    #[error("the checkpoint has {runs} runs, but {asked} are requested")]
    TooManyRuns {
        /// Runs in the checkpoint.
        runs: usize,
        /// Requested runs.
        asked: usize,
    },
    /// A part of the data cannot be replayed.
    #[error("{0}")]
    Replay(#[source] ReplayerError),
    /// A part of the data cannot be replayed by a known policy.
    #[error("{0}")]
    Rules(#[source] RulesError),
    /// One of several data sets does not allow it.
    #[error("{set}: {cause}")]
    InSet {
        /// The name of the set.
        set: String,
        /// The reason.
        #[source]
        cause: Box<LearnError>,
    },
    /// One of several data sets has too few changes to tell formulas apart.
    #[error("{}; leave this set out", .0.text())]
    FewChanges(FoldChanges),
    /// No gain over a fitness of 0 can be told.
    #[error(
        "the best known formula has a fitness of 0 on a part of a fold, so a gain over it cannot be told; leave this \
         set out, or use fewer --folds or another --fitness"
    )]
    NoGain,
    /// A simplified formula scores a page differently from the original: a bug.
    #[error(
        "'{simplified}' scores pages differently from '{bred}', of which it is the simplified form; this is \
         a bug, please report it"
    )]
    NotEqual {
        /// The original.
        bred: String,
        /// Simplified.
        simplified: String,
    },
}

impl LearnError {
    /// Of one of several data sets.
    pub(crate) fn in_set(self, set: &str) -> LearnError {
        LearnError::InSet { set: set.to_owned(), cause: Box::new(self) }
    }

    /// The reason, without the name of the set.
    pub fn cause(&self) -> &LearnError {
        match self {
            LearnError::InSet { cause, .. } => cause.cause(),
            _ => self,
        }
    }
}
