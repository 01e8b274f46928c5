//! `u_harm`: the gain of a visit in harmonic penalty, with the global rate.

use super::{GAMMA_GLOBAL, Terminal};
use crate::posterior::{self, Mean};
use crate::refresh;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_harm",
    help: "gain of a visit in harmonic penalty: t - (1 - exp(-x)) / eb with x = eb * t",
    reads: |_| GAMMA_GLOBAL,
    load: |tile, out| posterior::load_gain(tile, Mean::Global, out, refresh::harmonic),
};
