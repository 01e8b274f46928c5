//! `p_eb`: the probability of a change under a Gamma prior with the global rate.

use super::{GAMMA_GLOBAL, Terminal};
use crate::posterior::{self, Mean};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_eb",
    help: "probability of a change since the last visit, with the prior of eb: 1 - (b'/(b' + t))^a'",
    reads: |_| GAMMA_GLOBAL,
    load: |tile, out| posterior::load_probability(tile, Mean::Global, out),
};
