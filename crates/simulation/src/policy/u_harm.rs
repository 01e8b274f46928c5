//! `u_harm`, `u_harm_site`: the gain of a visit in harmonic penalty.

use super::{FormulaPolicy, Kind, Make};

/// The index of Olston & Pandey 2008 (eq. 4) where the m-th missed change costs 1/m (Kolobov et al. 2019):
/// t − (1 − e^−x)/λ with x = λt. It rises with the rate, so that no page is given up.
pub(super) const KIND: Kind = Kind {
    name: "u_harm",
    help: "gain in harmonic penalty (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| FormulaPolicy::expression("u_harm", "u_harm")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const SITE: Kind = Kind {
    name: "u_harm_site",
    help: "gain in harmonic penalty (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| FormulaPolicy::expression("u_harm_site", "u_harm_site")),
};
