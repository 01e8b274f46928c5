//! The numbers of cycles and rounds: a cycle is a unit of time, a round a unit of work.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a crawl cycle, counted from 1: the unit of the time *t* since a page's last visit.
/// A cycle has one or more rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cycle(pub u32);

impl Cycle {
    /// Cycles gone by since `earlier`: the terminal *t* when `earlier` is a page's last visit.
    /// 0 when `earlier` is not earlier, which a damaged record could claim.
    pub fn since(self, earlier: Cycle) -> u32 {
        self.0.saturating_sub(earlier.0)
    }

    /// The cycle after this one.
    ///
    /// # Panics
    /// After cycle 4,294,967,295: one cycle a second for 136 years.
    pub fn next(self) -> Cycle {
        Cycle(self.0.checked_add(1).expect("a cycle number fits in 32 bits"))
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a round, counted from 1 over the whole crawl: plan, fetch, merge, commit. Round *r*
/// turns generation *r − 1* into generation *r*, so it is the number of that generation; generation 0
/// is the empty repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Round(pub u32);

impl Round {
    /// Rounds since `earlier`; 0 when `earlier` is not earlier.
    pub fn since(self, earlier: Round) -> u32 {
        self.0.saturating_sub(earlier.0)
    }

    /// The round after this one.
    ///
    /// # Panics
    /// After round 4,294,967,295: one round a second for 136 years.
    pub fn next(self) -> Round {
        Round(self.0.checked_add(1).expect("a round number fits in 32 bits"))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A round with its date, which is its cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DatedRound {
    /// Its number.
    pub round: Round,
    /// Its cycle.
    pub cycle: Cycle,
}

impl DatedRound {
    /// The round of a cycle when each cycle so far had one: both have the same number.
    pub fn only_of(cycle: Cycle) -> DatedRound {
        DatedRound { round: Round(cycle.0), cycle }
    }

    /// Have round and cycle the same number?
    pub fn is_only(self) -> bool {
        self.round.0 == self.cycle.0
    }

    /// The next round, in the next cycle.
    pub fn in_next_cycle(self) -> DatedRound {
        DatedRound { round: self.round.next(), cycle: self.cycle.next() }
    }
}
