//! `p_aad`: the probability of a change since the last visit, by AAD.

use super::{Terminal, probability};
use crate::estimator::aad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_aad",
    help: "as p_nad: 1 - exp(-aad * t)",
    reads: ESTIMATOR.reads,
    load: |tile, out| probability(ESTIMATOR, tile, out),
};
