//! `t`: cycles since the last visit.

use super::Terminal;
use recrawl_types::{Cycle, Reads};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "t",
    help: "cycles since the last visit",
    reads: |_| Reads::LAST,
    load: |tile, out| tile.map(&tile.columns.last, out, |last| age(tile.cycle, last)),
};

/// Cycles from the last visit to `cycle`; 0 when a damaged record claims a later one.
pub(super) fn age(cycle: Cycle, last: u32) -> f64 {
    f64::from(cycle.since(Cycle(last)))
}
