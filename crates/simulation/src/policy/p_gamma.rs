//! `p_gamma`: the probability of a change under a Gamma prior with the rate of all pages.

use super::{FormulaPolicy, Kind, Make};

/// The posterior of a Gamma prior, integrated: 1 − (b′/(b′ + t))^a′. A page that never showed a change keeps a
/// probability, so that none starves (empirical Bayes: Robbins 1956; for page changes Cho & Garcia-Molina
/// 2003 §5).
pub(super) const KIND: Kind = Kind {
    name: "p_gamma",
    help: "probability of a change, Gamma prior with the rate of all pages: p_eb",
    make: Make::Honest(|_| FormulaPolicy::expression("p_gamma", "p_eb")),
};
