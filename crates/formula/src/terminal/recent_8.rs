//! `recent_8`: observed changes, decaying within a week.

use super::{Terminal, recent};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "recent_8",
    help: "seen changes, each with a weight that halves every 8 cycles",
    reads: |_| Reads::DECAYED[1] | Reads::LAST_CHANGE,
    load: |tile, out| recent(1, tile, out),
};
