//! `u_fresh`: the gain of a visit in freshness, with the global rate.

use super::{GAMMA_GLOBAL, Terminal};
use crate::posterior::{self, Mean};
use crate::refresh;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_fresh",
    help: "gain of a visit in freshness: (1 - (1 + x) * exp(-x)) / eb with x = eb * t",
    reads: |_| GAMMA_GLOBAL,
    load: |tile, out| posterior::load_gain(tile, Mean::Global, out, refresh::freshness),
};
