//! `signals`: signals of a change since the last visit.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "signals",
    help: "signals of a change since the last visit, at most 255",
    reads: |_| Reads::SIGNALS,
    load: |tile, out| {
        let signals = &tile.columns.signals;
        if signals.is_empty() {
            return out.fill(0.0);
        }
        tile.map(signals, out, f64::from);
    },
};
