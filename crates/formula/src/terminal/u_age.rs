//! `u_age`: the gain of a visit in age, with the global rate.

use super::{GAMMA_GLOBAL, Terminal};
use crate::posterior::{self, Mean};
use crate::refresh;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_age",
    help: "gain of a visit in age: t * t / 2 - (1 - (1 + x) * exp(-x)) / (eb * eb) with x = eb * t",
    reads: |_| GAMMA_GLOBAL,
    load: |tile, out| posterior::load_gain(tile, Mean::Global, out, refresh::age),
};
