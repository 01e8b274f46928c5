//! The parts of a crawl: each capability has a folder or file here, and one line in [`PARTS`].

pub mod convert;
pub mod dates;
pub mod deliver;
pub mod focus;
pub mod improve;
pub mod next_change;
pub mod noise;
pub mod notify;
pub mod pings;
pub mod promises;
pub mod render;
pub mod repeated_links;
pub mod requisites;
pub mod seed_hosts;
pub mod traps;
pub mod trust;

use crate::part::{CrawlPart, Forget};

/// All parts. A takedown asks them in this order, which does not matter: no two keep the same row.
pub const PARTS: &[CrawlPart] = &[
    CrawlPart {
        name: "convert",
        tables: &["convert"],
        page: "rendering",
        explained: &[],
        forget: Forget::Nothing("it keeps nothing: what it makes is archived with the page"),
    },
    CrawlPart {
        name: "dates",
        tables: &[],
        page: "discovery",
        explained: &["announced", "lastmod_trust"],
        forget: Forget::Rows(dates::forget),
    },
    CrawlPart {
        name: "deliver",
        tables: &["deliver"],
        page: "delivering",
        explained: &[],
        forget: Forget::Nothing(
            "what a target holds names the page until the target has confirmed that it is gone",
        ),
    },
    CrawlPart {
        name: "focus",
        tables: &["focus"],
        page: "focus",
        explained: &["focus"],
        forget: Forget::Nothing("explored visits and groups are hashes"),
    },
    CrawlPart {
        name: "improve",
        tables: &["improve"],
        page: "improving",
        explained: &[],
        forget: Forget::Rows(improve::forget),
    },
    CrawlPart {
        name: "next_change",
        tables: &[],
        page: "formulas",
        explained: &[],
        forget: Forget::Nothing("the weights are of all pages together"),
    },
    CrawlPart {
        name: "noise",
        tables: &["change"],
        page: "change-detection",
        explained: &["noise"],
        forget: Forget::Rows(noise::forget),
    },
    CrawlPart {
        name: "notify",
        tables: &["notify"],
        page: "notifications",
        explained: &[],
        forget: Forget::Nothing("messages lie beside kept visits, and go with them"),
    },
    CrawlPart {
        name: "pings",
        tables: &["pings"],
        page: "pings",
        explained: &["pings", "ping_trust"],
        forget: Forget::Rows(pings::forget),
    },
    CrawlPart {
        name: "promises",
        tables: &["promises"],
        page: "improving",
        explained: &[],
        forget: Forget::Nothing("they name what the configuration names"),
    },
    CrawlPart {
        name: "render",
        tables: &["render"],
        page: "rendering",
        explained: &[],
        forget: Forget::Nothing("words are counted by rule of the configuration"),
    },
    CrawlPart {
        name: "repeated_links",
        tables: &[],
        page: "discovery",
        explained: &[],
        forget: Forget::Rows(repeated_links::forget),
    },
    CrawlPart {
        name: "requisites",
        tables: &["requisites"],
        page: "requisites",
        explained: &[],
        forget: Forget::Rows(requisites::forget),
    },
    CrawlPart {
        name: "seed_hosts",
        tables: &[],
        page: "manual",
        explained: &[],
        forget: Forget::Rows(seed_hosts::forget),
    },
    CrawlPart {
        name: "traps",
        tables: &["traps"],
        page: "traps",
        explained: &["trap"],
        forget: Forget::Rows(traps::forget),
    },
    CrawlPart {
        name: "trust",
        tables: &[],
        page: "pings",
        explained: &["validators"],
        forget: Forget::Nothing("it is kept in the rows of hosts, and goes with them"),
    },
];

#[cfg(test)]
mod tests;
