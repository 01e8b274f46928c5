//! The rates of the GP4C papers: `nad`, `sad`, `aad`, `gad`, each times the age, and `cg`.

use super::{Make, ReplayFormula, ReplayPolicyKind};

/// All changes count equally, X/n: the baseline NAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015
/// §4.2).
pub(super) const NAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "nad",
    help: "rate NAD times age: nad * t",
    make: Make::Honest(|basis| ReplayFormula::builtin("nad", basis)),
};

/// Only the last visit counts: the baseline SAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015
/// §4.2).
pub(super) const SAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "sad",
    help: "rate SAD times age: sad * t",
    make: Make::Honest(|basis| ReplayFormula::builtin("sad", basis)),
};

/// Recent changes count more: the baseline AAD (Tan & Mitra 2010; Santos et al. 2013 §3, 2015
/// §4.2).
pub(super) const AAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "aad",
    help: "rate AAD times age: aad * t",
    make: Make::Honest(|basis| ReplayFormula::builtin("aad", basis)),
};

/// A change counts twice as much as one in the previous visit: the baseline GAD (Tan & Mitra 2010;
/// Santos et al. 2013 §3, 2015 §4.2).
pub(super) const GAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "gad",
    help: "rate GAD times age: gad * t",
    make: Make::Honest(|basis| ReplayFormula::builtin("gad", basis)),
};

/// The rate alone, regardless of age, as the authors of GP4C rank by it (Cho & Garcia-Molina 2003;
/// Santos et al. 2015 §4.2).
pub(super) const CG: ReplayPolicyKind = ReplayPolicyKind {
    name: "cg",
    help: "rate of Cho and Garcia-Molina, regardless of age: cg",
    make: Make::Honest(|basis| ReplayFormula::builtin("cg", basis)),
};
