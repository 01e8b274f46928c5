//! What siblings tell: `p_sib`, `p_burst`, `u_fresh_sib`, `u_harm_sib`.

use super::{Make, ReplayFormula, ReplayPolicyKind};

/// Like `p_site`, but the mean of the prior is the rate of the page's siblings, shrunk towards that of its site.
pub(super) const P_SIB: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_sib",
    help: "probability of a change, Gamma prior with the siblings' rate: p_eb_sib",
    make: Make::Honest(|_| ReplayFormula::expression("p_sib", "p_eb_sib")),
};

/// The same, with the hazard times the burst among the siblings since the page's last visit.
pub(super) const P_BURST: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_burst",
    help: "probability of a change, given what visits of its siblings have shown",
    make: Make::Honest(|_| ReplayFormula::expression("p_burst", "p_burst")),
};

/// The gain in freshness (Olston & Pandey 2008) of a Poisson process with that hazard.
pub(super) const U_FRESH_SIB: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_fresh_sib",
    help: "gain in freshness, given what visits of its siblings have shown",
    make: Make::Honest(|_| ReplayFormula::expression("u_fresh_sib", "u_fresh_sib")),
};

/// The gain in harmonic penalty, likewise.
pub(super) const U_HARM_SIB: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_harm_sib",
    help: "gain in harmonic penalty, given what visits of its siblings have shown",
    make: Make::Honest(|_| ReplayFormula::expression("u_harm_sib", "u_harm_sib")),
};
