//! The process: signals, traces, and what it provides to a crawl.

mod cycle_bar;
pub mod open_files;
pub mod signals;
pub mod stdout;
pub mod traces;

use crate::converter::Commands;
use cycle_bar::CycleBar;
use recrawl_crawl::config::Log;
use recrawl_crawl::process::{Printer, ProgramServices, Shutdown};
use recrawl_crawl::{Crawl, Failure};
use recrawl_terminal::logging;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;
use stdout::Printed;
use traces::Collector;

/// Starts the log, and the traces if the configuration has a collector.
///
/// # Errors
/// When a filter or the collector is invalid, or no thread can be started.
pub fn start_log(log: &Log, usual: &'static str) -> Result<(), Failure> {
    let collector = Collector::parse(&log.otlp).map_err(|e| Failure::Usage(format!("log.otlp: {e}")))?;
    logging::start(log, usual, collector.map(traces::start).transpose()?)
}

/// Checks the configuration of log and traces.
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check_log(log: &Log) -> Result<(), String> {
    Collector::parse(&log.otlp).map_err(|e| format!("log.otlp: {e}"))?;
    logging::check(log)
}

/// Stops a crawl at a signal. Call it once.
///
/// # Errors
/// When the system gives no event queue or no signal handler.
pub fn stopped_by_signals() -> Result<Shutdown, Failure> {
    Ok(signals::shutdown("stopping after the pages in flight (a second signal stops at once)")?)
}

/// What this process provides to a crawl.
///
/// # Errors
/// When the system gives no random numbers.
pub fn of_crawl(shutdown: Shutdown) -> Result<ProgramServices, Failure> {
    let archive_tag = random_tag()?;
    let (display, converter) = (Box::new(CycleBar::default()), Arc::new(Commands));
    Ok(ProgramServices { shutdown, display, archive_tag, converter })
}

/// Letters and digits that no other process has.
///
/// # Errors
/// When the system gives no random numbers.
pub fn random_tag() -> Result<String, Failure> {
    let mut tag = [0; 6];
    let random = SystemRandom::new().fill(&mut tag);
    random.map_err(|_| Failure::Work("the system gives no random numbers".into()))?;
    Ok(tag.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Standard output. A crawl that stops does not wait for a stalled reader.
pub fn printer(crawl: &Crawl) -> Box<dyn Printer> {
    Box::new(Printed::new(crawl.shutdown.token().clone()))
}
