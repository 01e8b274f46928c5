//! Pages that a host has delivered in a run, by origin.

use crate::run::control::MAX_ORIGINS;
use recrawl_types::{Origin, Scheme};

/// The pages. A name mostly has one origin; a page may link to each port of it.
#[derive(Debug, Default)]
pub struct Delivered {
    all: u64,
    of: Vec<(Scheme, u16, u64)>,
}

impl Delivered {
    /// Counts pages of the origin of this host with this scheme and port.
    pub fn add(&mut self, scheme: Scheme, port: u16, pages: u64) {
        self.all += pages;
        let has_room = pages > 0 && self.of.len() < MAX_ORIGINS;
        match self.of.iter_mut().find(|(of, at, _)| (*of, *at) == (scheme, port)) {
            Some((.., sum)) => *sum += pages,
            None if has_room => self.of.push((scheme, port, pages)),
            None => {}
        }
    }

    /// Pages of all origins.
    pub fn total(&self) -> u64 {
        self.all
    }

    /// The first origins of the host with this name, and the pages of each.
    pub fn by_origin(&self, host: &str) -> impl Iterator<Item = (Origin, u64)> {
        self.of.iter().map(move |&(scheme, port, pages)| (Origin { scheme, host: host.into(), port }, pages))
    }
}
