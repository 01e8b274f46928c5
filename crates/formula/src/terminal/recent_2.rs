//! `recent_2`: observed changes, decaying within a burst.

use super::{Terminal, recent};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "recent_2",
    help: "seen changes, each with a weight that halves every 2 cycles",
    reads: |_| Reads::DECAYED[0] | Reads::LAST_CHANGE,
    load: |tile, out| recent(0, tile, out),
};
