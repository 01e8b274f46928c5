//! An open crawl: everything that outlives a cycle.

use crate::admission::decisions::Decisions;
use crate::clock::SoFar;
use crate::contact_check;
use crate::data_dir::{self, check_pinned};
use crate::failure::Failure;
use crate::first_look::FirstLookFile;
use crate::open_read;
use crate::operator::control::Control;
use crate::partition::PartitionToTake;
use crate::parts::focus::FocusRules;
use crate::parts::focus::round_survey::RoundSurvey;
use crate::parts::focus::survey::FocusSurvey;
use crate::parts::improve::store::LoopStore;
use crate::parts::pings::Pings;
use crate::parts::{convert, render};
use crate::process::{Converter, CycleDisplay, ProgramServices, Shutdown};
use crate::progress::figures::RoundProgress;
use crate::progress::storage::Watched;
use crate::settings::{Settings, ranking};
use crate::space::Space;
use crate::stored::{keep, kept};
use crate::vault::{self, FollowedCrawl, OpenVault};
use recrawl_archive::opener;
use recrawl_archive::{self as archive, Archive, ArchiveEnd, ArchiveMark, Recovery, WarcProvenance};
use recrawl_fetcher::{Fetcher, HttpNetwork, RunControl, WallClock};
use recrawl_fleet::Partition;
use recrawl_notifications::store;
use recrawl_renderer::Renderer;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Generation, Repository, ScheduleFile, SledTables, SyncFolder};
use recrawl_types::{CanonicalUrl, DatedRound, HostTable};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Names of settings in the tables.
pub(crate) const ARCHIVE_END: &str = "archive_end";

/// Maximum threads that make requests. One loop starts them all, and more would wait for it.
const MAX_FETCH_THREADS: usize = 16;

/// The storage of a crawl.
pub struct CrawlDisk {
    /// The files of the data directory.
    pub files: Arc<dyn Storage>,
    /// The files of the archive.
    pub warc: Arc<dyn Storage>,
    /// Makes the tables durable.
    pub sync: SyncFolder,
}

/// An open crawl. It holds the lock of its data directory.
pub struct Crawl {
    /// The configuration; its scope admits the sites of the seeds.
    pub settings: Settings,
    /// The files of the data directory.
    pub storage: Arc<dyn Storage>,
    /// The WARC files.
    pub warc: Arc<dyn Storage>,
    /// The vault. It is closed before the repository, which holds the lock.
    pub vault: OpenVault,
    /// The partition of a fleet that it is; none of a crawl that is alone.
    pub partition: Option<Arc<Partition>>,
    /// The generations.
    pub repository: Repository,
    /// Free space on the disk.
    pub space: Space,
    /// Hosts, sites and settings.
    pub tables: Arc<SledTables>,
    /// Fetches pages within the rules of politeness.
    pub fetcher: Fetcher,
    /// Renders pages; none if no rule asks for it.
    pub renderer: Option<Arc<Renderer>>,
    /// Converts documents, if a rule asks for it.
    pub converter: Arc<dyn Converter>,
    /// Decisions of operators.
    pub control: Arc<Control>,
    /// Changes that site owners tell of.
    pub pings: Arc<Pings>,
    /// Where the loop of `improve` stands.
    pub improve: Arc<LoopStore>,
    /// Passes decisions to a running cycle.
    pub steering: Arc<RunControl>,
    /// Figures of the running cycle.
    pub live: Arc<RoundProgress>,
    /// Runs the crawl, and stops it on a signal.
    pub shutdown: Shutdown,
    /// Shows the progress of a cycle.
    pub display: Box<dyn CycleDisplay>,
    /// Fields of new WARC files about the crawl.
    provenance: WarcProvenance,
    /// The time, in milliseconds since 1970.
    pub clock: WallClock,
    /// Random seed for ties and samples.
    pub random_seed: u64,
    /// The current cycle, as far as it is committed.
    pub so_far: SoFar,
    /// Is the next round planned?
    pub is_begun: bool,
    /// When a plan of this generation found no page due, in milliseconds since 1970.
    pub nothing_due_at: Option<u64>,
    /// Has an operator, or a ping, changed something since the last round?
    pub has_new_work: bool,
    /// Time that the merge of the last round took.
    pub(crate) merging_took: Duration,
    /// Time that the plan of the round took.
    pub(crate) planning_took: Duration,
    /// May a round leave its requests in flight to the next one? Not the last round of a run.
    pub may_leave_requests: bool,
    /// The survey of the round's plan in a focused crawl; its lesson reads the same.
    pub survey: RoundSurvey,
    /// See [`Crawl::fetching`].
    fetching: OnceLock<Runtime>,
}

