//! SIGINT and SIGTERM: finish what is under way, record it, exit 0.

use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The one runtime of the program, and the token that a signal cancels.
pub struct Shutdown {
    runtime: Runtime,
    token: CancellationToken,
}

impl Shutdown {
    /// Starts the runtime and listens for the signals, of which the first is answered with `notice`. One thread: the
    /// fetcher waits more than it works.
    ///
    /// # Errors
    /// When the system gives no event queue or no signal handler.
    pub fn new(notice: &'static str) -> std::io::Result<Shutdown> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let token = CancellationToken::new();
        let cancel = token.clone();
        let (mut interrupt, mut terminate) = runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            Ok::<_, std::io::Error>((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
        })?;
        runtime.spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            eprintln!("recrawl: {notice}");
            cancel.cancel();
        });
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

    /// Has a signal come? Lets the runtime look first: signals that came during a merge are noticed here.
    pub fn requested(&self) -> bool {
        self.runtime.block_on(tokio::task::yield_now());
        self.runtime.block_on(tokio::task::yield_now());
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
