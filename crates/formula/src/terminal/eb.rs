//! `eb`: the rate under a Gamma prior with the global rate.

use super::{GAMMA_GLOBAL, Terminal};
use crate::posterior::{self, Mean};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "eb",
    help: "rate of change under a Gamma prior with the global rate: a'/b'",
    reads: |_| GAMMA_GLOBAL,
    load: |tile, out| {
        posterior::load(
            tile,
            Mean::Global,
            out,
            #[inline(always)]
            |p, _| p.rate(),
        )
    },
};
