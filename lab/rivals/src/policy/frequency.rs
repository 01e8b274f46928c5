//! `freq`: the changes seen, per visit.

use recrawl_simulation::policy::{FormulaPolicy, Make, PolicyKind};

/// The baseline Freq of Tan & Mitra (2010, §6.3.5): the rate NAD, regardless of age.
pub(super) const KIND: PolicyKind = PolicyKind {
    name: "freq",
    help: "past change frequency, regardless of age: nad",
    make: Make::Honest(|_| FormulaPolicy::expression("freq", "nad")),
};
