//! State that the crawl thread shares with API handlers.

use super::deliver_threads::DeliverThreads;
use super::disk::{self, Disk};
use super::forecast_cache::Forecasts;
use super::host_snapshot::Hosts;
use super::improving::{Improving, Moment};
use super::learning::Learner;
use super::next::NextFormula;
use super::notify_thread::NotifyThread;
use super::recent::Ring;
use super::scans::{ScanPermit, Scans};
use crate::cli::{ServeArgs, Where};
use crate::exclusive_access::ExclusiveAccess;
use crate::notifier::Crawled;
use crate::report::explain::{self, CycleStarts};
use recrawl_console::view::{NextRound, Refusal};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::ranks::StoredRanks;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::control::Control;
use recrawl_crawl::output::page_history::VisitedPages;
use recrawl_crawl::parts::improve::store::LoopStore;
use recrawl_crawl::parts::pings::Pings;
use recrawl_crawl::process::Shutdown;
use recrawl_crawl::progress::figures::RoundProgress;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::round::RoundKind;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault::CrawlVault;
use recrawl_fetcher::{RunControl, WallClock};
use recrawl_fleet::Partition;
use recrawl_formula::Formula;
use recrawl_notifications::store::Deliveries;
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::Cycle;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Interval of clock checks while the next cycle is not due: clocks are set, and machines sleep.
pub const TICK: Duration = Duration::from_secs(1);
/// Maximum cycle reports in memory; `recrawl export cycles` has older ones.
pub const MAX_REPORTS: usize = 1000;

/// What the crawl is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum CrawlPhase {
    /// It opens its data.
    Starting,
    /// A cycle runs.
    Crawling,
    /// It waits for the next cycle.
    Waiting {
        /// When that is due, in milliseconds since 1970; none if it depends on something else.
        cycle_at: Option<u64>,
        /// The next round; none if an operator or a reader decides.
        next: Option<NextRound>,
        /// What else it waits for, as text.
        what: Option<&'static str>,
    },
    /// A signal came.
    Stopping,
}

/// The shared state.
pub struct SharedState {
    pub tables: Arc<SledTables>,
    pub control: Arc<Control>,
    pub pings: Arc<Pings>,
    /// The state of the loop of `improve`.
    pub store: Arc<LoopStore>,
    pub steering: Arc<RunControl>,
    pub live: Arc<RoundProgress>,
    /// The partition of a fleet that the crawl is.
    pub partition: Option<Arc<Partition>>,
    pub data_dir: PathBuf,
    /// The configuration and the data directory, as the command line names them.
    pub place: Where,
    /// The contact, if the command line has one.
    pub contact: Option<String>,
    pub storage: Arc<dyn Storage>,
    pub stop: CancellationToken,
    clock: WallClock,
    began: Instant,
    pub started: u64,
    /// Random seed for ties.
    pub random_seed: u64,
    settings: RwLock<Arc<Settings>>,
    /// How often the configuration was loaded again.
    pub reloads: AtomicU64,
    generation: RwLock<Arc<Generation>>,
    /// The formula of the next cycle.
    pub next: NextFormula,
    /// Newest last.
    reports: Mutex<VecDeque<RoundReport>>,
    disk: Mutex<Disk>,
    phase: Mutex<CrawlPhase>,
    /// Why the last cycle failed, if it did.
    failure: Mutex<Option<String>>,
    pub cycles_done: AtomicU64,
    pub cycles_failed: AtomicU64,
    changed: AtomicBool,
    /// Does a command wait for the data directory?
    is_aside_asked: AtomicBool,
    pub scans: Scans,
    /// Reports read kept files, and promises pages: they take no place of scans for single pages.
    report_scans: Scans,
    /// Lists of changes read kept visits and the archive.
    change_scans: Scans,
    searches: Scans,
    pub ranks: StoredRanks,
    pub visited: VisitedPages,
    pub hosts: Hosts,
    pub recent: Arc<Ring>,
    pub improving: Improving,
    pub forecasts: Forecasts,
    pub learner: Learner,
    pub notify_thread: NotifyThread,
    pub deliver_threads: DeliverThreads,
    pub vault: Option<Arc<CrawlVault>>,
    woken: Notify,
}

