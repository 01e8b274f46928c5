//! `aad`: the arithmetically adaptive rate times the age.

use super::{FormulaPolicy, Kind, Make};

/// Recent changes count for more, by their number: the baseline AAD (Tan & Mitra 2010; Santos et al. 2013
/// §3, 2015 §4.2).
pub(super) const KIND: Kind = Kind {
    name: "aad",
    help: "rate AAD times age: aad * t",
    make: Make::Honest(|basis| FormulaPolicy::builtin("aad", basis)),
};
