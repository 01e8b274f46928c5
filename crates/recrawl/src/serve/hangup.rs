//! SIGHUP: read the configuration anew. Tokens are read at once; the rest at the next boundary of cycles. And who started
//! the daemon is told at once that a signal ends it.

use super::desk::Desk;
use super::notify;
use super::{Console, tokens_of};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGHUP caught: until somebody listens it is only kept from ending the program, as it otherwise would.
pub struct Caught {
    runtime: Runtime,
    hangups: Signal,
}

/// Whether a SIGHUP came. Dropped, it no longer listens.
pub struct Hangup {
    came: Arc<AtomicBool>,
    end: CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

impl Caught {
    /// Catches SIGHUP from now on. To be called before anybody is told that the daemon is there.
    ///
    /// # Errors
    /// When the system gives no signal handler.
    pub fn new() -> io::Result<Caught> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let hangups = runtime.block_on(async { signal(SignalKind::hangup()) })?;
        Ok(Caught { runtime, hangups })
    }

    /// Listens on a thread of its own, so that tokens are taken back whatever the crawl is busy with.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn listen(self, desk: Arc<Desk>, console: Console) -> io::Result<Hangup> {
        let Caught { runtime, mut hangups } = self;
        let (came, end) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let (told, ended) = (came.clone(), end.clone());
        let listen = async move {
            let mut is_stopping = false;
            loop {
                tokio::select! {
                    biased;
                    () = desk.stop().cancelled(), if !is_stopping => {
                        is_stopping = true;
                        notify::stopping();
                        continue;
                    }
                    () = ended.cancelled() => return,
                    _ = hangups.recv() => {}
                }
                match tokens_of(&desk.settings()) {
                    Ok(tokens) => console.set_tokens(tokens),
                    // Nobody is to be locked out by a file that is just being replaced, or a disk that is not mounted.
                    Err(error) => tracing::error!(
                        "the tokens of before stay in force (an empty file takes them all back): {error}"
                    ),
                }
                told.store(true, Relaxed);
                desk.wake();
            }
        };
        let thread = thread::Builder::new().name("hangup".into()).spawn(move || runtime.block_on(listen))?;
        Ok(Hangup { came, end, thread: Some(thread) })
    }
}

impl Hangup {
    /// Did one come since this was asked last?
    pub fn take(&self) -> bool {
        self.came.swap(false, Relaxed)
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            // It holds the console, which must be let go of before that can be waited for.
            drop(thread.join());
        }
    }
}
