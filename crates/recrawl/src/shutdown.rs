//! Handles SIGINT and SIGTERM: the first stops after the pages in flight with exit code 0, the
//! second stops at once. Like `kill -9`, the second loses only the pages in flight: all others are
//! in the visit log.

use crate::logging;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tracing::Level;

/// Exit code of a program ended by SIGINT: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// The runtime of the program, and the token that a signal cancels.
pub struct Shutdown {
    runtime: Runtime,
    token: CancellationToken,
}

impl Shutdown {
    /// Starts the runtime and listens for the signals. The first one logs `notice`, the second
    /// exits. One thread is enough for the runtime: the fetcher waits more than it works. Signals
    /// have another, so that the second one is handled whatever the program is doing.
    ///
    /// # Errors
    /// When the system gives no event queue or no signal handler.
    pub fn new(notice: &'static str) -> std::io::Result<Shutdown> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let token = CancellationToken::new();
        let cancel = token.clone();
        let listener = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (mut interrupt, mut terminate) = listener.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
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
        Ok(Shutdown { runtime, token })
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Did a signal come?
    pub fn requested(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits for `time` or a signal; returns true if it was a signal.
    pub fn wait(&self, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.token.cancelled() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "the second signal abandons pages in flight")]
fn end_at_once() -> ! {
    std::process::exit(INTERRUPTED)
}
