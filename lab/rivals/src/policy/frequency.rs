//! `freq`: the changes seen, per visit.

use recrawl_simulation::policy::{Make, ReplayFormula, ReplayPolicyKind};

/// The baseline Freq of Tan & Mitra (2010, §6.3.5): the rate NAD, regardless of age.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "freq",
    help: "past change frequency, regardless of age: nad",
    make: Make::Honest(|_| ReplayFormula::expression("freq", "nad")),
};
