//! The crawl as a daemon: runs rounds on this thread, with the HTTP console beside it.
//!
//! The round and the console's readers never wait for each other: they share state through
//! [`shared_state::SharedState`].

mod changes;
mod cycle_timer;
mod deliver_threads;
mod disk;
mod errors;
mod fleet_changes;
mod fleet_questions;
mod forecast_cache;
mod formulas;
mod host_snapshot;
mod hosts;
mod improve;
mod improving;
mod in_fleet;
mod learning;
mod meters;
mod next;
mod notify;
mod notify_thread;
mod pages;
mod pings;
mod promises;
mod recent;
mod reload;
mod reports;
mod scans;
mod shared_state;
mod sighup;
mod status;
mod ticker;
pub mod versions;
mod view;
mod websub;

use crate::audit;
use crate::cli::ServeArgs;
use crate::daemon::SOCKET;
use crate::deliverer::local_index;
use crate::exclusive_access::{self, ExclusiveAccess};
use crate::fleet;
use crate::notifier;
use crate::process;
use crate::process::open_files;
use crate::tokens::tokens_of;
use cycle_timer::CycleTimer;
use improve::learn;
use recent::Ring;
use recrawl_archive::timestamp;
use recrawl_console::local::LocalSocket;
use recrawl_console::{ConsoleConfig, RunningConsole, ServeError, Sessions, StandbyConsole, Tokens};
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::output::events::Events;
use recrawl_crawl::partition::PartitionToTake;
use recrawl_crawl::process::Shutdown;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use recrawl_fleet::GivingUp;
use recrawl_types::{CanonicalUrl, Span};
use shared_state::{CrawlPhase, RoundsDue, SharedState, TICK};
use sighup::Sighup;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use view::View;

/// Delay after a failed cycle; doubled after each further failure, up to [`MAX_RETRY`].
const FIRST_RETRY: Duration = Duration::from_secs(60);
/// See [`FIRST_RETRY`].
const MAX_RETRY: Duration = Duration::from_secs(3600);
/// Rounds that fail one after the other before the owner of a partition gives it up.
const MAX_FAILURES: u32 = 3;
/// Delay after the directory could not be opened again.
const REOPEN: Duration = Duration::from_secs(5);

/// Runs until a signal. While a command needs the data directory alone, nothing of it is open.
///
/// # Errors
/// When it cannot start. A cycle that fails later is retried.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    if let (Some(address), Some(name)) = (&args.fleet, &args.name) {
        return in_fleet::run(args, address, name);
    }
    let (mut start, signals) = (CrawlStart::new(args)?, process::stopped_by_signals()?);
    let mut opened = open(args, &start, &signals, None)?;
    recrawl_crawl::cycle::plan::promised::check(&opened.0)?;
    loop {
        let Some(again) = serve(args, start, opened, &signals)? else { break };
        // Opening may take longer than the watchdog waits.
        let _watchdog = notify::while_aside().map_err(Failure::work)?;
        let answers = StandbyConsole::answer(again.listen, "aside", "a command has the data directory alone");
        if let Err(error) = &answers {
            tracing::warn!("/health does not answer while a command uses the data directory: {error}");
        }
        let Some(open) = open_again(args, &again, &signals, answers.as_ref().ok())? else { break };
        drop(answers);
        (start, opened) = (again, open);
    }
    tracing::info!("stopped");
    Ok(())
}

/// The crawl, and the tokens of its console.
type OpenedCrawl = (Crawl, Option<Tokens>);

/// Opens the crawl, or a partition of a fleet as its new owner.
fn open(
    args: &ServeArgs,
    start: &CrawlStart,
    signals: &Shutdown,
    to_take: Option<PartitionToTake>,
) -> Result<OpenedCrawl, Failure> {
    // First: bad tokens and targets touch nothing.
    let tokens = tokens_of(&start.settings)?;
    notifier::check(&start.settings)?;
    let process = process::of_crawl(signals.child()?)?;
    let (settings, seeds) = (start.settings.clone(), &start.seeds);
    Ok((Crawl::open_as(settings, seeds, args.random_seed, process, to_take)?, tokens))
}

/// Opens the crawl when the command has ended; none if a signal came. What is in the way is waited for: a daemon
/// that stepped aside comes back.
fn open_again(
    args: &ServeArgs,
    start: &CrawlStart,
    signals: &Shutdown,
    answers: Option<&StandbyConsole>,
) -> Result<Option<OpenedCrawl>, Failure> {
    loop {
        let wait = match ExclusiveAccess::back(&start.settings.data_dir)? {
            None => exclusive_access::LOOK_EVERY,
            Some(_turn) => match open(args, start, signals, None) {
                Ok(opened) => {
                    tracing::info!("the command has ended");
                    return Ok(Some(opened));
                }
                Err(failure) => {
                    tracing::error!("cannot open the crawl again, retrying in {}: {failure}", Span(REOPEN));
                    if let Some(answers) = answers {
                        answers.fails(format!("the crawl cannot be opened again: {failure}"));
                    }
                    REOPEN
                }
            },
        };
        if signals.wait(wait) {
            return Ok(None);
        }
    }
}

