//! The noise floors of sites: read while pages are compared, and learned from the log at the end of
//! a cycle.
//!
//! A floor judges only pages of which nobody said what counts: neither a rule (`[[pages]]`) nor a target of
//! changes (`[[notify]]`). Nor does it judge a page that has no noise of its own.

use crate::cycle_cache::CycleCache;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::parts::noise::page::NoiseRules;
use recrawl_change::noise::remember;
use recrawl_change::{Compared, LastComparisons, NoiseFloor, NoiseTally};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, ContentDifference, DatedRound, Site, Visit, Visited};
use std::collections::HashMap;
use std::io;

/// The floors at the start of the cycle.
pub struct SiteNoise<'t> {
    tables: &'t SledTables,
    rules: NoiseRules<'t>,
    cache: CycleCache<Site, NoiseFloor>,
}

impl<'t> SiteNoise<'t> {
    /// Reads noise floors from these tables.
    pub fn new(tables: &'t SledTables, rules: NoiseRules<'t>) -> SiteNoise<'t> {
        SiteNoise { tables, rules, cache: CycleCache::default() }
    }

    /// The floor of a site; the default if nothing was learned yet.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn floor(&self, site: &Site) -> io::Result<NoiseFloor> {
        self.cache.get_or_load(site, || floor_of(self.tables, site))
    }

    /// Compares a page with its last visit. The content remembers a difference within noise.
    ///
    /// # Errors
    /// When the floor cannot be read.
    pub fn compare(&self, url: &CanonicalUrl, before: &Visited, after: &Content) -> io::Result<Compared> {
        let rules = self.rules.change;
        if !rules.changed(&before.content, after, &NoiseFloor::default()) {
            return Ok(Compared::Equal);
        }
        let is_judged =
            !LastComparisons::from_visited(before).are_quiet() && self.rules.why_exact(url).is_none();
        let is_change =
            !is_judged || rules.changed(&before.content, after, &self.floor(&Site::from_url(url))?);
        Ok(if is_change { Compared::Changed } else { Compared::WithinNoise })
    }

    /// The same for pages whose record was not available when they were parsed. If the floor cannot be
    /// read, the page is compared without it.
    pub fn judge(&self, url: &CanonicalUrl, before: &Visited, after: &mut Content) -> bool {
        let found = self.compare(url, before, after).unwrap_or_else(|error| {
            tracing::warn!(%error, %url, "compared without the site's noise floor");
            Compared::Changed
        });
        after.within_noise = remember(before.content.within_noise, found);
        found == Compared::Changed
    }
}

/// The noise floor of a site, as learned so far.
///
/// # Errors
/// When it cannot be read.
pub fn floor_of(tables: &SledTables, site: &Site) -> io::Result<NoiseFloor> {
    match tables.site(site.as_str())? {
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|e| format!("cannot read the noise floor of {site}: {e}"))
            .map_err(|text| io::Error::new(io::ErrorKind::InvalidData, text)),
        None => Ok(NoiseFloor::default()),
    }
}

/// Evidence of a cycle about the noise of sites, collected from the visit log.
#[derive(Default)]
pub struct NoiseLesson {
    tallies: HashMap<Site, NoiseTally>,
}

impl RoundLesson for NoiseLesson {
    fn visited(&mut self, visit: &Visit) {
        if let Some(ContentDifference { same_digest, distance, cycles }) = visit.difference {
            let tally = self.tallies.entry(Site::from_url(&visit.url)).or_default();
            tally.observe(visit.share, cycles, same_digest, distance.into());
        }
    }

    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
        let folded = |(site, tally): (Site, NoiseTally)| -> io::Result<(String, Vec<u8>)> {
            let mut floor = floor_of(tables, &site)?;
            floor.fold(&tally);
            Ok((site.to_string(), serde_json::to_vec(&floor).expect("a noise floor is plain data")))
        };
        let floors: Vec<_> =
            std::mem::take(&mut self.tallies).into_iter().map(folded).collect::<Result<_, _>>()?;
        Ok(tables.apply_round(round.round, floors)?)
    }
}
