//! `span_same`: S0 of Cho & Garcia-Molina (2003), irregular visits.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "span_same",
    help: "S0: part of span, from the previous visit to each visit that found no change",
    reads: |_| Reads::FIRST | Reads::CHANGED_CYCLES,
    load: |tile, out| {
        let c = tile.columns;
        tile.map2(&c.first, &c.last, out, |first, last| f64::from(last.saturating_sub(first)));
        for (out, &changed) in out.iter_mut().zip(tile.slice(&c.changed_cycles)) {
            *out -= f64::from(changed);
        }
    },
};
