//! The estimators of a page's change rate, one file each.
//!
//! Every estimator takes constant time from the counters and running sums of a
//! [`History`](recrawl_types::History); none iterates over visits. Its rate is 0 before the first
//! comparison. A rate is a number of changes per visit or per cycle, by the [`Basis`].

pub mod aad;
pub mod cg;
pub mod gad;
pub mod nad;
pub mod sad;

use crate::Tile;
use recrawl_types::Reads;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The basis of the rate estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Over the visits 1…n, as in the papers (Santos et al. 2013 §3, 2015 §4).
    #[default]
    Visits,
    /// Over the elapsed cycles, as in the authors' program. A page's first fetch is the program's
    /// cycle 1; in current cycle c, s = c − first cycles have passed.
    Cycles,
}

impl Basis {
    /// Both bases.
    pub const ALL: [Basis; 2] = [Basis::Visits, Basis::Cycles];

    /// The name in formula files.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Visits => "visits",
            Basis::Cycles => "cycles",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An estimator.
#[derive(Clone, Copy, Debug)]
pub struct Estimator {
    /// Name in the literature, in lower case.
    pub name: &'static str,
    /// A short description.
    pub help: &'static str,
    /// Definition of its rate in basis `visits`.
    pub visits: &'static str,
    /// Definition of its rate in basis `cycles`.
    pub cycles: &'static str,
    /// The history fields that it reads, besides the cycle of the last visit.
    pub reads: fn(Basis) -> Reads,
    /// Fills `out` with the rate of every row of the tile.
    pub load: fn(&Tile<'_>, out: &mut [f64]),
}

/// All estimators.
pub const ALL: &[Estimator] =
    &[cg::ESTIMATOR, nad::ESTIMATOR, sad::ESTIMATOR, aad::ESTIMATOR, gad::ESTIMATOR];

/// `numerator / denominator`, or 0 if the denominator is 0, before the first comparison.
fn rate(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

/// 1 + 2 + … + `n`. Integers below 2⁵³ are exact; above, the nearest `f64`.
fn ramp(n: u32) -> f64 {
    let n = f64::from(n);
    n * (n + 1.0) / 2.0
}

/// 2^−`k`, exact, and 0 below the smallest `f64`.
#[inline]
pub(crate) fn half_to_the(k: u32) -> f64 {
    match k {
        0..=1022 => f64::from_bits(u64::from(1023 - k) << 52),
        1023..=1074 => f64::from_bits(1 << (1074 - k)),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
