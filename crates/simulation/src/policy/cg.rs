//! `cg`: the rate of Cho and Garcia-Molina.

use super::{FormulaPolicy, Kind, Make};

/// The rate alone, whatever the age, as the authors of GP4C rank by it (Cho & Garcia-Molina 2003; Santos et al.
/// 2015 §4.2).
pub(super) const KIND: Kind = Kind {
    name: "cg",
    help: "rate of Cho and Garcia-Molina, regardless of age: cg",
    make: Make::Honest(|basis| FormulaPolicy::builtin("cg", basis)),
};
