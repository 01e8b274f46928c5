//! The number of a crawl cycle.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a crawl cycle, counted from 1. Cycle *c* turns generation *c − 1* into generation
/// *c*, so the number of a generation is the number of the last cycle that is in it; generation 0 is
/// the empty repository.
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
