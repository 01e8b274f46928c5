//! `t`: cycles since the last visit.

use super::{Terminal, age};
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "t",
    help: "cycles since the last visit",
    reads: |_| Reads::LAST,
    load: |tile, out| {
        let cycle = tile.cycle;
        tile.map(&tile.columns.last, out, move |last| age(cycle, last));
    },
};
