//! Errors of replaying formulas together.

use crate::RulesError;

/// Why formulas cannot be replayed by [`super::Replayer`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayerError {
    /// The history cannot be replayed under the rules at all.
    #[error("{0}")]
    Rules(RulesError),
    /// A page does not exist from the first cycle to the last.
    #[error(
        "page {page} does not exist from the first cycle to the last; formulas are compared over the \
         fixed set"
    )]
    NotFixed {
        /// Index of the page.
        page: usize,
    },
    /// The rules have a budget per site.
    #[error("formulas are compared without a limit of pages per site")]
    PerSite,
    /// The rules have several rounds a cycle.
    #[error("formulas are compared with one round a cycle")]
    Rounds,
}
