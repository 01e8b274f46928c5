//! `importance`: as how many ordinary pages the page counts.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "importance",
    help: "importance of the page by [[pages]], 0 to 1000; 1 without",
    reads: |_| Reads::IMPORTANCE,
    load: |tile, out| {
        let importance = &tile.columns.importance;
        if importance.is_empty() {
            return out.fill(1.0);
        }
        tile.map(importance, out, |importance| importance);
    },
};
