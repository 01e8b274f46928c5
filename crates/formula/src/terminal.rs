//! The terminals: what an expression can ask of a page, one file each.

mod aad;
mod cg;
mod gad;
mod n;
mod nad;
mod p_aad;
mod p_gad;
mod p_nad;
mod p_sad;
mod sad;
mod t;
mod x;

use crate::{Basis, Estimator, Tile};
use recrawl_types::Reads;

/// A value that a page's record holds or that follows from it in constant time.
#[derive(Debug)]
pub struct Terminal {
    /// Its name in expressions (`X` is a capital, as in the papers).
    pub name: &'static str,
    /// What it is, in words, with its unit.
    pub help: &'static str,
    /// What it reads of a page's history, beside the cycle of the last visit.
    pub reads: fn(Basis) -> Reads,
    /// Fills `out` with the value of every row of the tile. Never −0: the simplifier counts on it.
    pub load: fn(&Tile<'_>, out: &mut [f64]),
}

/// Every terminal, in the order in which they are listed to people.
pub static ALL: &[&Terminal] = &[
    &n::TERMINAL,
    &x::TERMINAL,
    &t::TERMINAL,
    &cg::TERMINAL,
    &nad::TERMINAL,
    &sad::TERMINAL,
    &aad::TERMINAL,
    &gad::TERMINAL,
    &p_nad::TERMINAL,
    &p_sad::TERMINAL,
    &p_aad::TERMINAL,
    &p_gad::TERMINAL,
];

impl Terminal {
    /// The terminal of that name.
    pub fn named(name: &str) -> Option<&'static Terminal> {
        ALL.iter().copied().find(|t| t.name == name)
    }

    /// The terminal that is an estimator's rate.
    const fn rate(estimator: Estimator) -> Terminal {
        Terminal { name: estimator.name, help: estimator.help, reads: estimator.reads, load: estimator.load }
    }
}

impl PartialEq for Terminal {
    fn eq(&self, other: &Terminal) -> bool {
        self.name == other.name
    }
}

/// 1 − e^(−λt): the probability that a Poisson process of rate λ met an event within t.
fn probability(estimator: Estimator, tile: &Tile<'_>, out: &mut [f64]) {
    (estimator.load)(tile, out);
    for (out, &last) in out.iter_mut().zip(tile.of(&tile.columns.last)) {
        *out = 1.0 - (-(*out * t::age(tile.cycle, last))).exp();
    }
}

#[cfg(test)]
mod tests;