impl SharedState {
    /// The shared state of a crawl just opened; `recent` has what the process saw before.
    ///
    /// # Errors
    /// When the reports cannot be read.
    pub fn new(crawl: &Crawl, args: &ServeArgs, recent: Arc<Ring>) -> Result<SharedState, Failure> {
        let reports = open_read::last_cycles(&crawl.repository, MAX_REPORTS)?;
        let generation = crawl.repository.current();
        let shared = SharedState {
            tables: crawl.tables.clone(),
            control: crawl.control.clone(),
            pings: crawl.pings.clone(),
            store: crawl.improve.clone(),
            steering: crawl.steering.clone(),
            live: crawl.live.clone(),
            partition: crawl.partition.clone(),
            data_dir: crawl.settings.data_dir.clone(),
            place: args.at.clone(),
            contact: args.contact.clone(),
            storage: crawl.storage.clone(),
            stop: crawl.shutdown.token().clone(),
            clock: crawl.clock.clone(),
            began: Instant::now(),
            started: (crawl.clock)(),
            random_seed: crawl.random_seed,
            settings: RwLock::new(Arc::new(crawl.settings.clone())),
            reloads: AtomicU64::new(0),
            next: NextFormula::new(&crawl.settings),
            disk: Mutex::new(disk::measure(&crawl.settings.data_dir, &*crawl.storage)),
            generation: RwLock::new(generation),
            reports: Mutex::new(reports),
            phase: Mutex::new(CrawlPhase::Starting),
            failure: Mutex::default(),
            cycles_done: AtomicU64::new(0),
            cycles_failed: AtomicU64::new(0),
            changed: AtomicBool::new(false),
            is_aside_asked: AtomicBool::new(false),
            scans: Scans::default(),
            report_scans: Scans::default(),
            change_scans: Scans::default(),
            searches: Scans::default(),
            ranks: StoredRanks::default(),
            visited: VisitedPages::default(),
            hosts: Hosts::default(),
            recent,
            improving: Improving::default(),
            forecasts: Forecasts::default(),
            learner: Learner::default(),
            notify_thread: NotifyThread::default(),
            deliver_threads: DeliverThreads::default(),
            vault: crawl.vault.get().cloned(),
            woken: Notify::new(),
        };
        shared.improving.open(crawl)?;
        shared.refresh_loop()?;
        Ok(shared)
    }

