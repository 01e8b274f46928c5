//! Rules of a replay.

use recrawl_scheduler::Ties;

pub use recrawl_scheduler::Parts;

/// The rules of a replay, equal for all compared policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Cycles 1 to this visit every page, regardless of the budget; 0 for none.
    pub warmup: u32,
    /// k: the pages to visit in every cycle after the warm-up.
    pub budget: Budget,
    /// How ties are broken.
    pub ties: Ties,
    /// The seed of all random choices: ties by hash, random scores.
    pub seed: u64,
    /// Maximum pages of one site per cycle after the warm-up.
    pub per_site: Option<u64>,
    /// The rounds of a cycle. Each is planned from what the earlier ones found.
    pub rounds: Parts,
}

/// The budget of a cycle after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// floor(share · existing pages), at least 1.
    Share(f64),
    /// This number, or all existing pages if they are fewer.
    Pages(u64),
}

impl Default for Rules {
    /// Those of the GP4C papers: a warm-up of 2 cycles, 5 % of the pages; ties by hash.
    fn default() -> Rules {
        Rules {
            warmup: 2,
            budget: Budget::Share(0.05),
            ties: Ties::Hash,
            seed: 0,
            per_site: None,
            rounds: Parts::Equal(1),
        }
    }
}

impl Rules {
    /// Checks whether a history of `pages` pages with last cycle `cycles` can be replayed.
    ///
    /// # Errors
    /// If there is no page, no cycle after the warm-up, or no visit in the budget.
    pub fn check(&self, pages: usize, cycles: u32) -> Result<(), RulesError> {
        self.check_begun(pages, self.warmup, cycles)
    }

    /// The same for a history whose budget is spent after the cycle `begun`.
    pub(crate) fn check_begun(&self, pages: usize, begun: u32, cycles: u32) -> Result<(), RulesError> {
        if pages == 0 {
            return Err(RulesError::NoPages);
        }
        if begun >= cycles {
            return Err(RulesError::NoCycles { warmup: begun, cycles });
        }
        match self.budget {
            Budget::Share(share) if !(share > 0.0 && share <= 1.0) => Err(RulesError::Share { share }),
            Budget::Pages(0) => Err(RulesError::NoBudget),
            _ => Ok(()),
        }
    }
}

impl Budget {
    /// k for this number of pages.
    pub fn visits(self, pages: u64) -> u64 {
        match self {
            Budget::Share(share) => ((share * pages as f64).floor() as u64).max(1).min(pages),
            Budget::Pages(k) => k.min(pages),
        }
    }
}

/// Why a history cannot be replayed under the rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// There is no page.
    #[error("no pages to visit")]
    NoPages,
    /// The warm-up takes all cycles.
    #[error(
        "a warm-up of {warmup} leaves nothing of a history with last cycle {cycles}; use a shorter --warmup"
    )]
    NoCycles {
        /// Cycles of warm-up.
        warmup: u32,
        /// The last cycle of the history.
        cycles: u32,
    },
    /// A share that is not above 0 and at most 1.
    #[error("share of {share}: use a share above 0 and at most 1")]
    Share {
        /// The share.
        share: f64,
    },
    /// A policy or metric needs contents, and none were read.
    #[error("{what} needs the contents of pages; use a data set that has them")]
    NoContents {
        /// The policy or metric.
        what: String,
    },
    /// k is 0.
    #[error("0 pages per cycle: use at least 1")]
    NoBudget,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_rounded_down_and_at_least_one() {
        assert_eq!(Budget::Share(0.05).visits(7393), 369);
        assert_eq!(Budget::Share(0.05).visits(3), 1);
        assert_eq!(Budget::Share(1.0).visits(3), 3);
        assert_eq!((Budget::Pages(5).visits(3), Budget::Pages(2).visits(3)), (3, 2));
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let with = |warmup, budget| Rules { warmup, budget, ..Rules::default() };
        let share = Budget::Share(0.05);
        assert_eq!(with(2, share).check(1, 3), Ok(()));
        assert_eq!(with(0, share).check(1, 1), Ok(()));
        assert_eq!(with(0, share).check(0, 9), Err(RulesError::NoPages));
        assert_eq!(with(3, share).check(5, 3), Err(RulesError::NoCycles { warmup: 3, cycles: 3 }));
        assert_eq!(with(0, Budget::Pages(0)).check(5, 3), Err(RulesError::NoBudget));
        for bad in [0.0, -1.0, 1.01, f64::NAN] {
            assert!(
                matches!(with(0, Budget::Share(bad)).check(5, 3), Err(RulesError::Share { .. })),
                "{bad}"
            );
        }
    }
}
