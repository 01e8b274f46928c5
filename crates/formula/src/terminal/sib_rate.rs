//! `sib_rate`: the change rate of the page's siblings.

use super::{OF_SIBLINGS, Terminal};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "sib_rate",
    help: "rate of change of the page's siblings, in changes per cycle, shrunk towards the site's rate",
    reads: |_| OF_SIBLINGS,
    load: |tile, out| tile.map(&tile.columns.sibling_rate, out, |rate| rate),
};