    /// The time in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Time since the start, by a monotonic clock.
    pub fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// The configuration in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().expect("no panic under the lock").clone()
    }

    pub fn set_settings(&self, settings: &Settings) {
        *self.settings.write().expect("no panic under the lock") = Arc::new(settings.clone());
    }

    /// The last committed generation.
    pub fn generation(&self) -> Arc<Generation> {
        self.generation.read().expect("no panic under the lock").clone()
    }

    /// The first cycle that is not yet planned.
    pub fn unplanned_cycle(&self) -> Cycle {
        self.live.now().map_or_else(|| self.generation().cycle(), |now| now.cycle).next()
    }

    pub fn formula(&self) -> Arc<Formula> {
        self.next.formula()
    }

    /// Sizes of the data directory and its disk when last measured.
    pub fn disk(&self) -> Disk {
        lock(&self.disk).clone()
    }

    /// Sets the free bytes; none if the system does not tell.
    pub fn set_free(&self, free: Option<u64>) {
        lock(&self.disk).free = free;
    }

    /// Why the last cycle failed, or why the next one would, if so.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone().or_else(|| self.next.problem())
    }

    /// What the crawl is doing; from a signal on, it is stopping.
    pub fn phase(&self) -> CrawlPhase {
        if self.stop.is_cancelled() {
            return CrawlPhase::Stopping;
        }
        lock(&self.phase).clone()
    }

    pub fn set_phase(&self, phase: CrawlPhase) {
        *lock(&self.phase) = phase;
    }

    /// The reports of the last cycles, newest first.
    pub fn reports(&self, last: usize) -> Vec<RoundReport> {
        lock(&self.reports).iter().rev().take(last).cloned().collect()
    }

    /// When the last cycles started.
    pub fn cycle_starts(&self) -> CycleStarts {
        explain::cycle_starts(&*lock(&self.reports))
    }

    /// The reports of the last cycles that crawled, newest first.
    pub fn crawl_reports(&self, last: usize) -> Vec<RoundReport> {
        let reports = lock(&self.reports);
        reports.iter().rev().filter(|report| report.is_of_crawl()).take(last).cloned().collect()
    }

    /// Publishes a committed round.
    pub fn committed(&self, crawl: &Crawl, report: RoundReport) {
        let begins_cycle = report.kind == RoundKind::Revisit;
        if let Err(failure) = self.improving.committed(crawl, &report) {
            tracing::error!("cannot read what was measured: {failure}");
        }
        open_read::add_round(&mut lock(&self.reports), report, MAX_REPORTS);
        // Readers who see the generation must find its report.
        *self.generation.write().expect("no panic under the lock") = crawl.repository.current();
        self.refresh_improve();
        *lock(&self.disk) = disk::measure(&self.data_dir, &*crawl.storage);
        *lock(&self.failure) = None;
        self.cycles_done.fetch_add(u64::from(begins_cycle), Relaxed);
        // `recrawl formula use` may have set another one.
        self.next.reread(&crawl.settings);
    }

    /// Makes the answer about the loop again.
    ///
    /// # Errors
    /// When the state of the loop cannot be read.
    pub fn refresh_loop(&self) -> Result<(), Failure> {
        let moment = Moment {
            settings: &self.settings(),
            data_dir: &self.data_dir,
            store: &self.store,
            cycle: self.generation().cycle(),
            learning: self.learner.began_after(),
        };
        self.improving.refresh(&moment, |last| self.crawl_reports(last))
    }

    /// The same; a failure is logged.
    pub fn refresh_improve(&self) {
        if let Err(failure) = self.refresh_loop() {
            tracing::error!("cannot tell where the loop of improve stands: {failure}");
        }
    }

    /// Notes that a cycle, or something after its commit, failed.
    pub fn failed(&self, why: &Failure) {
        *lock(&self.failure) = Some(why.to_string());
        self.cycles_failed.fetch_add(1, Relaxed);
    }

    /// Permission for a report, which reads many pages.
    pub fn begin_report(&self) -> Result<ScanPermit<'_>, Refusal> {
        let too_many = || Refusal::Busy("too many reports are running; try again later".into());
        self.report_scans.begin().ok_or_else(too_many)
    }

    /// Permission to list changes.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while too many are listed.
    pub fn begin_changes(&self) -> Result<ScanPermit<'_>, Refusal> {
        let too_many = || Refusal::Busy("too many lists of changes are read; try again later".into());
        self.change_scans.begin().ok_or_else(too_many)
    }

    /// Permission to search the index, as [`SharedState::begin_changes`].
    ///
    /// # Errors
    /// [`Refusal::Busy`] while too many search.
    pub fn begin_search(&self) -> Result<ScanPermit<'_>, Refusal> {
        let too_many = || Refusal::Busy("too many searches wait; try again later".into());
        self.searches.begin().ok_or_else(too_many)
    }

    /// Waits for the next cycle, a signal or an operator, for at most one tick.
    pub fn wait(&self, shutdown: &Shutdown, due: &RoundsDue, has_nothing: bool) {
        let rests = self.control.paused().is_some() || has_nothing;
        let (now, left) = (self.now(), due.cycle.max(due.retry));
        let after = |left: Duration| now.saturating_add(left.as_millis() as u64);
        let what = has_nothing.then_some("seeds (no seeds and no pages yet)");
        let cycle_at = (!rests).then(|| after(left));
        let next = (!rests).then(|| due.next_round(now));
        self.set_phase(CrawlPhase::Waiting { cycle_at, next, what });
        shutdown.runtime().block_on(async {
            tokio::select! {
                () = shutdown.token().cancelled() => {}
                () = self.woken.notified() => {}
                () = tokio::time::sleep(if left.is_zero() { TICK } else { left.min(TICK) }) => {}
            }
        });
    }

    /// Ends the wait before the next tick.
    pub fn wake(&self) {
        self.woken.notify_one();
    }

    /// Notes a change by an operator.
    pub fn changed(&self) {
        self.changed.store(true, Relaxed);
        self.wake();
    }

    /// A command waits for the data directory: a running round ends early, if it can.
    pub fn step_aside(&self) {
        self.is_aside_asked.store(true, Relaxed);
        self.steering.end_run(true);
        self.wake();
    }

    /// Is the partition given up? Then a running round ends early, if it can.
    pub fn gives_up(&self) -> bool {
        let gives_up = self.partition.as_ref().is_some_and(|partition| partition.given_up().is_some());
        if gives_up {
            self.steering.end_run(true);
            self.wake();
        }
        gives_up
    }

    /// Does a command still wait for the data directory, or is the partition given up?
    pub fn is_asked_aside(&self) -> bool {
        if self.gives_up() {
            return true;
        }
        if !self.is_aside_asked.load(Relaxed) {
            return false;
        }
        let waits = ExclusiveAccess::is_taken(&self.data_dir).unwrap_or(false);
        if !waits {
            tracing::info!("no command waits for the data directory any more: the crawl goes on");
            self.is_aside_asked.store(false, Relaxed);
            self.steering.end_run(false);
        }
        waits
    }

    /// Did an operator change something since the last call?
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Relaxed)
    }
}

