//! `X`: visits that met a change.

use super::Terminal;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "X",
    help: "how many of the n visits met a change",
    load: |tile, out| tile.map(&tile.columns.changes, out, f64::from),
};
