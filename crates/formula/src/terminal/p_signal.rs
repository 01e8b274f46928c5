//! `p_signal`: the probability that the copy is stale, given signals.

use super::{GAMMA_SIGNAL, Terminal, signalled};
use crate::signal::Signalled;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "p_signal",
    help: "probability of a change since the last visit, given its signals: 1 - exp(-(1 - r) * eb_site * t) * (1 - p)^signals with the host's precision p and recall r",
    reads: |_| GAMMA_SIGNAL,
    load: |tile, out| signalled(tile, out, Signalled::stale),
};
