//! The noise floors of sites: read while pages are compared, learned from the log when a cycle ends.

use crate::cycle_cache::CycleCache;
use crate::failure::Failure;
use recrawl_change::{ChangeRules, NoiseFloor, Tally};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, Difference, Site, Visit};
use std::collections::HashMap;
use std::io;

/// The floors as they were when the cycle began.
pub struct SiteNoise<'t> {
    tables: &'t SledTables,
    cache: CycleCache<Site, NoiseFloor>,
}

impl<'t> SiteNoise<'t> {
    /// Floors kept in these tables.
    pub fn new(tables: &'t SledTables) -> SiteNoise<'t> {
        SiteNoise { tables, cache: CycleCache::default() }
    }

    /// The floor of a site; a fresh one where nothing was learned yet.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn of(&self, site: &Site) -> io::Result<NoiseFloor> {
        self.cache.get_or_load(site, || load(self.tables, site))
    }

    /// Did the page change, by its site's floor? For pages whose record was not at hand when they were
    /// read. Where the floor cannot be had the page is judged without one.
    pub fn judge(&self, rules: &ChangeRules, url: &CanonicalUrl, before: &Content, after: &Content) -> bool {
        let floor = self.of(&Site::of(url)).unwrap_or_else(|error| {
            tracing::warn!(%error, %url, "judged without its site's noise floor");
            NoiseFloor::default()
        });
        rules.changed(before, after, &floor)
    }
}

fn load(tables: &SledTables, site: &Site) -> io::Result<NoiseFloor> {
    match tables.site(site.as_str())? {
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("noise floor of {site}: {e}"))),
        None => Ok(NoiseFloor::default()),
    }
}

/// What a cycle teaches about its sites, gathered from the visit log.
#[derive(Default)]
pub struct NoiseLesson {
    tallies: HashMap<Site, Tally>,
}

impl NoiseLesson {
    /// Takes in one visit, if it compared texts.
    pub fn observe(&mut self, visit: &Visit) {
        if let Some(Difference { same_digest, distance, cycles }) = visit.difference {
            let tally = self.tallies.entry(Site::of(&visit.url)).or_default();
            tally.observe(visit.share, cycles, same_digest, distance.into());
        }
    }

    /// The floors with this cycle folded in, by site.
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
