//! `X`: visits that found a change.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "X",
    help: "visits of n that found a change",
    reads: |_| Reads::CHANGES,
    load: |tile, out| tile.map(&tile.columns.changes, out, f64::from),
};
