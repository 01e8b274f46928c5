//! `u_fresh`, `u_fresh_site`: the gain of a visit in freshness.

use super::{FormulaPolicy, Kind, Make};

/// The index of Olston & Pandey 2008 (eq. 4) where a copy is fresh or not: (1 − (1 + x)e^−x)/λ with x = λt. Its
/// optimum is that of Cho & Garcia-Molina 2000: pages that change too fast to be kept fresh are given up.
pub(super) const KIND: Kind = Kind {
    name: "u_fresh",
    help: "gain in freshness (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| FormulaPolicy::expression("u_fresh", "u_fresh")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const SITE: Kind = Kind {
    name: "u_fresh_site",
    help: "gain in freshness (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| FormulaPolicy::expression("u_fresh_site", "u_fresh_site")),
};
