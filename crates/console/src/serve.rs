//! Starting and ending: a socket, a thread with a runtime of its own, and a given time to end in.
//!
//! The runtime is apart from the crawl's, so that a burst of requests takes no turn from fetching, and a crawl that
//! computes does not keep `/health` waiting.

use crate::api;
use crate::config::ConsoleConfig;
use crate::connection;
use crate::console::Console;
use crate::news;
use crate::token::Tokens;
use crate::view::CrawlView;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime;
use tokio_util::sync::CancellationToken;

/// Threads that read requests and write answers; questions to the crawl run on others.
const THREADS: usize = 2;
/// After `stop`, requests under way have so long to end.
pub const GRACE: Duration = Duration::from_secs(5);

/// A console that runs.
pub struct Running {
    address: SocketAddr,
    pub(crate) console: Arc<Console>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whose changes are taken from now on; none for nobody's.
    pub fn set_tokens(&self, tokens: Option<Tokens>) {
        self.console.set_tokens(tokens);
    }

    /// Waits until it has ended, at most some [`GRACE`] after it was told to stop.
    ///
    /// # Errors
    /// When its thread broke off, which is a bug.
    pub fn join(self) -> Result<(), ServeError> {
        self.thread.join().map_err(|_| ServeError::BrokeOff)
    }
}

/// Serves what `view` shows, on a thread of its own, until `stop` is cancelled.
///
/// # Errors
/// When the configuration can never work, the address cannot be listened at, or the machine has no more threads.
pub fn serve(
    view: Arc<dyn CrawlView>,
    config: ConsoleConfig,
    stop: CancellationToken,
) -> Result<Running, ServeError> {
    if let Some((key, todo)) = config.wrong() {
        return Err(ServeError::Config { key, todo });
    }
    let listen = config.listen;
    let cannot = |source| ServeError::Listen { address: listen, source };
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    tracing::info!("the console is at http://{address}/");
    if !address.ip().is_loopback() {
        tracing::warn!("whoever reaches {address} can look at the crawl; see docs/console.md");
    }
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("console")
        .enable_all()
        .build()
        .map_err(ServeError::Thread)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(cannot)?
    };
    let connections = config.connections;
    let console = Console::new(view, config, stop.clone());
    let shared = console.clone();
    let work = move || {
        runtime.block_on(async {
            tokio::spawn(news::tell(shared.clone()));
            let router = api::router(shared.clone());
            connection::accept(listener, router, connections, || shared.traffic.turned_away(), stop).await;
        });
        // A question to the crawl that hangs must not keep the process from ending.
        runtime.shutdown_background();
    };
    let thread = thread::Builder::new().name("console".into()).spawn(work).map_err(ServeError::Thread)?;
    Ok(Running { address, console, thread })
}

/// Why there is no console.
#[derive(Debug)]
pub enum ServeError {
    /// A value of the section `serve` can never work.
    Config {
        /// Its key.
        key: &'static str,
        /// What to write instead.
        todo: String,
    },
    /// The address cannot be listened at.
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The machine has no more threads.
    Thread(io::Error),
    /// Its thread panicked.
    BrokeOff,
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Config { key, todo } => write!(f, "serve.{key}: {todo}"),
            ServeError::Listen { address, source } => {
                write!(
                    f,
                    "cannot listen at {address}: {source}; free the port, or choose another by serve.listen"
                )
            }
            ServeError::Thread(e) => {
                write!(f, "the console gets no thread: {e}; raise the limit of processes")
            }
            ServeError::BrokeOff => {
                f.write_str("the console broke off; please report the messages before this one")
            }
        }
    }
}

impl Error for ServeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ServeError::Listen { source, .. } | ServeError::Thread(source) => Some(source),
            ServeError::Config { .. } | ServeError::BrokeOff => None,
        }
    }
}
