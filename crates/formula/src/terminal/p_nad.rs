//! `p_nad`: the probability of a change since the last visit, by NAD.

use super::{Terminal, probability};
use crate::estimator::nad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_nad",
    help: "1 - exp(-nad * t): the probability of a change since the last visit",
    reads: ESTIMATOR.reads,
    load: |tile, out| probability(ESTIMATOR, tile, out),
};
