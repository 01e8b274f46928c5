//! `n`: compared visits.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "n",
    help: "visits that could be compared with an earlier one (excludes the first fetch)",
    reads: |_| Reads::VISITS,
    load: |tile, out| tile.map(&tile.columns.visits, out, f64::from),
};
