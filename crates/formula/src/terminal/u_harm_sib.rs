//! `u_harm_sib`: the gain of a visit in harmonic penalty, given the siblings.

use super::{GAMMA_SIBLINGS, Terminal};
use crate::{posterior, refresh};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_harm_sib",
    help: "gain of a visit in harmonic penalty, given its siblings: t - (1 - exp(-x)) * t / x with x = -ln(1 - p_burst)",
    reads: |_| GAMMA_SIBLINGS,
    load: |tile, out| {
        posterior::load_with_burst(tile, out);
        posterior::to_gain(tile, out, refresh::harmonic);
    },
};
