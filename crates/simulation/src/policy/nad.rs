//! `nad`: the non-adaptive rate times the age.

use super::{FormulaPolicy, Kind, Make};

/// All changes count alike, X/n: the baseline NAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015 §4.2).
pub(super) const KIND: Kind = Kind {
    name: "nad",
    help: "rate NAD times age: nad * t",
    make: Make::Honest(|basis| FormulaPolicy::builtin("nad", basis)),
};