impl Crawled for SharedState {
    fn settings(&self) -> Arc<Settings> {
        SharedState::settings(self)
    }

    fn reloads(&self) -> u64 {
        self.reloads.load(Acquire)
    }

    fn generation(&self) -> Arc<Generation> {
        SharedState::generation(self)
    }

    fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    fn now(&self) -> u64 {
        SharedState::now(self)
    }

    fn publish(&self, deliveries: &Deliveries) {
        self.notify_thread.publish(deliveries);
    }
}

/// When rounds are due.
pub struct RoundsDue {
    /// Time until the next cycle.
    pub cycle: Duration,
    /// Time until a failed round is retried; 0 if none failed.
    pub retry: Duration,
    /// When pages are tried again whose hosts could not be asked, in milliseconds since 1970.
    pub stalled_until: Option<u64>,
    /// When a page with a rhythm of its own is due, likewise.
    pub rhythm_at: Option<u64>,
}

impl RoundsDue {
    fn next_round(&self, now: u64) -> NextRound {
        let after = |left: Duration| now.saturating_add(left.as_millis() as u64);
        let cycle_at = after(self.cycle.max(self.retry));
        let round = |kind: RoundKind, at, why: &str| NextRound {
            kind: kind.name().into(),
            at: Some(at),
            why: why.into(),
        };
        let first = self.stalled_until.map_or(cycle_at, |until| until.min(cycle_at));
        if let Some(at) = self.rhythm_at.filter(|at| *at < first && self.retry.is_zero()) {
            return round(RoundKind::Urgent, at, "a page is due by pages.every");
        }
        match self.stalled_until.filter(|until| *until < cycle_at) {
            Some(until) if self.retry.is_zero() => {
                round(RoundKind::Fill, until, "hosts that could not be asked are tried again")
            }
            _ if !self.retry.is_zero() => {
                round(RoundKind::Revisit, cycle_at, "the failed round is tried again")
            }
            _ => round(RoundKind::Revisit, cycle_at, "cycle.period ends, and nothing else is due before"),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}
