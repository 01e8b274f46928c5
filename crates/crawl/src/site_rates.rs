//! The change rates of sites, for formulas that use them: one pass over the state columns before
//! the one that scores.
//!
//! A site is a run of pages, since URL order keeps the hosts of a registrable domain together. If
//! other sites lie in the middle of one, the parts before and after them count as two sites. That
//! happens when the public suffix list names a hosting service: its own pages surround those of its
//! customers.

use crate::failure::Failure;
use recrawl_formula::{Priors, RateEvidence, SiteRates};
use recrawl_repository::Generation;
use recrawl_types::{Site, StateColumns};

/// The rates of each site of a generation. Memory: 16 bytes per site, and 24 more while they are read.
#[derive(Debug)]
pub struct SitePriors {
    priors: Priors,
    /// By site, the ordinal after its last page.
    ends: Vec<u64>,
}

impl SitePriors {
    /// Reads them from the generation. `passed` is called with the pages of each block.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn read(generation: &Generation, passed: &dyn Fn(usize)) -> Result<SitePriors, Failure> {
        SitePriors::read_beside(generation, false, passed, |_, _| {})
    }

    /// The same, and passes on each block with the ordinal of its first page, and its keys if asked for.
    ///
    /// # Errors
    /// As of [`SitePriors::read`].
    pub fn read_beside(
        generation: &Generation,
        with_keys: bool,
        passed: &dyn Fn(usize),
        mut each: impl FnMut(u64, &StateColumns),
    ) -> Result<SitePriors, Failure> {
        let mut ends = Vec::with_capacity(generation.summary().origins as usize);
        each_site(generation, |_, end| ends.push(end))?;
        let mut shown = vec![RateEvidence::default(); ends.len()];
        generation.scan(with_keys, |first, columns| -> Result<(), Failure> {
            for (row, site) in runs(&ends, first).take(columns.len()).enumerate() {
                shown[site].add(RateEvidence::of_row(columns, row));
            }
            each(first, columns);
            passed(columns.len());
            Ok(())
        })?;
        Ok(SitePriors { priors: Priors::new(&shown), ends })
    }

    /// Fills the rates of a block whose first page has the ordinal `first`.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) {
        let rows = columns.len();
        self.priors.fill(columns, runs(&self.ends, first).take(rows));
    }

    /// The rate of all pages together, in changes a cycle.
    pub fn global(&self) -> f64 {
        self.priors.global
    }

    /// The rates of the page's site.
    pub fn rates(&self, ordinal: u64) -> SiteRates {
        self.priors.for_site(run_of(&self.ends, ordinal))
    }
}

/// Calls `each` with the sites in order, and the ordinal after the last page of each.
///
/// # Errors
/// When the origins cannot be read.
pub fn each_site(generation: &Generation, mut each: impl FnMut(Site, u64)) -> Result<(), Failure> {
    let (mut runs, mut last) = (generation.origin_runs(), None);
    while let Some(run) = runs.next_run()? {
        let (site, end) = (Site::from_url(&run.home().map_err(Failure::work)?), run.first + run.pages);
        match &mut last {
            Some((before, until)) if *before == site => *until = end,
            _ => {
                if let Some((site, end)) = last.replace((site, end)) {
                    each(site, end);
                }
            }
        }
    }
    if let Some((site, end)) = last {
        each(site, end);
    }
    Ok(())
}

fn run_of(ends: &[u64], ordinal: u64) -> usize {
    ends.partition_point(|&end| end <= ordinal)
}

/// The runs of consecutive pages, the first of which has the ordinal `first`. `ends` has the ordinal after
/// the last page of each run.
pub fn runs(ends: &[u64], first: u64) -> impl Iterator<Item = usize> {
    let mut run = run_of(ends, first);
    (first..).map(move |ordinal| {
        while ends[run] <= ordinal {
            run += 1;
        }
        run
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{CanonicalUrl, Content, Cycle, History, PageRecord, UrlRules, Visited};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    const HOSTS: [&str; 6] = [
        "https://busy.example",
        "http://www.busy.example",
        "https://www.busy.example:8443",
        "http://quiet.example",
        "http://127.0.0.1",
        "http://127.0.0.2",
    ];

    /// 200 pages of each host, every third never visited; those of the first site change.
    fn generation() -> (Repository, BTreeMap<CanonicalUrl, PageRecord>) {
        let mut pages = BTreeMap::new();
        for (host, i) in HOSTS.iter().flat_map(|host| (0..200).map(move |i| (host, i))) {
            let url = UrlRules::keep_all().canonicalize(&format!("{host}/{i}")).unwrap();
            let mut record = PageRecord::discovered(Cycle(1), 1);
            if i % 3 > 0 {
                let mut history = History::first_fetch(Cycle(1 + i % 5));
                (6..8 + i % 7).for_each(|cycle| history.record(Cycle(cycle), host.contains("busy")));
                record.visited = Some(Visited { history, content: Content::default() });
            }
            pages.insert(url, record);
        }
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = recrawl_repository::Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        pages.iter().for_each(|(url, record)| writer.push(url.key(), record).unwrap());
        repository.commit(writer, b"").unwrap();
        (repository, pages)
    }

    #[test]
    fn the_pages_of_a_site_share_a_rate_however_many_hosts_and_blocks_it_has() {
        let (repository, pages) = generation();
        let generation = repository.current();
        let priors = SitePriors::read(&generation, &|_| {}).unwrap();
        // The slow reference: all sites by name, every page by itself.
        let mut shown = BTreeMap::<Site, RateEvidence>::new();
        for (url, record) in &pages {
            let history = record.visited.as_ref().map(|v| v.history);
            shown
                .entry(Site::from_url(url))
                .or_default()
                .add(history.as_ref().map(RateEvidence::from_history).unwrap_or_default());
        }
        assert_eq!(shown.len(), 4);
        let expected = Priors::new(&shown.values().copied().collect::<Vec<_>>());
        let rate =
            |url| expected.for_site(shown.keys().position(|site| *site == Site::from_url(url)).unwrap());
        let urls: Vec<&CanonicalUrl> = pages.keys().collect();
        let mut states = generation.states();
        let mut rows = 0;
        while let Some((first, columns)) = states.next_block().unwrap() {
            priors.fill(first, columns);
            assert_eq!(columns.global_rate, expected.global);
            for row in 0..columns.len() {
                let url = urls[first as usize + row];
                assert_eq!(columns.site_rate[row], rate(url).site, "{url}");
                assert_eq!(priors.rates(first + row as u64), rate(url), "{url}");
            }
            rows += columns.len();
        }
        assert_eq!(rows, pages.len());
        assert!(rows > recrawl_repository::BLOCK_PAGES, "more than one block");
    }
}
