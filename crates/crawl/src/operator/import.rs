//! Imports URLs as seeds, with their modification dates if known, in a commit of their own. So an
//! import is stored completely or not at all, and a crawl starts from the knowledge of others.
//!
//! It commits like a cycle without visits. Memory is bounded as in any cycle: the batch spills.

pub mod lines;

use crate::admission::decisions::Decisions;
use crate::data_dir;
use crate::data_dir::check_pinned;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::open_read;
use crate::operator::stopped::in_the_way;
use crate::parts::repeated_links::DroppedLinks;
use crate::report::{IMPORT, RoundReport};
use crate::settings::{Settings, ranking};
use crate::space::Space;
use crate::stored::{MAX_SEED_SITES, add_seed_sites};
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository, ScheduleFile, SledTables};
use recrawl_types::{CanonicalUrl, Link, LogRecord, Site};
use recrawl_verifier::{Batch, BatchLimits, MergeRules};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// URLs added to the batch at a time.
const URLS_A_RECORD: usize = 1000;
/// Seconds that a date may be ahead of our clock; later dates are ignored.
const MAX_AHEAD: u64 = 24 * 3600;

/// A running import. Nothing is stored before [`Import::commit`].
pub struct Import {
    settings: Settings,
    repository: Repository,
    tables: SledTables,
    batch: Batch,
    space: Space,
    held: Vec<Link>,
    /// Bytes of the accepted URLs.
    bytes: u64,
    /// If no hosts are configured, the sites of imported URLs join the scope.
    sites: BTreeSet<String>,
    /// Of these, the sites that were not in scope before.
    pub joining: Vec<String>,
    started: u64,
    /// Counts of the lines by what became of them.
    pub counts: ImportCounts,
}

/// The complaint about an offered URL, if there is any.
pub type Offered = Result<(), String>;

/// Counts of the offered URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ImportCounts {
    /// Accepted, duplicates included.
    pub taken: u64,
    /// Of these, with a date.
    pub dated: u64,
    /// Dates ignored, since they are in the future.
    pub ahead: u64,
    /// Skipped, since they are out of scope.
    pub out_of_scope: u64,
}

impl Import {
    /// Opens or creates the crawl. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the configuration differs from the one of the crawl, a cycle is in
    /// progress, or the directory holds something else than a crawl; [`Failure::Work`] when the
    /// data directory is in use, or cannot be read.
    pub fn open(mut settings: Settings, now: u64) -> Result<Import, Failure> {
        data_dir::check_ours(&settings)?;
        let folder = settings.data_dir.clone();
        let storage: Arc<dyn Storage> =
            Arc::new(FileStorage::create(&folder).map_err(|e| {
                Failure::Work(format!("cannot open data directory {}: {e}", folder.display()))
            })?);
        let repository = Repository::open(storage.clone()).map_err(in_the_way)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        ranking::begin(&folder, repository.current().number())?;
        let tables = open_read::own_tables(&folder, recrawl_repository::sync_files())?;
        check_pinned(&tables, &settings)?;
        // A page that was taken down does not come back by an import.
        let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
        settings.scope.refuse_taken_down(decided.taken_down);
        let round = repository.current().dated().in_next_cycle();
        // The round in progress has the number that this commit would take: its log and schedule would be
        // removed.
        if ScheduleFile::open(&*storage, round.round).map_err(Failure::work)?.is_some() {
            let text = format!(
                "data directory {}: round {} is in progress; \
                 finish it with `recrawl crawl --rounds 1` first",
                folder.display(),
                round.round
            );
            return Err(Failure::Usage(text));
        }
        let limits = BatchLimits { memory_bytes: settings.config.storage.batch_memory.0 as usize };
        // Include the sites already in scope, so that too many are reported before the work.
        let sites = add_seed_sites(&tables, [])?;
        if settings.config.scope.hosts.is_empty() {
            settings.scope.admit_sites(sites.iter().cloned());
        }
        let space = Space::new(&storage, settings.config.storage.reserve);
        let batch = Batch::new(storage, round, limits);
        let (held, bytes, joining, counts) = Default::default();
        Ok(Import {
            settings,
            repository,
            tables,
            batch,
            space,
            held,
            bytes,
            sites,
            joining,
            started: now,
            counts,
        })
    }

    /// Offers a URL with its date in seconds since 1970, 0 for none. URLs out of scope are skipped.
    ///
    /// # Errors
    /// Inner: what is wrong with the URL. Outer: when the disk is full, or there are too many
    /// sites.
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
        let site = Site::from_url(url).to_string();
        if self.sites.contains(&site) {
            return Ok(());
        }
        if self.sites.len() == MAX_SEED_SITES {
            let text = format!("URLs on more than {MAX_SEED_SITES} sites; set scope.hosts instead");
            return Err(Failure::Usage(text));
        }
        self.settings.scope.admit_sites([site.clone()]);
        self.joining.push(site.clone());
        self.sites.insert(site);
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Failure> {
        let links = std::mem::take(&mut self.held);
        self.batch.add(LogRecord::Seeds(links)).map_err(Failure::work)
    }

    /// Merges and commits the accepted URLs. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// When the repository cannot be read or written. Nothing is imported then.
    pub fn commit(mut self, now: u64) -> Result<RoundReport, Failure> {
        self.enter()?;
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        self.space.check_merge(&generation, self.bytes, 0)?;
        let batch = self.batch.finish().map_err(Failure::work)?;
        let mut next = self.repository.begin(&generation, cycle).map_err(Failure::work)?;
        let dropped = RefCell::new(DroppedLinks::default());
        let rules = MergeRules {
            max_hops: self.settings.max_hops(),
            max_pages_per_host: self.settings.config.scope.max_pages_per_host,
            waiting: self.settings.waiting(),
            block_pages: BLOCK_PAGES,
            threads: 1,
            // Links may have waited.
            on_dropped: &|key, is_linked| dropped.borrow_mut().dropped(key, is_linked),
            // Nothing was visited, so nothing is compared.
            ..MergeRules::unlimited(cycle, &|_, _, _| false)
        };
        let merged = recrawl_verifier::merge(&generation, batch, &mut next, &rules).map_err(Failure::work)?;
        let report = RoundReport::without_visits(IMPORT, round, self.started, &merged, now);
        // Before the commit: a needless site in scope does no harm, but an imported page out of
        // scope would back off.
        add_seed_sites(&self.tables, self.sites)?;
        dropped.into_inner().store(&self.tables, round)?;
        self.tables.flush()?;
        self.repository.commit(next, &report.to_json()).map_err(Failure::work)?;
        Ok(report)
    }
}
