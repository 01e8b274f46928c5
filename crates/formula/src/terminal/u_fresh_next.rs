//! `u_fresh_next`: the gain of a visit in freshness by the model of the next change.

use super::{NEXT_CHANGE, Terminal};
use crate::{next_change, posterior, refresh};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_fresh_next",
    help: "as u_fresh, with x = -ln(1 - p_next) and eb = x / t",
    reads: |_| NEXT_CHANGE,
    load: |tile, out| {
        next_change::load(tile, false, out);
        posterior::to_gain(tile, out, refresh::freshness);
    },
};
