//! The model that learns from the policy's own visits: `p_next`, `u_fresh_next`, `u_harm_next`.

use super::{Make, ReplayFormula, ReplayPolicyKind};

/// The probability of a change, by the model of the next change ([`NextChangeModel`](recrawl_formula::NextChangeModel)).
pub(super) const P_NEXT: ReplayPolicyKind = ReplayPolicyKind {
    name: "p_next",
    help: "probability of a change, by the model learned from the visits so far",
    make: Make::Honest(|_| ReplayFormula::expression("p_next", "p_next")),
};

/// The gain in freshness (Olston & Pandey 2008) of a Poisson process with the model's hazard.
pub(super) const U_FRESH_NEXT: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_fresh_next",
    help: "gain in freshness, by the same model",
    make: Make::Honest(|_| ReplayFormula::expression("u_fresh_next", "u_fresh_next")),
};

/// The gain in harmonic penalty, likewise.
pub(super) const U_HARM_NEXT: ReplayPolicyKind = ReplayPolicyKind {
    name: "u_harm_next",
    help: "gain in harmonic penalty, by the same model",
    make: Make::Honest(|_| ReplayFormula::expression("u_harm_next", "u_harm_next")),
};
