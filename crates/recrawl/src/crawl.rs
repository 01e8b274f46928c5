//! A crawl opened: everything that outlives a cycle.

use crate::contact;
use crate::control::Control;
use crate::data_dir;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::live::Live;
use crate::reading;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::sign_of_life::Watched;
use crate::space::Space;
use recrawl_archive::{self as archive, Archive, ArchiveEnd, ArchiveMark, Recovery, cap};
use recrawl_change::Features;
use recrawl_fetcher::{Fetcher, HttpNetwork, Steering, WallClock};
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Repository, SledTables, SyncFolder};
use recrawl_types::{CanonicalUrl, HostTable, Site, UrlRules};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The folder of the tables, in the data directory.
pub const TABLES: &str = "hosts.sled";
/// The folder of the page bodies, in the data directory.
pub const WARC: &str = "warc";

/// Names of settings kept in the tables.
const SEED_SITES: &str = "seed_sites";
const PINNED: &str = "pinned";
const ARCHIVE_END: &str = "archive_end";

/// Sites that seeds may bring into the scope by themselves; a crawl of more names its hosts, or all (`*`).
pub const MAX_SEED_SITES: usize = 100_000;

/// Where a crawl keeps what outlives it.
pub struct Disk {
    /// The files of the data directory.
    pub files: Arc<dyn Storage>,
    /// The files of the archive.
    pub warc: Arc<dyn Storage>,
    /// What makes the tables durable.
    pub sync: SyncFolder,
}

/// An open crawl. No other process has it.
pub struct Crawl {
    /// The configuration; its scope admits the sites of the seeds.
    pub settings: Settings,
    /// The data directory's files.
    pub storage: Arc<dyn Storage>,
    /// The files of the archive.
    pub warc: Arc<dyn Storage>,
    /// Generations.
    pub repository: Repository,
    /// Room on the disk.
    pub space: Space,
    /// Hosts, sites, settings.
    pub tables: Arc<SledTables>,
    /// The fetcher.
    pub fetcher: Fetcher,
    /// What operators decided.
    pub control: Arc<Control>,
    /// How a running cycle is told.
    pub steering: Arc<Steering>,
    /// Figures of the running cycle.
    pub live: Arc<Live>,
    /// Signals.
    pub shutdown: Shutdown,
    /// The time of day.
    pub clock: WallClock,
    /// What decides ties and samples.
    pub random_seed: u64,
}

/// Decisions that belong to a repository for life: other ones would give pages other names, or make
/// what is remembered of their contents meaningless.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pinned {
    rules: UrlRules,
    features: Features,
}

impl Crawl {
    /// Opens the crawl in the data directory of `settings`, or begins one there.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the configuration is not the one that the repository was begun with, or names no
    /// contact where one is needed, or the directory holds no crawl but something else;
    /// [`Failure::Work`] when the directory is in use, of another version, damaged, or cannot be written to.
    pub fn open(settings: Settings, seeds: &[CanonicalUrl], random_seed: u64) -> Result<Crawl, Failure> {
        contact::check_pages(&settings, seeds)?;
        data_dir::check_ours(&settings)?;
        let folder = &settings.data_dir;
        let files = Arc::new(FileStorage::create(folder).map_err(|e| in_folder(folder, e))?);
        let warc = FileStorage::create(&folder.join(WARC)).map_err(|e| in_folder(folder, e))?;
        let live = Arc::new(Live::new(recrawl_fetcher::system_clock()));
        let disk = Disk { files, warc: Arc::new(warc), sync: recrawl_repository::sync_files() };
        Crawl::over(disk, live, settings, seeds, random_seed)
    }

