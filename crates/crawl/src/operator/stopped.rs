//! A crawl that no process runs, opened to be changed. This process holds its lock.

use crate::admission::decisions::Decisions;
use crate::data_dir::{check_ours, check_pinned};
use crate::failure::Failure;
use crate::open_read;
use crate::operator::control::Control;
use crate::settings::{Settings, ranking};
use recrawl_fetcher::RunControl;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{OpenError, Repository, SledTables};
use std::sync::Arc;

/// The parts of a stopped crawl.
pub struct StoppedCrawl {
    /// The data directory.
    pub storage: Arc<dyn Storage>,
    /// Holds the lock.
    pub repository: Repository,
    /// Hosts, sites and settings.
    pub tables: SledTables,
    /// Pauses, blocks and takedowns.
    pub decided: Decisions,
}

impl StoppedCrawl {
    /// Opens the crawl of a data directory.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no crawl, or its pinned settings differ; [`Failure::Work`] when it is in use, or
    /// something cannot be read.
    pub fn open(settings: &Settings) -> Result<StoppedCrawl, Failure> {
        let folder = &settings.data_dir;
        let in_folder = |e: std::io::Error| crate::data_dir::cannot_open(folder, &e);
        let storage = FileStorage::existing(folder).map_err(in_folder)?;
        if !folder.join("MANIFEST").exists() {
            return Err(crate::data_dir::no_crawl(folder));
        }
        StoppedCrawl::over(storage, settings)
    }

    /// The same; a new data directory is created.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the directory holds something else than a crawl; else as [`StoppedCrawl::open`].
    pub fn begin(settings: &Settings) -> Result<StoppedCrawl, Failure> {
        let folder = &settings.data_dir;
        check_ours(settings)?;
        let storage = FileStorage::create(folder)
            .map_err(|e| Failure::Work(format!("cannot create data directory {}: {e}", folder.display())))?;
        StoppedCrawl::over(storage, settings)
    }

    fn over(storage: FileStorage, settings: &Settings) -> Result<StoppedCrawl, Failure> {
        let folder = &settings.data_dir;
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let repository = Repository::open(storage.clone()).map_err(in_the_way)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        ranking::begin(folder, repository.current().number())?;
        let tables = open_read::own_tables(folder, recrawl_repository::sync_files())?;
        check_pinned(&tables, settings)?;
        let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
        Ok(StoppedCrawl { storage, repository, tables, decided })
    }

    /// The decisions, for changes like those of a running crawl. The lock is held until `work` returns.
    ///
    /// # Errors
    /// When the tables cannot be read or written, and the error of `work`.
    pub fn decide<T>(self, work: impl FnOnce(&Control) -> Result<T, Failure>) -> Result<T, Failure> {
        let StoppedCrawl { storage, repository, tables, decided } = self;
        let tables = Arc::new(tables);
        let control = Control::open(decided, storage, tables.clone(), Arc::new(RunControl::default()))?;
        let done = work(&control)?;
        tables.flush()?;
        drop(repository);
        Ok(done)
    }
}

/// Why a crawl cannot be opened for changes. A daemon has been asked before.
pub fn in_the_way(error: OpenError) -> Failure {
    match error {
        OpenError::InUse(folder) => Failure::Work(format!(
            "{folder}: in use by another process, such as `recrawl crawl`, that has no control socket; stop it first"
        )),
        other => Failure::work(other),
    }
}
