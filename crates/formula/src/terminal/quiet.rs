//! `quiet`: time without an observed change.

use super::{Terminal, age};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "quiet",
    help: "cycles since the last visit that found a change, or since the first fetch if none did",
    reads: |_| Reads::FIRST | Reads::LAST_CHANGE,
    load: |tile, out| {
        let (c, cycle) = (tile.columns, tile.cycle);
        tile.map2(&c.last_change, &c.first, out, move |at, first| age(cycle, at.max(first)));
    },
};
