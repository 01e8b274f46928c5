//! The process: signals, logs, traces, terminal and standard output.

pub mod clock;
pub mod colour;
pub mod logging;
pub mod open_files;
pub mod progress_bar;
pub mod signals;
pub mod stdout;
pub mod terminal;
pub mod traces;

use progress_bar::CycleBar;
use recrawl_crawl::process::{Printer, Process, Shutdown};
use recrawl_crawl::{Crawl, Failure};
use ring::rand::{SecureRandom, SystemRandom};
use stdout::Printed;

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
pub fn of_crawl(shutdown: Shutdown) -> Result<Process, Failure> {
    let mut tag = [0; 6];
    let random = SystemRandom::new().fill(&mut tag);
    random.map_err(|_| Failure::Work("the system gives no random numbers".into()))?;
    let archive_tag = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Process { shutdown, display: Box::new(CycleBar::default()), archive_tag })
}

/// Standard output. A crawl that stops does not wait for a stalled reader.
pub fn printer(crawl: &Crawl) -> Box<dyn Printer> {
    Box::new(Printed::new(crawl.shutdown.token().clone()))
}
