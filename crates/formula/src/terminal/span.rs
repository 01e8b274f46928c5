//! `span`: time since the first fetch, up to the last visit.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "span",
    help: "cycles from the first fetch to the last visit",
    reads: |_| Reads::FIRST,
    load: |tile, out| {
        tile.map2(&tile.columns.first, &tile.columns.last, out, |first, last| {
            f64::from(last.saturating_sub(first))
        })
    },
};
