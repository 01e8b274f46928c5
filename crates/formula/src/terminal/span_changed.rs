//! `span_changed`: S1 of Cho & Garcia-Molina (2003), irregular visits.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "span_changed",
    help: "S1: part of span, from the previous visit to each visit that found a change",
    reads: |_| Reads::CHANGED_CYCLES,
    load: |tile, out| tile.map(&tile.columns.changed_cycles, out, f64::from),
};
