//! Handles SIGINT and SIGTERM: the first stops after the pages in flight with exit code 0, the
//! second stops at once. Like `kill -9`, the second loses only the pages in flight: all others are
//! in the visit log.
//!
//! SIGXFSZ, at the limit of a file's size (`ulimit -f`), ends no process: the write that failed tells of it, as of a full disk.

use recrawl_crawl::process::Shutdown;
use recrawl_terminal::logging;
use tracing::Level;

/// Exit code of a program ended by SIGINT: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// Starts a runtime that the signals stop. The first one logs `notice`, the second exits. Signals have a
/// thread of their own, so that the second one is handled whatever the program is doing.
///
/// # Errors
/// When the system gives no event queue or no signal handler.
pub fn shutdown(notice: &'static str) -> std::io::Result<Shutdown> {
    let shutdown = Shutdown::new()?;
    let cancel = shutdown.token().clone();
    let listener = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = listener.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        // A handler stays, also without a receiver.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok::<_, std::io::Error>((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    })?;
    let listen = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        logging::say(Level::INFO, notice);
        cancel.cancel();
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        logging::say(Level::WARN, "stopped at once");
        logging::settle_soon();
        end_at_once();
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || listener.block_on(listen))?;
    Ok(shutdown)
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "the second signal abandons pages in flight")]
fn end_at_once() -> ! {
    std::process::exit(INTERRUPTED)
}
