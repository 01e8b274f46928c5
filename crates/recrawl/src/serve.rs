//! The crawl as a daemon: cycle after cycle on this thread, and beside it the console, through which people look at it
//! and steer it.
//!
//! Readers never wait for a cycle, nor it for them: what they read is laid out on the [`desk::Desk`].

mod audit;
mod changes;
mod desk;
mod disk;
mod errors;
mod formulas;
mod hangup;
mod hosts;
mod next;
mod notify;
mod pages;
mod reload;
mod rhythm;
mod scans;
mod status;
mod texts;
mod view;

use crate::cli::ServeArgs;
use crate::crawl::Crawl;
use crate::cycle::{self, Turn};
use crate::events::Events;
use crate::failure::Failure;
use crate::files;
use crate::logging;
use crate::settings::Settings;
use desk::{Desk, Phase};
use hangup::Hangup;
use recrawl_console::{ConsoleConfig, Running, ServeError, Tokens};
use recrawl_repository::ScheduleFile;
use rhythm::Rhythm;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use view::View;

/// How often the time of day is looked at while the next cycle is not due: clocks are set, and machines sleep.
const TICK: Duration = Duration::from_secs(1);
/// After a cycle that failed the next try is so far off; twice as far after each, up to [`MAX_RETRY`].
const FIRST_RETRY: Duration = Duration::from_secs(60);
/// See [`FIRST_RETRY`].
const MAX_RETRY: Duration = Duration::from_secs(3600);

/// Runs until a signal comes.
///
/// # Errors
/// When it cannot begin. A cycle that fails later is tried again.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let mut settings = args.at.settings()?;
    logging::start(&settings.config.log, "info")?;
    let hangup = hangup::Caught::new().map_err(Failure::work)?;
    let console = settings.config.serve.connections;
    files::make_room(&mut settings, console)?;
    let tokens = tokens_of(&settings)?;
    let mut crawl = Crawl::open(settings, &[], args.random_seed)?;
    let desk = Arc::new(Desk::new(&crawl)?);
    let end = CancellationToken::new();
    let console = recrawl_console::serve(
        Arc::new(View::new(desk.clone())),
        console_config(&crawl.settings, tokens)?,
        // Not the crawl's own: how it stops can be looked at.
        end.clone(),
    );
    let console = Arc::new(console.map_err(|e| match e {
        ServeError::Config { .. } => Failure::usage(e),
        other => Failure::work(other),
    })?);
    let hangup = hangup.listen(desk.clone(), console.clone()).map_err(Failure::work)?;
    let stall = crawl.settings.config.serve.stall.0;
    let mut events = events_of(&crawl)?;
    let _watchdog = notify::ready(desk.clone(), stall).map_err(Failure::work)?;
    let _disk = disk::watch(desk.clone(), crawl.storage.clone()).map_err(Failure::work)?;
    let ended = crawl_on(args, &mut crawl, &desk, &console, &hangup, &mut events);
    // A failure ends it too, and then no signal has come.
    crawl.shutdown.token().cancel();
    crawl.control.keep_answers();
    crawl.tables.flush()?;
    end.cancel();
    drop(hangup);
    if let Some(console) = Arc::into_inner(console) {
        console.join().map_err(Failure::work)?;
    }
    ended
}

