//! Dates in sitemaps and feeds: what a cycle shows about their accuracy, and which hosts' dates are used. And
//! the trust in pings, by the same rule.

use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::part::{InTables, Takedown};
use recrawl_repository::{Generation, OriginRuns, OriginTable, SledTables};
use recrawl_types::{CanonicalUrl, DatedRound, LastmodCounts, Origin, StateColumns};
use std::collections::BTreeMap;

/// Counts of a cycle by origin, a small entry for each whose pages have dates. Collected while
/// records are merged.
#[derive(Default)]
pub struct LastmodLesson {
    counts: BTreeMap<Origin, LastmodCounts>,
}

impl RoundLesson for LastmodLesson {
    fn compared(&mut self, url: &CanonicalUrl, is_newer: Option<bool>, is_changed: bool) {
        if let Some(is_newer) = is_newer {
            self.counts.entry(Origin::from_url(url)).or_default().observe(is_newer, is_changed);
        }
    }

    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
        Ok(tables.apply_lastmods(round.round, std::mem::take(&mut self.counts))?)
    }
}

/// Removes what a takedown means from the tables, or only counts it.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    removed.dates += takedown.rows(OriginTable::Dates)?;
    Ok(())
}

/// Tests which pages' dates are trusted, in the order of a pass. Each origin is looked up at most
/// once, and only if a date has moved.
pub struct TrustedDates<'p> {
    tables: &'p SledTables,
    origins: OriginRuns,
    min_trust: f64,
    /// Pages that pings announce, in order.
    pinged: &'p [u64],
    /// The ordinal after the last page of the origin looked up last, and whether it is trusted.
    last: (u64, bool),
}

impl<'p> TrustedDates<'p> {
    /// Reads the trust of each origin from the tables. `pinged`: the pages that trusted pings announce, in
    /// order.
    pub fn new(
        tables: &'p SledTables,
        generation: &Generation,
        min_trust: f64,
        pinged: &'p [u64],
    ) -> TrustedDates<'p> {
        TrustedDates { tables, origins: generation.origin_runs(), min_trust, pinged, last: (0, false) }
    }

    /// Drops the announcements of pages whose dates are not trusted, and adds those by pings. `first` is the
    /// ordinal of the first page.
    ///
    /// # Errors
    /// When the origins or the tables cannot be read.
    pub fn keep_trusted(&mut self, first: u64, columns: &mut StateColumns) -> Result<(), Failure> {
        for (ordinal, known) in (first..).zip(&mut columns.known) {
            if known.is_announced {
                known.is_announced = self.is_trusted(ordinal)?;
            }
        }
        let end = first + columns.known.len() as u64;
        let [from, to] = [first, end].map(|at| self.pinged.partition_point(|ordinal| *ordinal < at));
        for ordinal in &self.pinged[from..to] {
            columns.known[(ordinal - first) as usize].is_announced = true;
        }
        Ok(())
    }

    fn is_trusted(&mut self, ordinal: u64) -> Result<bool, Failure> {
        if ordinal >= self.last.0 {
            let Some(run) = self.origins.of_page(ordinal)? else { return Ok(false) };
            let is_trusted = match run.home().ok() {
                Some(home) => self.tables.lastmods(&Origin::from_url(&home))?.is_trusted(self.min_trust),
                None => false,
            };
            self.last = (run.first + run.pages, is_trusted);
        }
        Ok(self.last.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Cycle, Known, PageRecord, UrlRules};
    use std::sync::Arc;

    #[test]
    fn only_announcements_of_trusted_origins_stand() {
        let tables = SledTables::temporary().unwrap();
        let homes = ["https://honest.example/", "https://liar.example/", "https://new.example/"];
        let homes = homes.map(|text| UrlRules::default().canonicalize(text).unwrap());
        let mut lesson = LastmodLesson::default();
        for _ in 0..20 {
            for (newer, changed) in [(true, true), (false, false)] {
                lesson.compared(&homes[0], Some(newer), changed);
                lesson.compared(&homes[1], Some(newer), !changed);
            }
        }
        lesson.store(&tables, DatedRound::only_of(Cycle(1))).unwrap();
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        for page in homes.iter().flat_map(|home| [home.clone(), home.at_origin("/page")]) {
            writer.push(page.key(), &PageRecord::discovered(Cycle(1), 1)).unwrap();
        }
        repository.commit(writer, b"").unwrap();
        let generation = repository.current();
        let kept = |min_trust: f64, pinged: &[u64]| {
            let mut columns = StateColumns::default();
            // The pass begins at the second page; the last page is not announced.
            for is_announced in [true, true, true, true, false] {
                columns.push(Known { is_announced, ..Known::default() }, None);
            }
            TrustedDates::new(&tables, &generation, min_trust, pinged).keep_trusted(1, &mut columns).unwrap();
            columns.known.iter().map(|k| k.is_announced).collect::<Vec<_>>()
        };
        assert_eq!(kept(0.5, &[]), [true, false, false, false, false]);
        assert_eq!(kept(0.99, &[]), [false; 5]);
        assert_eq!(kept(0.99, &[0, 2, 5, 6]), [false, true, false, false, true], "pinged");
        assert_eq!(kept(0.0, &[]), [true, true, true, false, false], "of the third, nothing is known");
    }
}
