//! `p_sad`: the probability of a change since the last visit, by SAD.

use super::{Terminal, probability};
use crate::estimator::sad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_sad",
    help: "as p_nad: 1 - exp(-sad * t)",
    reads: ESTIMATOR.reads,
    load: |tile, out| probability(ESTIMATOR, tile, out),
};
