//! Errors of replaying formulas together.

use crate::RulesError;
use std::fmt;

/// Why formulas cannot be replayed by [`super::Replayer`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReplayerError {
    /// The history cannot be replayed under the rules at all.
    Rules(RulesError),
    /// A page does not exist from the first cycle to the last.
    NotFixed {
        /// Index of the page.
        page: usize,
    },
    /// The rules have a budget per site.
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
