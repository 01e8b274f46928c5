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

use crate::part::{Forget, Part};

/// All parts. A takedown asks them in this order, which does not matter: no two keep the same row.
pub const PARTS: &[Part] = &[
    Part {
        name: "convert",
        tables: &["convert"],
        page: "rendering",
        forget: Forget::Nothing("it keeps nothing: what it makes is archived with the page"),
    },
    Part { name: "dates", tables: &[], page: "discovery", forget: Forget::Rows(dates::forget) },
    Part {
        name: "deliver",
        tables: &["deliver"],
        page: "delivering",
        forget: Forget::Nothing(
            "what a target holds names the page until the target has confirmed that it is gone",
        ),
    },
    Part {
        name: "focus",
        tables: &["focus"],
        page: "focus",
        forget: Forget::Nothing("explored visits and groups are hashes"),
    },
    Part { name: "improve", tables: &["improve"], page: "improving", forget: Forget::Rows(improve::forget) },
    Part {
        name: "next_change",
        tables: &[],
        page: "formulas",
        forget: Forget::Nothing("the weights are of all pages together"),
    },
    Part {
        name: "noise",
        tables: &["change"],
        page: "change-detection",
        forget: Forget::Rows(noise::forget),
    },
    Part {
        name: "notify",
        tables: &["notify"],
        page: "notifications",
        forget: Forget::Nothing("messages lie beside kept visits, and go with them"),
    },
    Part { name: "pings", tables: &["pings"], page: "pings", forget: Forget::Rows(pings::forget) },
    Part {
        name: "promises",
        tables: &["promises"],
        page: "improving",
        forget: Forget::Nothing("they name what the configuration names"),
    },
    Part {
        name: "render",
        tables: &["render"],
        page: "rendering",
        forget: Forget::Nothing("words are counted by rule of the configuration"),
    },
    Part {
        name: "repeated_links",
        tables: &[],
        page: "discovery",
        forget: Forget::Rows(repeated_links::forget),
    },
    Part {
        name: "requisites",
        tables: &["requisites"],
        page: "requisites",
        forget: Forget::Rows(requisites::forget),
    },
    Part { name: "seed_hosts", tables: &[], page: "manual", forget: Forget::Rows(seed_hosts::forget) },
    Part { name: "traps", tables: &["traps"], page: "traps", forget: Forget::Rows(traps::forget) },
    Part {
        name: "trust",
        tables: &[],
        page: "pings",
        forget: Forget::Nothing("it is kept in the rows of hosts, and goes with them"),
    },
];

#[cfg(test)]
mod tests;
