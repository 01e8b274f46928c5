//! `p_mm`: the probability of a change, by moments.

use super::{FormulaPolicy, Kind, Make};

/// Ranks as 1 − e^(−λt) does, which rises with λt, for the rate λ by the method of moments with one imaginary
/// changed and one unchanged interval of half a cycle (Cho & Garcia-Molina 2003 for irregular visits; the
/// pseudo-data of Kolobov et al. 2019).
pub(super) const KIND: Kind = Kind {
    name: "p_mm",
    help: "probability of a change, rate by moments: same order as mm * t",
    make: Make::Honest(|_| FormulaPolicy::expression("p_mm", "mm * t")),
};
