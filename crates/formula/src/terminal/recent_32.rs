//! `recent_32`: observed changes, decaying within a month.

use super::{Terminal, recent};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "recent_32",
    help: "seen changes, each with a weight that halves every 32 cycles",
    reads: |_| Reads::DECAYED[2] | Reads::LAST_CHANGE,
    load: |tile, out| recent(2, tile, out),
};
