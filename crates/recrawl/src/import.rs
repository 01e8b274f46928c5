//! URLs made known from elsewhere: they enter as seeds do, with a date of modification where there is one, in a
//! commit of their own. So an import is there whole or not at all, and a crawl starts from what others knew.
//!
//! The commit is that of a cycle in which nothing was visited. Memory is bounded as in any cycle: the batch spills.

pub mod lines;

use crate::crawl::{MAX_SEED_SITES, add_seed_sites, check_pinned};
use crate::data_dir;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::plan::Facts;
use crate::reading;
use crate::report::{CycleReport, IMPORT, Tally};
use crate::settings::Settings;
use crate::space::Space;
use recrawl_fetcher::StoppedBy;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, OpenError, Repository, ScheduleFile, SledTables};
use recrawl_types::{CanonicalUrl, Link, LogRecord, Site};
use recrawl_verifier::{Batch, BatchLimits, MergeRules};
use std::collections::BTreeSet;
use std::sync::Arc;

/// URLs put into the batch at a time.
const URLS_A_RECORD: usize = 1000;
/// Dates may be so far ahead of our clock, in seconds; one further ahead is no date.
const MAX_AHEAD: u64 = 24 * 3600;

/// An import under way. Nothing counts before [`Import::commit`].
pub struct Import {
    settings: Settings,
    repository: Repository,
    tables: SledTables,
    batch: Batch,
    space: Space,
    held: Vec<Link>,
    /// Of the addresses taken.
    bytes: u64,
    /// Where no host is configured, the sites of what is imported belong to the crawl from now on.
    sites: BTreeSet<String>,
    started: u64,
    /// What was offered.
    pub counts: Counts,
}

/// What is wrong with an address, if something is.
pub type Offered = Result<(), String>;

/// What came of the URLs that were offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Taken, those that come twice each time.
    pub taken: u64,
    /// Of these, with a date.
    pub dated: u64,
    /// Dates left out, since they are in the future.
    pub ahead: u64,
    /// Left out, since they do not belong to the crawl.
    pub out_of_scope: u64,
}

/// Why the crawl cannot be had; beside a daemon, what can be done at once.
fn in_the_way(error: OpenError) -> Failure {
    match error {
        OpenError::InUse(_) => Failure::Work(format!(
            "{error}; or give single URLs to the console of `recrawl serve` as seeds: `POST /api/v1/seeds`"
        )),
        other => Failure::work(other),
    }
}

impl Import {
    /// Opens the crawl, or begins one. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the configuration is not the one that the crawl was begun with, a cycle is
    /// in progress, or the directory holds no crawl but something else; [`Failure::Work`] when the data directory is in use, or cannot be read.
    pub fn open(mut settings: Settings, now: u64) -> Result<Import, Failure> {
        data_dir::check_ours(&settings)?;
        let folder = settings.data_dir.clone();
        let storage: Arc<dyn Storage> = Arc::new(
            FileStorage::create(&folder)
                .map_err(|e| Failure::Work(format!("data directory {}: {e}", folder.display())))?,
        );
        let repository = Repository::open(storage.clone()).map_err(in_the_way)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        let tables = reading::own_tables(&folder, recrawl_repository::sync_files())?;
        check_pinned(&tables, &settings)?;
        let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
        settings.scope.refuse_taken_down(decided.taken_down);
        let cycle = repository.current().number().next();
        if ScheduleFile::open(&*storage, cycle).map_err(Failure::work)?.is_some() {
            let text = format!(
                "data directory {}: cycle {cycle} is in progress; let `recrawl crawl --cycles 1` finish it first",
                folder.display()
            );
            return Err(Failure::Usage(text));
        }
        let limits = BatchLimits { memory_bytes: settings.config.storage.batch_memory.0 as usize };
        // With those that belong to the crawl already: too many are told before the work, not after it.
        let sites = add_seed_sites(&tables, [])?;
        if settings.config.scope.hosts.is_empty() {
            settings.scope.admit_sites(sites.iter().cloned());
        }
        let space = Space::of(&storage, settings.config.storage.reserve);
        let batch = Batch::new(storage, cycle, limits);
        let (held, bytes, counts) = Default::default();
        Ok(Import { settings, repository, tables, batch, space, held, bytes, sites, started: now, counts })
    }