/// What a crawl is opened with.
struct CrawlStart {
    settings: Settings,
    /// Seeds from the command line that no round has had.
    seeds: Vec<CanonicalUrl>,
    sighup: sighup::Caught,
    /// Where the console listens: after a command, at the same port as before.
    listen: SocketAddr,
    /// Sessions outlive a command too.
    sessions: Arc<Sessions>,
    /// So does the last hour.
    recent: Arc<Ring>,
}

impl CrawlStart {
    fn new(args: &ServeArgs) -> Result<CrawlStart, Failure> {
        let settings = CrawlStart::settings(args)?;
        fleet::refuse_partition(&settings.data_dir)?;
        process::start_log(&settings.config.log, "info")?;
        if let Some(file) = args.at.config.found() {
            tracing::info!("configuration: {}", file.display());
        }
        CrawlStart::with(args, settings)
    }

    fn settings(args: &ServeArgs) -> Result<Settings, Failure> {
        let mut settings = args.at.settings()?;
        settings.use_contact(args.contact.as_deref())?;
        settings.files.extend(args.seeds.file.clone());
        Ok(settings)
    }

    fn with(args: &ServeArgs, mut settings: Settings) -> Result<CrawlStart, Failure> {
        let sighup = sighup::Caught::new().map_err(Failure::work)?;
        let console = settings.config.serve.connections;
        open_files::make_room(&mut settings, console)?;
        let seeds = args.seeds.read(&settings.rules)?;
        let listen = settings.config.serve.listen;
        Ok(CrawlStart { settings, seeds, sighup, listen, sessions: Arc::default(), recent: Arc::default() })
    }
}

/// Serves until a signal, or until a command waits for the data directory; then returns how to go on.
fn serve(
    args: &ServeArgs,
    start: CrawlStart,
    (mut crawl, tokens): OpenedCrawl,
    signals: &Shutdown,
) -> Result<Option<CrawlStart>, Failure> {
    let CrawlStart { mut seeds, sighup, listen, sessions, recent, .. } = start;
    let shared = Arc::new(SharedState::new(&crawl, args, recent.clone())?);
    // Before the console, which takes what hubs send.
    let subscriber = websub::start(shared.clone())?;
    let end = CancellationToken::new();
    let console = recrawl_console::serve(
        Arc::new(View::new(shared.clone())),
        ConsoleConfig { sessions: sessions.clone(), ..console_config(&crawl.settings, listen, tokens)? },
        control_socket(&crawl.settings),
        // Not the crawl's own token, so that the console works while the crawl stops.
        end.clone(),
    );
    let console = Arc::new(console.map_err(|e| match e {
        ServeError::Config { .. } => Failure::usage(e),
        other => Failure::work(other),
    })?);
    let sighup =
        sighup.listen(shared.clone(), console.clone(), signals.token().clone()).map_err(Failure::work)?;
    log_why_idle(&crawl, &seeds);
    let stall = crawl.settings.config.serve.stall.0;
    let mut events = events_of(&crawl)?;
    let _watchdog = notify::ready(shared.clone(), stall).map_err(Failure::work)?;
    let told = shared.clone();
    let tell_free = move |free| told.set_free(free);
    let _disk = disk::watch(crawl.storage.clone(), tell_free).map_err(Failure::work)?;
    shared.notify_thread.begin(&shared)?;
    begin_delivery(&shared)?;
    let _inbox = fleet_changes::follow(shared.clone())?;
    let questions = fleet_questions::answer(&shared, &console, args.name.as_ref())?;
    let _recent = meters::watch(shared.clone()).map_err(Failure::work)?;
    let ended = crawl_on(args, &mut seeds, &mut crawl, &shared, &console, &sighup, &mut events);
    shared.learner.end();
    shared.notify_thread.end();
    shared.deliver_threads.end();
    // Before the old one is dropped, so that no signal is lost.
    let next = sighup::Caught::new().map_err(Failure::work)?;
    let listen = console.address();
    // A failure ends it too, without a signal.
    crawl.shutdown.token().cancel();
    crawl.control.keep_answers();
    drop((subscriber, questions));
    crawl.tables.flush()?;
    end.cancel();
    drop(sighup);
    if let Some(console) = Arc::into_inner(console) {
        console.join().map_err(Failure::work)?;
    }
    ended.map(|ended| match ended {
        DaemonEnd::Signal => None,
        DaemonEnd::SteppedAside => {
            Some(CrawlStart { settings: crawl.settings, seeds, sighup: next, listen, sessions, recent })
        }
    })
}

