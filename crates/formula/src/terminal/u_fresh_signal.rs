//! `u_fresh_signal`: the gain of a visit in freshness, given signals.

use super::{GAMMA_SIGNAL, Terminal, signalled};
use crate::signal::Signalled;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "u_fresh_signal",
    help: "gain of a visit in freshness, given its signals and the host's precision and recall; u_fresh_site without signals",
    reads: |_| GAMMA_SIGNAL,
    load: |tile, out| signalled(tile, out, Signalled::gain),
};
