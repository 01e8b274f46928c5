//! Errors of replaying formulas together.

use crate::RulesError;
use std::fmt;

/// Why formulas cannot be replayed together.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReplayerError {
    /// The history cannot be replayed under the rules at all.
    Rules(RulesError),
    /// A page that is not there from the first cycle to the last.
    NotFixed {
        /// Its index.
        page: usize,
    },
    /// Sites have a budget of their own.
    PerSite,
}

impl fmt::Display for ReplayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayerError::Rules(error) => error.fmt(f),
            ReplayerError::NotFixed { page } => write!(
                f,
                "page {page} does not exist from the first cycle to the last; formulas are compared over the fixed set"
            ),
            ReplayerError::PerSite => {
                write!(f, "formulas are compared without a limit of pages per site")
            }
        }
    }
}

impl std::error::Error for ReplayerError {}
