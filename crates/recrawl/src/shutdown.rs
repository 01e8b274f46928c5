//! SIGINT and SIGTERM: finish what is under way, record it, exit 0. At the second one: end at once. Nothing is lost
//! by that but what is under way, as with `kill -9`: what is recorded is in the visit log.

use crate::logging;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tracing::Level;

/// What a shell calls the end of a program by SIGINT: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// The one runtime of the program, and the token that a signal cancels.
pub struct Shutdown {
    runtime: Runtime,
    token: CancellationToken,
}

impl Shutdown {
    /// Starts the runtime and listens for the signals, of which the first is answered with `notice`, and the second
    /// with the end. One thread for the runtime: the fetcher waits more than it works. Signals have one of their own, so
    /// that the second is heard whatever the program is busy with.
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

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The token.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Has a signal come?
    pub fn requested(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits so long, or until a signal comes; true when it was a signal.
    pub fn wait(&self, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.token.cancelled() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "to leave the pages in flight is what the second signal asks for"
)]
fn end_at_once() -> ! {
    std::process::exit(INTERRUPTED)
}