/// Why the daemon runs no more rounds.
enum DaemonEnd {
    /// A signal came.
    Signal,
    /// A command waits for the data directory, or the partition is given up.
    SteppedAside,
}

/// Runs rounds as they are due, unless paused. `given`: seeds from the command line.
fn crawl_on(
    args: &ServeArgs,
    given: &mut Vec<CanonicalUrl>,
    crawl: &mut Crawl,
    shared: &Arc<SharedState>,
    console: &RunningConsole,
    sighup: &Sighup,
    events: &mut Option<Events>,
) -> Result<DaemonEnd, Failure> {
    let mut timer = CycleTimer::new(crawl.so_far.started, shared.now(), shared.uptime());
    let mut failures = 0;
    let config = args.at.config.file();
    while !crawl.shutdown.requested() {
        let is_called = sighup.take();
        if is_called {
            reload_all(crawl, shared, console, events);
        }
        if shared.take_changed() || is_called {
            // The obstacle of the last round may be gone.
            failures = 0;
            timer.retry_now();
            crawl.stir();
        }
        if crawl.pings.take_news() {
            crawl.stir();
        }
        learn::begin_if_asked(crawl, shared, config.as_deref());
        crawl.live.moved();
        let has_nothing = has_nothing(crawl, given);
        let left = timer.left(crawl.settings.config.cycle.period.0, shared.now(), shared.uptime());
        let retry_in = timer.retry_in(shared.uptime());
        let is_paused = crawl.control.paused().is_some();
        let is_asked_aside = shared.is_asked_aside();
        // Its visits must be committed before a command has the directory.
        let is_begun = is_asked_aside && (crawl.begun()?.is_some() || crawl.fetcher.has_left());
        // Such a round sends no request.
        let ends_paused = is_begun && crawl.settings.config.cycle.fill;
        let rhythm_at = crawl.keep_rhythm()?;
        let rests = has_nothing || is_paused && !ends_paused || !retry_in.is_zero();
        if is_asked_aside && (rests || !is_begun) {
            return Ok(DaemonEnd::SteppedAside);
        }
        let next = if rests { Ok(None) } else { crawl.next_round(left.is_zero(), !given.is_empty()) };
        if let Ok(None) = next {
            let cycle = if has_nothing { TICK } else { left };
            let stalled_until = if rests { None } else { crawl.stalled_until()? };
            shared.wait(
                &crawl.shutdown,
                &RoundsDue { cycle, retry: retry_in, stalled_until, rhythm_at },
                has_nothing,
            );
            continue;
        }
        shared.set_phase(CrawlPhase::Crawling);
        let queued = crawl.control.seeds();
        let ended = crawl.admit(&queued).and(next).and_then(|next| {
            shared.set_settings(&crawl.settings);
            let next = next.expect("there is a round");
            cycle::round(crawl, next, &[given.as_slice(), &queued].concat())
        });
        crawl.live.ended();
        match ended {
            Ok(RoundEnd::Interrupted) => tracing::info!("stopped; the next start resumes this round"),
            Ok(RoundEnd::NothingDue) => {
                failures = 0;
                given.clear();
                forget(&queued, crawl, shared);
            }
            Ok(RoundEnd::Committed(report)) => {
                failures = 0;
                given.clear();
                log_report(crawl, &report);
                timer.is_in_cycle_since(report.cycle_started(), shared.now(), shared.uptime());
                shared.committed(crawl, *report);
                // Seeds leave the queue after the commit, so that a crash loses none.
                forget(&queued, crawl, shared);
                learn::begin_if_due(crawl, shared, config.as_deref());
                tell(events, crawl, shared);
            }
            Err(failure) => {
                timer.retry_at(shared.uptime() + failed(crawl, shared, &failure, failures));
                failures += 1;
            }
        }
    }
    Ok(DaemonEnd::Signal)
}

/// Tells of a round that failed, after so many others in a row; gives the wait before it is tried again.
fn failed(crawl: &Crawl, shared: &SharedState, failure: &Failure, before: u32) -> Duration {
    let wait = FIRST_RETRY.saturating_mul(1 << before.min(16)).min(MAX_RETRY);
    if crawl.partition.as_deref().is_some_and(|partition| !partition.may_ask()) {
        // Nothing failed here: another process may have the partition by now.
        tracing::warn!("the round ends, as the lease of its partition is over: {failure}");
        return wait;
    }
    tracing::error!("round failed, retrying in {}: {failure}", Span(wait));
    shared.failed(failure);
    if let Some(partition) = crawl.partition.as_deref().filter(|_| before + 1 >= MAX_FAILURES) {
        partition.give_up(GivingUp::Failing);
    }
    wait
}

