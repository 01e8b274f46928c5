//! `p_site`: the probability of a change under a Gamma prior with the site's rate.

use super::{FormulaPolicy, Kind, Make};

/// As `p_gamma`, with the rate of the page's site as the mean of the prior, itself drawn towards that of all
/// pages: pages of one site change alike (Cho & Ntoulas 2002; Tan & Mitra 2010).
pub(super) const KIND: Kind = Kind {
    name: "p_site",
    help: "probability of a change, Gamma prior with the site's rate: p_eb_site",
    make: Make::Honest(|_| FormulaPolicy::expression("p_site", "p_eb_site")),
};