/// Fields of WARC files about the crawl: who runs it, and the configuration on which their records depend.
fn provenance(settings: &Settings, tag: String) -> WarcProvenance {
    let fetch = &settings.fetch;
    let requests = match fetch.keep_requests {
        true => "archived, without configured credentials",
        false => "not archived",
    };
    let fields = [
        ("operator", fetch.contact.clone()),
        ("robots", Some("obey".into())),
        ("http-header-user-agent", Some(fetch.user_agent_field())),
        ("http-header-from", fetch.from_field().map(str::to_owned)),
        ("requests", Some(requests.into())),
        ("bodies", Some(format!("decoded, at most {} bytes", fetch.max_body))),
    ];
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    WarcProvenance { tag, fields }
}

/// The fetcher of these settings. Without a contact it has what is left of the first look.
fn fetcher(settings: &Settings, hosts: Arc<dyn HostTable>, clock: WallClock) -> Result<Fetcher, Failure> {
    let look = Arc::new(FirstLookFile::in_folder(&settings.data_dir));
    let network = match settings.fetch.contact.is_none() && look.is_open() {
        true => HttpNetwork::with_first_look(&settings.fetch, look),
        false => HttpNetwork::new(&settings.fetch),
    };
    let network = Arc::new(network.map_err(Failure::work)?);
    Ok(Fetcher::new(settings.fetch.clone(), network, hosts, clock))
}

impl Crawl {
    /// Opens the crawl in the data directory of `settings`, or creates one there.
    ///
    /// # Errors
    /// [`Failure::Usage`] when the configuration differs from the one of the repository, or names
    /// no contact where one is needed, or the directory holds something else than a crawl;
    /// [`Failure::Work`] when the directory is in use, of another version, damaged, or cannot be
    /// written to.
    pub fn open(
        settings: Settings,
        seeds: &[CanonicalUrl],
        random_seed: u64,
        process: ProgramServices,
    ) -> Result<Crawl, Failure> {
        Crawl::open_as(settings, seeds, random_seed, process, None)
    }

    /// The same; if a partition is given, as its new owner.
    ///
    /// # Errors
    /// As [`Crawl::open`]; and when another process takes the partition at the same moment.
    pub fn open_as(
        settings: Settings,
        seeds: &[CanonicalUrl],
        random_seed: u64,
        process: ProgramServices,
        to_take: Option<PartitionToTake>,
    ) -> Result<Crawl, Failure> {
        contact_check::check_pages(&settings, seeds)?;
        data_dir::check_ours(&settings)?;
        // Before anything is created: a vault that is another's must leave no data directory.
        let clock = recrawl_fetcher::system_clock();
        let vault = vault::prepare(&settings, &process.archive_tag, clock())?;
        let folder = &settings.data_dir;
        let files = Arc::new(FileStorage::create(folder).map_err(|e| in_folder(folder, e))?);
        let warc = opener::create(folder).map_err(|e| in_folder(folder, e))?;
        let live = Arc::new(RoundProgress::new(recrawl_fetcher::system_clock()));
        let disk = CrawlDisk { files, warc, sync: recrawl_repository::sync_files() };
        let mut crawl = Crawl::over(disk, live, settings, seeds, random_seed, process)?;
        match (vault, to_take) {
            (Some(vault), Some(to_take)) => {
                crawl.follow(vault.of_partition(&to_take))?;
                crawl.own(to_take)?;
            }
            (Some(vault), None) => crawl.follow(vault)?,
            (None, _) => {}
        }
        Ok(crawl)
    }

