//! The noise floors of sites: read while pages are compared, and learned from the log at the end of
//! a cycle.

use crate::failure::Failure;
use crate::lessons::cycle_cache::CycleCache;
use recrawl_change::{ChangeRules, NoiseFloor, Tally};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, Difference, Site, Visit};
use std::collections::HashMap;
use std::io;

/// The floors at the start of the cycle.
pub struct SiteNoise<'t> {
    tables: &'t SledTables,
    cache: CycleCache<Site, NoiseFloor>,
}

impl<'t> SiteNoise<'t> {
    /// Reads noise floors from these tables.
    pub fn new(tables: &'t SledTables) -> SiteNoise<'t> {
        SiteNoise { tables, cache: CycleCache::default() }
    }

    /// The floor of a site; the default if nothing was learned yet.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn of(&self, site: &Site) -> io::Result<NoiseFloor> {
        self.cache.get_or_load(site, || load(self.tables, site))
    }

    /// Did the page change, given its site's noise floor? For pages whose record was not available
    /// when they were parsed. If the floor cannot be read, the page is compared without it.
    pub fn judge(&self, rules: &ChangeRules, url: &CanonicalUrl, before: &Content, after: &Content) -> bool {
        let floor = self.of(&Site::of(url)).unwrap_or_else(|error| {
            tracing::warn!(%error, %url, "compared without the site's noise floor");
            NoiseFloor::default()
        });
        rules.changed(before, after, &floor)
    }
}

fn load(tables: &SledTables, site: &Site) -> io::Result<NoiseFloor> {
    match tables.site(site.as_str())? {
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|e| format!("cannot read the noise floor of {site}: {e}"))
            .map_err(|text| io::Error::new(io::ErrorKind::InvalidData, text)),
        None => Ok(NoiseFloor::default()),
    }
}

/// What a cycle shows about the noise of sites, collected from the visit log.
#[derive(Default)]
pub struct NoiseLesson {
    tallies: HashMap<Site, Tally>,
}

impl NoiseLesson {
    /// Adds one visit, if it compared texts.
    pub fn observe(&mut self, visit: &Visit) {
        if let Some(Difference { same_digest, distance, cycles }) = visit.difference {
            let tally = self.tallies.entry(Site::of(&visit.url)).or_default();
            tally.observe(visit.share, cycles, same_digest, distance.into());
        }
    }

    /// The floors after this cycle, by site.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn fold(self, tables: &SledTables) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let folded = |(site, tally): (Site, Tally)| {
            let mut floor = load(tables, &site)?;
            floor.fold(&tally);
            Ok((site.to_string(), serde_json::to_vec(&floor).expect("a noise floor is plain data")))
        };
        self.tallies.into_iter().map(folded).collect()
    }
}