    /// Offers an address with its date in seconds since 1970, 0 for none. What the scope refuses is left out.
    ///
    /// # Errors
    /// Inside, what is wrong with the address; outside, when the disk takes no more, or the sites are too many.
    pub fn offer(&mut self, address: &str, lastmod: u32) -> Result<Offered, Failure> {
        let url = match self.settings.rules.canonicalize(address) {
            Ok(url) => url,
            Err(error) => return Ok(Err(error.to_string())),
        };
        self.admit_site(&url)?;
        if self.settings.scope.refuse(&url).is_some() {
            self.counts.out_of_scope += 1;
            return Ok(Ok(()));
        }
        let is_ahead = u64::from(lastmod) > self.started / 1000 + MAX_AHEAD;
        let lastmod = if is_ahead { 0 } else { lastmod };
        self.counts.taken += 1;
        self.counts.dated += u64::from(lastmod > 0);
        self.counts.ahead += u64::from(is_ahead);
        self.bytes += url.key().len() as u64;
        self.held.push(Link { lastmod, ..Link::to(url, 0) });
        if self.held.len() == URLS_A_RECORD { self.enter() } else { Ok(()) }.map(Ok)
    }

    fn admit_site(&mut self, url: &CanonicalUrl) -> Result<(), Failure> {
        if !self.settings.config.scope.hosts.is_empty() {
            return Ok(());
        }
        let site = Site::of(url).to_string();
        if self.sites.contains(&site) {
            return Ok(());
        }
        if self.sites.len() == MAX_SEED_SITES {
            let text = format!(
                "URLs of more than {MAX_SEED_SITES} sites: say in scope.hosts what belongs to the crawl"
            );
            return Err(Failure::Usage(text));
        }
        self.settings.scope.admit_sites([site.clone()]);
        self.sites.insert(site);
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Failure> {
        let links = std::mem::take(&mut self.held);
        self.batch.add(LogRecord::Seeds(links)).map_err(Failure::work)
    }

    /// Merges what was taken and commits it. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// When the repository cannot be read or written. Nothing is imported then.
    pub fn commit(mut self, now: u64) -> Result<CycleReport, Failure> {
        self.enter()?;
        let generation = self.repository.current();
        let cycle = generation.number().next();
        self.space.check_merge(&generation, self.bytes)?;
        let batch = self.batch.finish().map_err(Failure::work)?;
        let mut next = self.repository.begin(&generation).map_err(Failure::work)?;
        let rules = MergeRules {
            cycle,
            max_hops: self.settings.max_hops(),
            max_pages_per_host: self.settings.config.scope.max_pages_per_host,
            waiting: self.settings.waiting(),
            block_pages: BLOCK_PAGES,
            threads: 1,
            // Nothing was visited: there is nothing to compare.
            judge: &|_, _, _| false,
            watch: &|_, _, _| {},
            meet: &|_, _| {},
            passed: &|_| {},
        };
        let merged = recrawl_verifier::merge(&generation, batch, &mut next, &rules).map_err(Failure::work)?;
        let facts = Facts {
            cycle,
            started: self.started,
            formula: IMPORT.into(),
            formula_toml: None,
            cutoff: None,
            scheduled: 0,
            random_seed: 0,
            by_score: None,
            audit_eligible: None,
            rules: 0,
        };
        let report = CycleReport {
            stopped_by: IMPORT.into(),
            ..CycleReport::new(&facts, Tally::default(), &merged, StoppedBy::End, now)
        };
        // Before the commit: a site too much in the scope does no harm, and a page outside of it would back off.
        add_seed_sites(&self.tables, self.sites)?;
        self.tables.flush()?;
        self.repository.commit(next, &report.to_json()).map_err(Failure::work)?;
        Ok(report)
    }
}
