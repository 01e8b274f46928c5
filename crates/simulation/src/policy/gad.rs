//! `gad`: the geometrically adaptive rate times the age.

use super::{FormulaPolicy, Kind, Make};

/// A change counts twice as much as one a visit before: the baseline GAD (Tan & Mitra 2010; Santos et al. 2013
/// §3, 2015 §4.2).
pub(super) const KIND: Kind = Kind {
    name: "gad",
    help: "rate GAD times age: gad * t",
    make: Make::Honest(|basis| FormulaPolicy::builtin("gad", basis)),
};
