//! `global_rate`: the change rate of all pages.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "global_rate",
    help: "rate of change of all pages, in changes per cycle",
    reads: |_| Reads::GLOBAL_RATE,
    load: |tile, out| out.fill(tile.columns.global_rate),
};
