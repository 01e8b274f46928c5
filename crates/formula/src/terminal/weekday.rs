//! `weekday`: how often the page changes on this day of the week.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "weekday",
    help: "share of the seen changes a multiple of 7 cycles ago: (those + 1) / (X + 7)",
    reads: |_| Reads::CHANGES | Reads::WEEKDAYS,
    load: |tile, out| {
        let c = tile.columns;
        let today = &c.weekdays[tile.cycle.0 as usize % 7];
        tile.map2(today, &c.changes, out, |on, x| (f64::from(on) + 1.0) / (f64::from(x) + 7.0));
    },
};
