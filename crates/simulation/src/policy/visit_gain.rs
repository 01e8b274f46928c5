//! The gain of a visit in freshness, harmonic penalty or age: `u_fresh`, `u_harm`, `u_age`, each
//! also with the site's rate (`…_site`).

use super::{Make, ReplayFormula, ReplayPolicyKind};

/// The index of Olston & Pandey 2008 (eq. 4) if a copy is either fresh or stale: (1 − (1 +
/// x)e^−x)/λ with x = λt. Its optimum is that of Cho & Garcia-Molina 2000: pages that change too
/// fast to be kept fresh are given up.
pub(super) const U_FRESH: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_fresh",
    help: "gain in freshness (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| ReplayFormula::expression("u_fresh", "u_fresh")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const U_FRESH_SITE: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_fresh_site",
    help: "gain in freshness (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| ReplayFormula::expression("u_fresh_site", "u_fresh_site")),
};

/// The same with the page's signals and what its site's signals proved to be worth (Busa-Fekete et
/// al. 2025). The same scores without signals.
pub(super) const U_FRESH_SIGNAL: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_fresh_signal",
    help: "gain in freshness, given signals (Busa-Fekete et al.), Gamma prior with the site's rate",
    make: Make::Honest(|_| ReplayFormula::expression("u_fresh_signal", "u_fresh_signal")),
};

/// The index of Olston & Pandey 2008 (eq. 4) if the m-th unseen change costs 1/m (Kolobov et al.
/// 2019): t − (1 − e^−x)/λ with x = λt. It rises with the rate, so no page is given up.
pub(super) const U_HARM: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_harm",
    help: "gain in harmonic penalty (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| ReplayFormula::expression("u_harm", "u_harm")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const U_HARM_SITE: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_harm_site",
    help: "gain in harmonic penalty (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| ReplayFormula::expression("u_harm_site", "u_harm_site")),
};

/// The index of Olston & Pandey 2008 (eq. 4) if a copy costs its age: t²/2 − (1 − (1 + x)e^−x)/λ²
/// with x = λt (age: Cho & Garcia-Molina 2000).
pub(super) const U_AGE: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_age",
    help: "gain in age (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| ReplayFormula::expression("u_age", "u_age")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const U_AGE_SITE: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_age_site",
    help: "gain in age (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| ReplayFormula::expression("u_age_site", "u_age_site")),
};