    /// Ships the crawl to a vault from now on.
    ///
    /// # Errors
    /// As of [`vault::Prepared::begin`].
    pub fn follow(&mut self, vault: vault::Prepared) -> Result<(), Failure> {
        let vault = vault.begin(FollowedCrawl {
            settings: &self.settings,
            storage: self.storage.clone(),
            warc: self.warc.clone(),
            tables: self.tables.clone(),
            clock: self.clock.clone(),
        })?;
        self.vault = OpenVault::new(vault);
        if let Some(vault) = self.vault.get() {
            let vault = Arc::downgrade(vault);
            self.control.on_decided(Box::new(move || {
                if let Some(vault) = vault.upgrade() {
                    vault.decided();
                }
            }));
        }
        Ok(())
    }

    /// Opens it on this disk, with these figures.
    pub fn over(
        CrawlDisk { files, warc, sync }: CrawlDisk,
        live: Arc<RoundProgress>,
        mut settings: Settings,
        seeds: &[CanonicalUrl],
        random_seed: u64,
        process: ProgramServices,
    ) -> Result<Crawl, Failure> {
        let folder = settings.data_dir.clone();
        let storage: Arc<dyn Storage> = Arc::new(Watched::new(files, live.clone()));
        let warc: Arc<dyn Storage> = Arc::new(Watched::new(warc, live.clone()));
        let repository = Repository::open(storage.clone()).map_err(Failure::work)?;
        let repository = repository.keeping_visits(settings.config.storage.keep_visits);
        ranking::begin(&folder, repository.current().number())?;
        settings.follow_folder()?;
        let space = Space::new(&storage, settings.config.storage.reserve);
        let tables = Arc::new(open_read::own_tables(&folder, sync)?);
        check_pinned(&tables, &settings)?;
        let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
        settings.scope.refuse_taken_down(decided.taken_down.clone());
        settings.admit_seed_sites(&tables, seeds)?;
        contact_check::look_at(&settings, seeds)?;
        contact_check::check_known(&settings, &repository.current())?;
        // So that a new target is told of the next round, whoever sends, and when.
        let targets = settings.notify.iter().map(|target| target.name.as_str());
        store::of_targets(&*storage, targets, repository.current().number()).map_err(Failure::work)?;
        let renderer = render::renderer(&settings.pages, &settings.config)?;
        renderer.iter().for_each(|renderer| live.watch_renderer(renderer.clone()));
        convert::check_programs(&settings.pages)?;
        if let Some(proxy) = &settings.fetch.proxy {
            let what = "the address guard cannot check the connections of this proxy; \
                        configure the proxy to refuse private addresses";
            tracing::warn!(%proxy, "{what}");
        }
        let mut so_far = SoFar::default();
        open_read::last_rounds(&repository)?.iter().for_each(|report| so_far.add(report));
        let next = repository.current().number().next();
        let is_begun = ScheduleFile::open(&*storage, next).map_err(Failure::work)?.is_some();
        let clock = recrawl_fetcher::system_clock();
        let fetcher = fetcher(&settings, tables.clone(), clock.clone())?;
        let steering = Arc::new(RunControl::default());
        let control = Arc::new(Control::open(decided, storage.clone(), tables.clone(), steering.clone())?);
        let pings = Pings::open(tables.clone(), settings.config.hints.min_trust.0)?;
        let improve = Arc::new(LoopStore::new(tables.clone()));
        Ok(Crawl {
            provenance: provenance(&settings, process.archive_tag),
            settings,
            storage,
            warc,
            vault: OpenVault::default(),
            partition: None,
            repository,
            space,
            tables,
            fetcher,
            renderer,
            converter: process.converter,
            control,
            pings: Arc::new(pings),
            improve,
            steering,
            live,
            shutdown: process.shutdown,
            display: process.display,
            clock,
            random_seed,
            so_far,
            is_begun,
            nothing_due_at: None,
            has_new_work: false,
            merging_took: Duration::ZERO,
            planning_took: Duration::ZERO,
            may_leave_requests: true,
            survey: RoundSurvey::default(),
            fetching: OnceLock::new(),
        })
    }

