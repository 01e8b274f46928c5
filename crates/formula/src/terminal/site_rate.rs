//! `site_rate`: the change rate of the page's site.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "site_rate",
    help: "rate of change of the page's site, in changes per cycle, shrunk towards the global rate",
    reads: |_| Reads::SITE_RATE,
    load: |tile, out| tile.map(&tile.columns.site_rate, out, |rate| rate),
};
