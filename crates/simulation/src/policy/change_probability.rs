//! The probability of a change since the last visit: `p_mm`, `p_gamma`, `p_site`.

use super::{Make, ReplayFormula, ReplayPolicyKind};

/// Ranks by λt, which gives the same order as 1 − e^(−λt). The rate λ is estimated by the method of
/// moments with one imaginary changed and one unchanged interval of half a cycle (Cho &
/// Garcia-Molina 2003 for irregular visits; the pseudo-data of Kolobov et al. 2019).
pub(super) const P_MM: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_mm",
    help: "probability of a change, rate by moments: same order as mm * t",
    make: Make::Honest(|_| ReplayFormula::expression("p_mm", "mm * t")),
};

/// The integrated posterior of a Gamma prior: 1 − (b′/(b′ + t))^a′. A page that never changed keeps
/// a positive probability, so no page starves (empirical Bayes: Robbins 1956; for page changes Cho
/// & Garcia-Molina 2003 §5).
pub(super) const P_GAMMA: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_gamma",
    help: "probability of a change, Gamma prior with the rate of all pages: p_eb",
    make: Make::Honest(|_| ReplayFormula::expression("p_gamma", "p_eb")),
};

/// Like `p_gamma`, but the mean of the prior is the rate of the page's site, itself shrunk towards
/// that of all pages: pages of one site change alike (Cho & Ntoulas 2002; Tan & Mitra 2010).
pub(super) const P_SITE: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_site",
    help: "probability of a change, Gamma prior with the site's rate: p_eb_site",
    make: Make::Honest(|_| ReplayFormula::expression("p_site", "p_eb_site")),
};
