//! `recent_8`: seen changes that fade within a week.

use super::{Terminal, recent};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "recent_8",
    help: "seen changes, each of them halved with every 8 cycles that it is past",
    reads: |_| Reads::DECAYED[1] | Reads::LAST_CHANGE,
    load: |tile, out| recent(1, tile, out),
};
