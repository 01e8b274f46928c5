//! What the program says on standard error: events of its log, and plain words.
//!
//! All of it goes through one [`Queue`], which a thread of its own writes out. So nothing else ever waits for whoever
//! reads standard error, and a reader that stands still costs lines, which are counted, and no more.

mod queue;

use crate::failure::Failure;
use queue::Queue;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// What is on its way.
static QUEUE: Queue = Queue::new();
/// Does somebody write it out?
static STARTED: OnceLock<()> = OnceLock::new();
/// A reader that takes no line for so long, once the program is about to end, takes none any more.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same, where the end is wanted at once.
const SHORT_PATIENCE: Duration = Duration::from_millis(200);

/// Logs to standard error from now on: what `usual` says, unless RECRAWL_LOG says otherwise.
///
/// # Errors
/// When RECRAWL_LOG is no filter, or there is no thread to be had.
#[expect(clippy::disallowed_methods, reason = "says more, or less, of the same results")]
pub fn start(usual: &str) -> Result<(), Failure> {
    let text = std::env::var("RECRAWL_LOG").unwrap_or_else(|_| usual.into());
    let filter = EnvFilter::builder().parse(text).map_err(|e| Failure::Usage(format!("RECRAWL_LOG: {e}")))?;
    let write = || loop {
        QUEUE.write(&mut io::stderr(), &gap);
    };
    thread::Builder::new().name("log".into()).spawn(write)?;
    STARTED.get_or_init(|| ());
    std::panic::set_hook(Box::new(|panic| {
        say(&panic.to_string());
        settle_soon();
    }));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Line).with_target(false).init();
    Ok(())
}

/// Says something that is no event of the log: why the program ends.
pub fn say(text: &str) {
    let line = format!("recrawl: {text}\n");
    match STARTED.get() {
        Some(()) => QUEUE.put(line.as_bytes()),
        // What cannot be said, since nobody is there to hear it, is no reason to fail.
        None => drop(io::stderr().write_all(line.as_bytes())),
    }
}

/// Waits until all is said, at the end of the program; not for a reader that stands still.
pub fn settle() {
    QUEUE.settle(PATIENCE);
}

/// The same, with hardly any patience.
pub fn settle_soon() {
    QUEUE.settle(SHORT_PATIENCE);
}

/// Lines that nobody took, since the process began.
pub fn lost() -> u64 {
    QUEUE.lost()
}

/// What stands where lines were lost.
fn gap(lines: u64) -> String {
    format!("recrawl: here {lines} lines of the log are lost: standard error took none\n")
}

/// Takes an event: it is written in one piece.
struct Line;

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        QUEUE.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
