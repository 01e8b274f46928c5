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
use stdout::Printed;

/// Stops a crawl at a signal. Call it once.
///
/// # Errors
/// When the system gives no event queue or no signal handler.
pub fn stopped_by_signals() -> Result<Shutdown, Failure> {
    Ok(signals::shutdown("stopping after the pages in flight (a second signal stops at once)")?)
}

/// What this process provides to a crawl.
pub fn of_crawl(shutdown: Shutdown) -> Process {
    Process { shutdown, display: Box::new(CycleBar::default()) }
}

/// Standard output. A crawl that stops does not wait for a stalled reader.
pub fn printer(crawl: &Crawl) -> Box<dyn Printer> {
    Box::new(Printed::new(crawl.shutdown.token().clone()))
}
