//! `p_burst`: the probability of a change, given a burst among the siblings.

use super::{GAMMA_SIBLINGS, Terminal};
use crate::posterior;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_burst",
    help: "probability of a change since the last visit, given its siblings: 1 - (b'/(b' + t))^(a' * burst)",
    reads: |_| GAMMA_SIBLINGS,
    load: |tile, out| {
        posterior::load_with_burst(tile, out);
        posterior::to_probability(out);
    },
};
