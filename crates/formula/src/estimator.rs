//! The estimators of a page's rate of change, one file each.
//!
//! Every estimator follows in constant time from the counters and running sums of a
//! [`History`](recrawl_types::History); none walks through the visits. Its rate is 0 where nothing was
//! compared yet. A rate is a number of changes per visit or per cycle, by the [`Basis`].

pub mod aad;
pub mod cg;
pub mod gad;
pub mod nad;
pub mod sad;

use crate::Tile;
use recrawl_types::Reads;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the rates are estimated over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Over the visits 1…n, as the papers write it (Santos et al. 2013 §3, 2015 §4).
    #[default]
    Visits,
    /// Over the elapsed cycles, as the authors' program does it. A page's first fetch is the program's
    /// cycle 1; in current cycle c, s = c − first cycles have gone by.
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

/// One estimator.
#[derive(Clone, Copy, Debug)]
pub struct Estimator {
    /// Its name in the literature, in lower case.
    pub name: &'static str,
    /// What it is, in words.
    pub help: &'static str,
    /// Its rate in basis `visits`, written out.
    pub visits: &'static str,
    /// Its rate in basis `cycles`, written out.
    pub cycles: &'static str,
    /// What it reads of a page's history, beside the cycle of the last visit.
    pub reads: fn(Basis) -> Reads,
    /// Fills `out` with the rate of every row of the tile.
    pub load: fn(&Tile<'_>, out: &mut [f64]),
}

/// Every estimator.
pub const ALL: &[Estimator] =
    &[cg::ESTIMATOR, nad::ESTIMATOR, sad::ESTIMATOR, aad::ESTIMATOR, gad::ESTIMATOR];

/// `numerator / denominator`, or 0 while the denominator is 0: nothing was compared yet.
fn rate(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

/// 1 + 2 + … + `n`. Whole numbers below 2⁵³ are exact; above, the nearest `f64`.
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
