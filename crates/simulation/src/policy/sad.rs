//! `sad`: the shortsighted adaptive rate times the age.

use super::{FormulaPolicy, Kind, Make};

/// Only the last visit counts: the baseline SAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015 §4.2).
pub(super) const KIND: Kind = Kind {
    name: "sad",
    help: "rate SAD times age: sad * t",
    make: Make::Honest(|basis| FormulaPolicy::builtin("sad", basis)),
};
