//! `p_nad`: the probability of a change since the last visit, by NAD.

use super::{Terminal, probability};
use crate::estimator::nad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_nad",
    help: "probability of a change since the last visit: 1 - exp(-nad * t)",
    reads: ESTIMATOR.reads,
    load: |tile, out| probability(ESTIMATOR, tile, out),
};
