//! `u_age`, `u_age_site`: the gain of a visit in age.

use super::{FormulaPolicy, Kind, Make};

/// The index of Olston & Pandey 2008 (eq. 4) where a copy costs its age: t²/2 − (1 − (1 + x)e^−x)/λ² with x = λt
/// (age: Cho & Garcia-Molina 2000).
pub(super) const KIND: Kind = Kind {
    name: "u_age",
    help: "gain in age (Olston and Pandey), Gamma prior with the rate of all pages",
    make: Make::Honest(|_| FormulaPolicy::expression("u_age", "u_age")),
};

/// The same with the rate of the page's site as the mean of the prior.
pub(super) const SITE: Kind = Kind {
    name: "u_age_site",
    help: "gain in age (Olston and Pandey), Gamma prior with the site's rate",
    make: Make::Honest(|_| FormulaPolicy::expression("u_age_site", "u_age_site")),
};
