//! `u_fresh_sib`: the gain of a visit in freshness, given the siblings.

use super::{GAMMA_SIBLINGS, Terminal};
use crate::{posterior, refresh};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_fresh_sib",
    help: "as u_fresh, with x = -ln(1 - p_burst) and eb = x / t",
    reads: |_| GAMMA_SIBLINGS,
    load: |tile, out| {
        posterior::load_with_burst(tile, out);
        posterior::to_gain(tile, out, refresh::freshness);
    },
};
