//! `p_eb_sib`: the probability of a change under a Gamma prior with the siblings' rate.

use super::{GAMMA_SIBLINGS, Terminal};
use crate::posterior::{self, Mean};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_eb_sib",
    help: "as p_eb, with sib_rate as the rate of the prior",
    reads: |_| GAMMA_SIBLINGS,
    load: |tile, out| posterior::load_probability(tile, Mean::Siblings, out),
};
