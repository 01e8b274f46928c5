//! Handles SIGHUP: tokens are read at once, the rest of the configuration between cycles. Also
//! notifies systemd when a signal stops the daemon.

use super::notify;
use super::shared_state::SharedState;
use crate::tokens::tokens_of;
use recrawl_console::RunningConsole;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGHUP is caught, so that it does not end the program, but not yet handled.
pub struct Caught {
    runtime: Runtime,
    hangups: Signal,
}

/// Handles SIGHUP until it is dropped.
pub struct Sighup {
    came: Arc<AtomicBool>,
    end: CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

impl Caught {
    /// Catches SIGHUP from now on. Call this before the daemon reports that it is ready.
    ///
    /// # Errors
    /// When the system gives no signal handler.
    pub fn new() -> io::Result<Caught> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let hangups = runtime.block_on(async { signal(SignalKind::hangup()) })?;
        Ok(Caught { runtime, hangups })
    }

    /// Handles the signal on a thread of its own, so that tokens are revoked at once whatever the
    /// crawl is doing. `signals` is cancelled when a signal stops the daemon, and not when it steps aside.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn listen(
        self,
        shared: Arc<SharedState>,
        console: Arc<RunningConsole>,
        signals: CancellationToken,
    ) -> io::Result<Sighup> {
        let Caught { runtime, mut hangups } = self;
        let (came, end) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let (told, ended) = (came.clone(), end.clone());
        let listen = async move {
            let mut is_stopping = false;
            loop {
                tokio::select! {
                    biased;
                    () = signals.cancelled(), if !is_stopping => {
                        is_stopping = true;
                        notify::stopping();
                        continue;
                    }
                    () = ended.cancelled() => return,
                    _ = hangups.recv() => {}
                }
                match tokens_of(&shared.settings()) {
                    Ok(tokens) => console.set_tokens(tokens),
                    // Keep the tokens if the file is just being replaced, or its disk is not
                    // mounted.
                    Err(error) => tracing::error!(
                        "cannot read the tokens file, keeping the previous tokens \
                         (an empty file revokes all): {error}"
                    ),
                }
                console.offer_link();
                told.store(true, Relaxed);
                shared.wake();
            }
        };
        let thread = thread::Builder::new().name("hangup".into()).spawn(move || runtime.block_on(listen))?;
        Ok(Sighup { came, end, thread: Some(thread) })
    }
}

impl Sighup {
    /// Did a SIGHUP come since the last call?
    pub fn take(&self) -> bool {
        self.came.swap(false, Relaxed)
    }
}

impl Drop for Sighup {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            // The thread holds the console, which must be released before it can be joined.
            drop(thread.join());
        }
    }
}
