//! A crawl opened: everything that outlives a cycle.

use crate::archive::{Archive, ArchiveEnd, cap};
use crate::contact;
use crate::control::Control;
use crate::data_dir;
use crate::failure::Failure;
use crate::live::Live;
use crate::reading;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::sign_of_life::Watched;
use crate::space::Space;
use crate::takedown;
use recrawl_change::Features;
use recrawl_fetcher::{Fetcher, HttpNetwork, Steering, WallClock};
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Repository, SledTables};
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

/// An open crawl. No other process has it.
pub struct Crawl {
    /// The configuration; its scope admits the sites of the seeds.
    pub settings: Settings,
    /// The data directory's files.
    pub storage: Arc<dyn Storage>,
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
        let live = Arc::new(Live::new(recrawl_fetcher::system_clock()));
        Crawl::over(files, live, settings, seeds, random_seed)
    }

    /// The same over these files, those of the data directory, and with these figures.
    pub(crate) fn over(
        files: Arc<dyn Storage>,
        live: Arc<Live>,
        mut settings: Settings,
        seeds: &[CanonicalUrl],
        random_seed: u64,
    ) -> Result<Crawl, Failure> {
        let folder = settings.data_dir.clone();
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(files, live.clone()));
        let repository = Repository::open(storage.clone()).map_err(Failure::work)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        let space = Space::of(&storage, settings.config.storage.reserve);
        let tables = Arc::new(reading::own_tables(&folder)?);
        check_pinned(&tables, &settings)?;
        settings.scope.refuse_taken_down(takedown::blocked(&tables)?);
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
        let control = Arc::new(Control::open(tables.clone(), steering.clone())?);
        Ok(Crawl {
            settings,
            storage,
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

    /// Opens the archive where it was last closed.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn archive(&self) -> Result<Option<Archive>, Failure> {
        let storage = &self.settings.config.storage;
        if !storage.archive {
            return Ok(None);
        }
        let folder = self.settings.data_dir.join(WARC);
        let closed = kept(&self.tables, ARCHIVE_END)?;
        Archive::open(&folder, storage.archive_file.0, closed).map(Some).map_err(Failure::from)
    }

    /// Removes the oldest WARC files beyond `storage.archive_max`: between two cycles, so that nothing points to a
    /// file that is not there but what was committed. What cannot be removed now is removed after the next cycle.
    pub fn cap_archive(&self) {
        let max = self.settings.config.storage.archive_max.0;
        let folder = self.settings.data_dir.join(WARC);
        if max == 0 || !folder.is_dir() {
            return;
        }
        let removed = FileStorage::existing(&folder).and_then(|folder| cap::keep_within(&folder, max));
        match removed {
            Ok(removed) if removed.files == 0 => {}
            Ok(cap::Files { files, bytes }) => {
                tracing::info!(files, bytes, "the oldest WARC files are removed");
            }
            Err(error) => tracing::warn!("WARC files beyond storage.archive_max are left: {error}"),
        }
    }

    /// Remembers where the archive was closed, durably.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn close_archive(&self, end: Option<ArchiveEnd>) -> Result<(), Failure> {
        if let Some(end) = end {
            keep(&self.tables, ARCHIVE_END, &end)?;
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