    /// The threads that make requests, one per core. They start with the first round that fetches, and keep
    /// open connections from round to round. One loop still decides what is requested and when, so their
    /// number changes no schedule, order of pages or delay.
    ///
    /// # Errors
    /// When the system gives no thread or event queue.
    pub fn fetching(&self) -> Result<&Runtime, Failure> {
        if let Some(runtime) = self.fetching.get() {
            return Ok(runtime);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_FETCH_THREADS);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("fetcher")
            .enable_all()
            .build()
            .map_err(|e| Failure::work(format_args!("cannot start threads that fetch: {e}")))?;
        Ok(self.fetching.get_or_init(|| runtime))
    }

    /// The time since a moment in milliseconds since 1970, by the crawl's clock; zero if the clock was set back.
    pub fn since(&self, moment: u64) -> Duration {
        Duration::from_millis((self.clock)().saturating_sub(moment))
    }

    /// The survey of a round, as its plan and its lesson read it.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn survey(
        &self,
        rules: &Arc<FocusRules>,
        generation: &Generation,
        round: DatedRound,
    ) -> Result<Arc<FocusSurvey>, Failure> {
        self.survey.read(rules, &self.tables, generation, round, &|_| self.live.moved())
    }

    /// Notes that something has changed since the last round: what could not be asked for is tried again.
    pub fn stir(&mut self) {
        (self.has_new_work, self.nothing_due_at) = (true, None);
    }

    /// Makes the fetcher anew, after the settings have changed.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn renew_fetcher(&mut self) -> Result<(), Failure> {
        let fetcher = fetcher(&self.settings, self.tables.clone(), self.clock.clone())?;
        fetcher.take_over(&self.fetcher);
        self.fetcher = fetcher;
        self.take_turns();
        Ok(())
    }

    /// Checks before a round that it may make requests. A first look that is over ends; then only loopback is crawled.
    ///
    /// # Errors
    /// That the crawl needs a contact.
    pub fn check_contact(&mut self) -> Result<(), Failure> {
        if !contact_check::is_missing(&self.settings) {
            return Ok(());
        }
        let needed = |failure: Failure| Failure::Work(failure.to_string());
        contact_check::check_known(&self.settings, &self.repository.current()).map_err(needed)?;
        // Once: a fetcher without a look keeps its connections from round to round.
        if self.fetcher.is_used_up() { self.renew_fetcher() } else { Ok(()) }
    }

    /// Admits the sites of seeds to the scope, unless the configuration names hosts.
    ///
    /// # Errors
    /// When they are too many, or the tables cannot be read or written.
    pub fn admit(&mut self, seeds: &[CanonicalUrl]) -> Result<(), Failure> {
        if !seeds.is_empty() {
            self.settings.admit_seed_sites(&self.tables, seeds)?;
        }
        match contact_check::look_at(&self.settings, seeds)? {
            true => self.renew_fetcher(),
            false => Ok(()),
        }
    }

    /// Finds the end of the archive after any kind of stop. Must run before the log is opened,
    /// which may name bodies behind that end.
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
        Ok(archive::recover(&*self.warc, mark, named, (self.clock)())?)
    }

    /// Opens the archive at its end; none if bodies are not archived.
    ///
    /// # Errors
    /// When a file or the tables cannot be written.
    pub fn open_archive(&self, recovery: &Recovery) -> Result<Option<Archive>, Failure> {
        let storage = &self.settings.config.storage;
        if !storage.archive {
            return Ok(None);
        }
        // Mark it open before anything is appended: only a closed archive may be continued.
        keep(&self.tables, ARCHIVE_END, &ArchiveMark { end: recovery.end, is_open: true })?;
        self.tables.flush()?;
        let limit = storage.archive_file.0;
        let (warc, provenance) = (self.warc.clone(), self.provenance.clone());
        Ok(Some(Archive::open(warc, limit, provenance, recovery.end, recovery.is_new_file)?))
    }

    /// Stores durably where the archive was closed. Archive and log are durable by then.
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

fn in_folder(folder: &Path, error: std::io::Error) -> Failure {
    Failure::Work(format!("cannot open data directory {}: {error}", folder.display()))
}
