//! `p_gad`: the probability of a change since the last visit, by GAD.

use super::{Terminal, probability};
use crate::estimator::gad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_gad",
    help: "as p_nad: 1 - exp(-gad * t)",
    reads: ESTIMATOR.reads,
    load: |tile, out| probability(ESTIMATOR, tile, out),
};
