//! Errors of learning.

use crate::folds::FoldsError;
use crate::preset::PresetError;
use recrawl_simulation::RulesError;
use recrawl_simulation::fast::ReplayerError;
use std::error::Error;
use std::fmt;

/// Why nothing can be learned from this data with these options.
#[derive(Debug)]
#[non_exhaustive]
pub enum LearnError {
    /// The preset is invalid.
    Preset(PresetError),
    /// The data cannot be divided.
    Folds(FoldsError),
    /// No such fold.
    NoFold {
        /// The number, from 0.
        fold: usize,
        /// Folds.
        count: usize,
    },
    /// A checkpoint has more runs than requested.
    TooManyRuns {
        /// Runs in the checkpoint.
        runs: usize,
        /// Requested runs.
        asked: usize,
    },
    /// A part of the data cannot be replayed.
    Replay(ReplayerError),
    /// A part of the data cannot be replayed by a known policy.
    Rules(RulesError),
    /// A simplified formula scores a page differently from the original: a bug.
    NotEqual {
        /// The original.
        bred: String,
        /// Simplified.
        simplified: String,
    },
}

impl fmt::Display for LearnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnError::Preset(error) => error.fmt(f),
            LearnError::Folds(error) => error.fmt(f),
            LearnError::NoFold { fold, count } => {
                write!(f, "no fold {}; use 1 to {count}", fold + 1)
            }
            LearnError::TooManyRuns { runs, asked } => {
                write!(f, "the checkpoint has {runs} runs, but {asked} are requested")
            }
            LearnError::Replay(error) => error.fmt(f),
            LearnError::Rules(error) => error.fmt(f),
            LearnError::NotEqual { bred, simplified } => write!(
                f,
                "'{simplified}' scores pages differently from '{bred}', of which it is the simplified form; this is a bug, \
                 please report it"
            ),
        }
    }
}

impl Error for LearnError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            LearnError::Preset(error) => Some(error),
            LearnError::Folds(error) => Some(error),
            LearnError::Replay(error) => Some(error),
            LearnError::Rules(error) => Some(error),
            _ => None,
        }
    }
}
