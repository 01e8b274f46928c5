//! `in_links_rank`: how many pages have fewer links to them.

use super::Terminal;
use crate::in_links::InLinkRanks;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "in_links_rank",
    help: "share of the visited pages with fewer links to them, and half of those with as many; 0.5 in a replay",
    reads: |_| Reads::IN_LINKS,
    load: |tile, out| {
        let ranks = &tile.columns.in_links_rank;
        if ranks.is_empty() {
            return out.fill(InLinkRanks::UNKNOWN);
        }
        tile.map(ranks, out, |rank| rank);
    },
};
