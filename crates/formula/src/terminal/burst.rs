//! `burst`: how many more changes the page's siblings showed than were expected.

use super::{OF_SIBLINGS, Terminal};

pub(super) static TERMINAL: Terminal = Terminal {
    name: "burst",
    help: "changes of the page's siblings since its last visit, beside those expected: (0.5 + changes) / (0.5 + expected)",
    reads: |_| OF_SIBLINGS,
    load: |tile, out| tile.map(&tile.columns.burst, out, |burst| burst),
};