    /// The same over this disk and with these figures.
    pub(crate) fn over(
        Disk { files, warc, sync }: Disk,
        live: Arc<Live>,
        mut settings: Settings,
        seeds: &[CanonicalUrl],
        random_seed: u64,
    ) -> Result<Crawl, Failure> {
        let folder = settings.data_dir.clone();
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(files, live.clone()));
        let warc: Arc<dyn Storage> = Arc::new(Watched::new(warc, live.clone()));
        let repository = Repository::open(storage.clone()).map_err(Failure::work)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        let space = Space::of(&storage, settings.config.storage.reserve);
        let tables = Arc::new(reading::own_tables(&folder, sync)?);
        check_pinned(&tables, &settings)?;
        let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
        settings.scope.refuse_taken_down(decided.taken_down.clone());
        if settings.config.scope.hosts.is_empty() {
            settings.scope.admit_sites(seed_sites(&tables, seeds)?);
        }
        contact::check_known(&settings, &repository.current())?;
        let network = Arc::new(HttpNetwork::new(&settings.fetch).map_err(Failure::work)?);
        if let Some(proxy) = &settings.fetch.proxy {
            let what = "the address guard cannot see what this proxy connects to: it must itself refuse what is private";
            tracing::warn!(%proxy, "{what}");
        }
        let clock = recrawl_fetcher::system_clock();
        let hosts: Arc<dyn HostTable> = tables.clone();
        let fetcher = Fetcher::new(settings.fetch.clone(), network, hosts, clock.clone());
        let shutdown = Shutdown::new(
            "stopping; the pages in flight are finished first (a second signal ends it at once)",
        )
        .map_err(Failure::work)?;
        let steering = Arc::new(Steering::default());
        let control = Arc::new(Control::open(decided, storage.clone(), tables.clone(), steering.clone())?);
        Ok(Crawl {
            settings,
            storage,
            warc,
            repository,
            space,
            tables,
            fetcher,
            control,
            steering,
            live,
            shutdown,
            clock,
            random_seed,
        })
    }

    /// Lets the sites of seeds into the scope, where the configuration names no hosts.
    ///
    /// # Errors
    /// When they are too many, or the tables cannot be read or written.
    pub fn admit(&mut self, seeds: &[CanonicalUrl]) -> Result<(), Failure> {
        if !seeds.is_empty() && self.settings.config.scope.hosts.is_empty() {
            self.settings.scope.admit_sites(seed_sites(&self.tables, seeds)?);
        }
        Ok(())
    }

    /// Finds the end of the archive, after whatever has stopped it. Before the log is opened, which may name bodies behind it.
    ///
    /// # Errors
    /// When a file or the tables cannot be read or written.
    pub fn recover_archive(&self) -> Result<Recovery, Failure> {
        let mark = kept(&self.tables, ARCHIVE_END)?;
        let named = || {
            let generation = self.repository.current();
            let (mut records, mut highest) = (generation.records(), 0);
            while let Some((_, _, record)) = records.next_record()? {
                self.live.moved();
                let position = record.visited.and_then(|visited| visited.content.archive);
                highest = highest.max(position.map_or(0, |position| position.file));
            }
            Ok(highest)
        };
        Ok(archive::recover(&*self.warc, mark, named)?)
    }

    /// Opens the archive where it ends; none where no bodies are kept.
    ///
    /// # Errors
    /// When a file or the tables cannot be written.
    pub fn open_archive(&self, recovery: &Recovery) -> Result<Option<Archive>, Failure> {
        let storage = &self.settings.config.storage;
        if !storage.archive {
            return Ok(None);
        }
        // Before anything is appended: only what was closed may be gone on with.
        keep(&self.tables, ARCHIVE_END, &ArchiveMark { end: recovery.end, is_open: true })?;
        self.tables.flush()?;
        let limit = storage.archive_file.0;
        Ok(Some(Archive::open(self.warc.clone(), limit, recovery.end, recovery.is_new_file)?))
    }

    /// Removes the oldest WARC files beyond `storage.archive_max`: between two cycles, so that nothing points to a
    /// file that is not there but what was committed. What cannot be removed now is removed after the next cycle.
    pub fn cap_archive(&self) {
        let max = self.settings.config.storage.archive_max.0;
        if max == 0 {
            return;
        }
        match cap::keep_within(&*self.warc, max) {
            Ok(removed) if removed.files == 0 => {}
            Ok(cap::Files { files, bytes }) => {
                tracing::info!(files, bytes, "the oldest WARC files are removed");
            }
            Err(error) => tracing::warn!("WARC files beyond storage.archive_max are left: {error}"),
        }
    }

    /// Remembers where the archive was closed, durably. Archive and log are durable by then.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn close_archive(&self, end: Option<ArchiveEnd>) -> Result<(), Failure> {
        if let Some(end) = end {
            keep(&self.tables, ARCHIVE_END, &ArchiveMark { end, is_open: false })?;
        }
        self.tables.flush().map_err(Failure::from)
    }
}

/// A setting of the tables; none where it was never kept.
///
/// # Errors
/// When it cannot be read, or is not what was kept.
pub fn kept<T: DeserializeOwned>(tables: &SledTables, name: &str) -> Result<Option<T>, Failure> {
    let bytes = tables.setting(name)?;
    bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(Failure::work)
}

/// Keeps a setting in the tables.
///
/// # Errors
/// When they cannot be written.
pub fn keep(tables: &SledTables, name: &str, value: &impl Serialize) -> Result<(), Failure> {
    tables.set_setting(name, &serde_json::to_vec(value).map_err(Failure::work)?).map_err(Failure::from)
}

fn in_folder(folder: &Path, error: std::io::Error) -> Failure {
    Failure::Work(format!("data directory {}: {error}", folder.display()))
}

/// Pins the decisions on the first opening and holds the configuration to them on every later one.
pub fn check_pinned(tables: &SledTables, settings: &Settings) -> Result<(), Failure> {
    let pinned = Pinned { rules: settings.rules.clone(), features: settings.change.features };
    let Some(before) = kept::<Pinned>(tables, PINNED)? else {
        return keep(tables, PINNED, &pinned);
    };
    let key = match () {
        () if before.rules != pinned.rules => "urls.drop_parameters",
        () if before.features != pinned.features => "change.features",
        () => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "{key} is not what {} was begun with: put it back, or choose another data directory",
        settings.data_dir.display()
    )))
}

/// The sites of all seeds that this repository was ever given.
pub fn seed_sites(tables: &SledTables, seeds: &[CanonicalUrl]) -> Result<BTreeSet<String>, Failure> {
    add_seed_sites(tables, seeds.iter().map(|url| Site::of(url).to_string()))
}

/// The same, and these from now on.
pub fn add_seed_sites(
    tables: &SledTables,
    news: impl IntoIterator<Item = String>,
) -> Result<BTreeSet<String>, Failure> {
    let mut sites: BTreeSet<String> = kept(tables, SEED_SITES)?.unwrap_or_default();
    let before = sites.len();
    sites.extend(news);
    if sites.len() > MAX_SEED_SITES {
        let text = format!(
            "seeds of more than {MAX_SEED_SITES} sites: say in scope.hosts what belongs to the crawl"
        );
        return Err(Failure::Usage(text));
    }
    if sites.len() > before {
        keep(tables, SEED_SITES, &sites)?;
    }
    Ok(sites)
}
