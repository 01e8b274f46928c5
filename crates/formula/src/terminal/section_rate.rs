//! `section_rate`: the change rate of the pages around a page.

use super::{SECTION, Terminal};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "section_rate",
    help: "rate of change of the page's section without the page itself, in changes per cycle, shrunk level by level",
    reads: |_| SECTION,
    load: |tile, out| tile.map(&tile.columns.section_rate, out, |rate| rate),
};