/// Starts the thread that keeps copies in step, once there is a target.
fn begin_delivery(shared: &Arc<SharedState>) -> Result<(), Failure> {
    let crawl = shared.clone();
    shared.deliver_threads.begin(shared, move || crawl.control.decided())?;
    // Behind the end of threads whose targets are gone.
    local_index::remove_leftover(&shared.settings());
    Ok(())
}

/// Reloads the configuration, and with it the threads and files that depend on it.
fn reload_all(
    crawl: &mut Crawl,
    shared: &Arc<SharedState>,
    console: &RunningConsole,
    events: &mut Option<Events>,
) {
    reload::reload(crawl, shared, console);
    if let Err(failure) = shared.notify_thread.begin(shared) {
        tracing::error!("cannot deliver changes: {failure}");
    }
    if let Err(failure) = begin_delivery(shared) {
        tracing::error!("cannot deliver documents: {failure}");
    }
    if let Some(Err(failure)) = events.as_mut().map(|events| events.reopen(crawl)) {
        tracing::error!("cannot reopen the events file, still writing to the old one: {failure}");
    }
}

/// Logs the report of a round, and which requests failed.
fn log_report(crawl: &Crawl, report: &RoundReport) {
    report.log();
    let failed = crawl.live.newly_failed();
    if report.fetched_nothing() {
        tracing::warn!("{}", crawl.live.errors().why_nothing());
    } else if let Some(failed) = failed {
        tracing::info!("{failed}");
    }
}

/// Is no page known, and no seed given or queued? Links to a partition of a fleet may come from others.
fn has_nothing(crawl: &Crawl, given: &[CanonicalUrl]) -> bool {
    crawl.partition.is_none()
        && crawl.repository.current().pages() == 0
        && given.is_empty()
        && !crawl.control.has_seeds()
}

/// Logs at the start why no round begins, if so.
fn log_why_idle(crawl: &Crawl, given: &[CanonicalUrl]) {
    if let Some(Mark { who, at }) = crawl.control.paused() {
        let at = timestamp(at);
        tracing::info!("{who} paused the crawl at {at}: no round begins until `recrawl resume`");
    }
    if has_nothing(crawl, given) {
        tracing::info!("no seeds and no pages yet: run `recrawl add URL`, or add seeds in the dashboard");
        return;
    }
    // Otherwise a daemon that is started within a cycle says nothing for hours.
    let period = crawl.settings.config.cycle.period.0.as_millis() as u64;
    let next = crawl.so_far.started.map(|started| started.saturating_add(period));
    if let Some(at) = next.filter(|at| *at > (crawl.clock)()) {
        tracing::info!("the next cycle begins at {}", timestamp(at));
    }
}

/// Removes seeds that are known now. If they cannot be removed, the next commit does it.
fn forget(seeds: &[CanonicalUrl], crawl: &Crawl, shared: &SharedState) {
    if let Err(failure) = crawl.control.forget_seeds(seeds) {
        tracing::error!("cannot remove committed seeds from the queue: {failure}");
        shared.failed(&failure);
    }
}

/// The configured stream of events.
fn events_of(crawl: &Crawl) -> Result<Option<Events>, Failure> {
    let at = &crawl.settings.config.serve.events;
    if at.as_os_str().is_empty() {
        Ok(None)
    } else {
        Events::open(at, crawl, process::printer(crawl)).map(Some)
    }
}

/// Adds the events of the cycle. If that fails, they follow after the next commit.
fn tell(events: &mut Option<Events>, crawl: &Crawl, shared: &SharedState) {
    let Some(events) = events else { return };
    shared.set_phase(CrawlPhase::Waiting {
        cycle_at: None,
        next: None,
        what: Some("the reader of the events"),
    });
    if let Err(failure) = events.follow(crawl) {
        tracing::error!("cannot write events, retrying after the next commit: {failure}");
    }
}

/// The socket for commands. Some file systems have no sockets; the crawl goes on without.
fn control_socket(settings: &Settings) -> Option<LocalSocket> {
    let path = settings.data_dir.join(SOCKET);
    let socket = LocalSocket::bind(&path);
    let path = path.display();
    socket.inspect_err(|e| tracing::error!("no command can reach this daemon: cannot open {path}: {e}")).ok()
}

fn console_config(
    settings: &Settings,
    listen: SocketAddr,
    tokens: Option<Tokens>,
) -> Result<ConsoleConfig, Failure> {
    let serve = &settings.config.serve;
    Ok(ConsoleConfig {
        listen,
        names: serve.names.clone(),
        connections: serve.connections as usize,
        requests: serve.requests,
        tokens,
        sessions: Arc::default(),
        audit: audit::log(&settings.data_dir)?,
    })
}
