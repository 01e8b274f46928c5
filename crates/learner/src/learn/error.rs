//! Why nothing can be learned.

use crate::folds::FoldsError;
use crate::preset::PresetError;
use recrawl_simulation::RulesError;
use recrawl_simulation::fast::ReplayerError;
use std::error::Error;
use std::fmt;

/// Nothing can be learned from this data with these options.
#[derive(Debug)]
#[non_exhaustive]
pub enum LearnError {
    /// The preset makes no sense.
    Preset(PresetError),
    /// The data cannot be divided.
    Folds(FoldsError),
    /// No fold has that number.
    NoFold {
        /// It, from 0 on.
        fold: usize,
        /// Folds.
        count: usize,
    },
    /// A checkpoint has more runs than are asked for.
    TooManyRuns {
        /// Runs in the checkpoint.
        runs: usize,
        /// Runs asked for.
        asked: usize,
    },
    /// A part of the data cannot be replayed.
    Replay(ReplayerError),
    /// A part of the data cannot be replayed by a rival.
    Rules(RulesError),
    /// A simplified formula scores a page otherwise than the formula does: a fault of the program.
    NotEqual {
        /// As it was bred.
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
                write!(f, "there is no fold {}: they are 1 to {count}", fold + 1)
            }
            LearnError::TooManyRuns { runs, asked } => {
                write!(f, "the checkpoint has {runs} runs, and {asked} are asked for")
            }
            LearnError::Replay(error) => error.fmt(f),
            LearnError::Rules(error) => error.fmt(f),
            LearnError::NotEqual { bred, simplified } => write!(
                f,
                "'{simplified}' scores pages otherwise than '{bred}', of which it is the simplified form: \
                 this is a fault of the program, please report it"
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
