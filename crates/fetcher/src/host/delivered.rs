//! Pages that a host has delivered in a run, by origin.

use recrawl_types::{Origin, Scheme};

/// The pages. A name mostly has one origin, and rarely more than two.
#[derive(Debug, Default)]
pub struct Delivered(Vec<(Scheme, u16, u64)>);

impl Delivered {
    /// Counts pages of an origin of this host.
    pub fn add(&mut self, origin: &Origin, pages: u64) {
        match self.0.iter_mut().find(|(scheme, port, _)| (*scheme, *port) == (origin.scheme, origin.port)) {
            Some((.., sum)) => *sum += pages,
            None if pages > 0 => self.0.push((origin.scheme, origin.port, pages)),
            None => {}
        }
    }

    /// Pages of all origins.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(.., pages)| pages).sum()
    }

    /// The origins of the host with this name, and the pages of each.
    pub fn by_origin(&self, host: &str) -> impl Iterator<Item = (Origin, u64)> {
        self.0.iter().map(move |&(scheme, port, pages)| (Origin { scheme, host: host.into(), port }, pages))
    }
}