/// Cycle after cycle, as they are due and as operators let them.
fn crawl_on(
    args: &ServeArgs,
    crawl: &mut Crawl,
    desk: &Desk,
    console: &Running,
    hangup: &Hangup,
    events: &mut Option<Events>,
) -> Result<(), Failure> {
    let mut rhythm = Rhythm::new(desk.last_started(), desk.now(), desk.uptime());
    let mut failures = 0;
    let cycle = crawl.repository.current().number().next();
    // A cycle that was begun goes on at once.
    let mut is_begun = ScheduleFile::open(&*crawl.storage, cycle).map_err(Failure::work)?.is_some();
    while !crawl.shutdown.requested() {
        let is_called = hangup.take();
        if is_called {
            reload::reload(args, crawl, desk, console);
            if let Some(Err(failure)) = events.as_mut().map(|events| events.reopen(crawl)) {
                tracing::error!("events go where they went: {failure}");
            }
        }
        if desk.take_changed() || is_called {
            // What was in the way of the last cycle may be gone.
            failures = 0;
            rhythm.retry_now();
        }
        crawl.live.moved();
        let period = crawl.settings.config.cycle.period.0;
        let is_empty = crawl.repository.current().pages() == 0;
        let has_nothing = is_empty && !crawl.control.has_seeds();
        let left = match () {
            () if has_nothing => TICK,
            () if is_empty || is_begun => Duration::ZERO,
            () => rhythm.left(period, desk.now(), desk.uptime()),
        };
        let left = left.max(rhythm.retry_in(desk.uptime()));
        if crawl.control.paused().is_some() || !left.is_zero() {
            desk.wait(&crawl.shutdown, left, has_nothing);
            continue;
        }
        desk.set_phase(Phase::Crawling);
        rhythm.began(desk.now(), desk.uptime());
        let seeds = crawl.control.seeds();
        let turned = crawl.admit(&seeds).and_then(|()| {
            desk.set_settings(&crawl.settings);
            cycle::turn(crawl, &seeds)
        });
        crawl.live.ended();
        match turned {
            Ok(Turn::Interrupted) => tracing::info!("stopped; the next start goes on with this cycle"),
            Ok(Turn::Committed(report)) => {
                (failures, is_begun) = (0, false);
                report.log();
                // A cycle that was taken up began before this process did.
                rhythm = Rhythm::new(Some(report.started), desk.now(), desk.uptime());
                desk.committed(crawl, *report);
                // They are known now: should they go on waiting, that is found at the next commit.
                if let Err(failure) = crawl.control.forget_seeds(&seeds) {
                    tracing::error!("seeds that are known now go on waiting: {failure}");
                    desk.failed(&failure);
                }
                tell(events, crawl, desk);
            }
            Err(failure) => {
                let wait = FIRST_RETRY.saturating_mul(1 << failures.min(16)).min(MAX_RETRY);
                tracing::error!("the cycle failed, the next try is in {wait:?}: {failure}");
                failures += 1;
                is_begun = true;
                rhythm.retry_at(desk.uptime() + wait);
                desk.failed(&failure);
            }
        }
    }
    Ok(())
}

/// The stream of events that the configuration asks for.
fn events_of(crawl: &Crawl) -> Result<Option<Events>, Failure> {
    let at = &crawl.settings.config.serve.events;
    if at.as_os_str().is_empty() { Ok(None) } else { Events::open(at, crawl).map(Some) }
}

/// Adds the events of the cycle. What cannot be added now is after the next.
fn tell(events: &mut Option<Events>, crawl: &Crawl, desk: &Desk) {
    let Some(events) = events else { return };
    desk.set_phase(Phase::Waiting { next: None, what: Some("whoever reads the events") });
    if let Err(failure) = events.follow(crawl) {
        tracing::error!("events wait for the next commit: {failure}");
    }
}

fn console_config(settings: &Settings, tokens: Option<Tokens>) -> Result<ConsoleConfig, Failure> {
    let serve = &settings.config.serve;
    Ok(ConsoleConfig {
        listen: serve.listen,
        names: serve.names.clone(),
        connections: serve.connections as usize,
        requests: serve.requests,
        stall: serve.stall.0,
        tokens,
        audit: audit::log(&settings.data_dir)?,
    })
}

/// Whose changes are taken: those of the file `serve.tokens`; nobody's where none is named, or nobody is in it.
///
/// # Errors
/// When the file cannot be read, others can read it, or a line of it is none.
pub fn tokens_of(settings: &Settings) -> Result<Option<Tokens>, Failure> {
    let path = &settings.config.serve.tokens;
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    Tokens::read(path).map(Some).map_err(|e| Failure::Usage(format!("serve.tokens: {e}")))
}

/// What a console that runs is shared as.
type Console = Arc<Running>;
