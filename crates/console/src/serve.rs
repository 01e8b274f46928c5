//! Start and shutdown: the sockets, and a thread with its own runtime.
//!
//! The console does not share the crawl's runtime. A burst of requests does not slow down fetching,
//! and a busy crawl does not delay `/health`.

use crate::api;
use crate::config::ConsoleConfig;
use crate::connection::{self, LocalListener};
use crate::console::Console;
use crate::local::{LocalSocket, MAX_LOCAL_CONNECTIONS};
use crate::publish;
use crate::relay::FleetAnswers;
use crate::token::Tokens;
use crate::view::CrawlView;
use axum::Router;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{self, Handle};
use tokio_util::sync::CancellationToken;

/// Threads for requests and responses. Reads of the crawl run on blocking threads.
const THREADS: usize = 2;

/// A running console.
pub struct RunningConsole {
    address: SocketAddr,
    pub(crate) console: Arc<Console>,
    router: Router,
    runtime: Handle,
    thread: JoinHandle<()>,
}

impl RunningConsole {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the tokens that authorize changes.
    pub fn set_tokens(&self, tokens: Option<Tokens>) {
        self.console.set_tokens(tokens);
    }

    /// Answers questions of other partitions as the process of a fleet that has this name. Of no use once it has ended.
    pub fn fleet_answers(&self, node: String) -> FleetAnswers {
        FleetAnswers { router: self.router.clone(), runtime: self.runtime.clone(), node }
    }

    /// Logs the one-time link, if changes need one.
    pub fn offer_link(&self) {
        self.console.offer_link();
    }

    /// Waits until the console has ended, about 5 seconds after `stop` at most.
    ///
    /// # Errors
    /// If the console thread panicked, which is a bug.
    pub fn join(self) -> Result<(), ServeError> {
        self.thread.join().map_err(|_| ServeError::Panicked)
    }
}

/// Serves `view` on a new thread until `stop` is cancelled, also at the local socket, if there is one.
///
/// # Errors
/// If the configuration is invalid, the address cannot be bound, or no thread can be started.
pub fn serve(
    view: Arc<dyn CrawlView>,
    mut config: ConsoleConfig,
    local: Option<LocalSocket>,
    stop: CancellationToken,
) -> Result<RunningConsole, ServeError> {
    if let Some((key, todo)) = config.wrong() {
        return Err(ServeError::Config { key, todo });
    }
    let (listener, address) = bind(config.listen)?;
    tracing::info!("the console is at http://{address}/");
    if !address.ip().is_loopback() {
        tracing::warn!("everyone who can reach {address} can read the crawl's state; see docs/console.md");
    }
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("console")
        .enable_all()
        .build()
        .map_err(ServeError::Thread)?;
    // A listener belongs to the runtime in which it is made.
    let (listener, local) = {
        let _inside = runtime.enter();
        let local = local.map(LocalListener::new).transpose().map_err(ServeError::Local)?;
        (in_runtime(listener, address)?, local)
    };
    // Port 0 was asked for any free port: links and cookies need the real one.
    config.listen = address;
    let connections = config.connections;
    let console = Console::new(view, config, stop.clone());
    console.offer_first_link();
    let shared = console.clone();
    let (router, handle) = (api::router(console.clone()), runtime.handle().clone());
    let routes = router.clone();
    let work = move || {
        runtime.block_on(async {
            tokio::spawn(publish::publish(shared.clone()));
            let too_many = || shared.traffic.connection_rejected();
            let of_network =
                connection::accept(listener, router.clone(), connections, too_many, stop.clone());
            let of_machine = async {
                if let Some(local) = local {
                    connection::accept(local, router, MAX_LOCAL_CONNECTIONS, too_many, stop).await;
                }
            };
            tokio::join!(of_network, of_machine);
        });
        // A hanging read of the crawl must not block the shutdown.
        runtime.shutdown_background();
    };
    let thread = thread::Builder::new().name("console".into()).spawn(work).map_err(ServeError::Thread)?;
    Ok(RunningConsole { address, console, router: routes, runtime: handle, thread })
}

fn cannot(address: SocketAddr) -> impl Fn(io::Error) -> ServeError {
    move |source| ServeError::Listen { address, source }
}

/// A socket that listens, and its address.
pub(crate) fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let listener = TcpListener::bind(listen).map_err(cannot(listen))?;
    listener.set_nonblocking(true).map_err(cannot(listen))?;
    let address = listener.local_addr().map_err(cannot(listen))?;
    Ok((listener, address))
}

/// The socket for the runtime that this is called in.
pub(crate) fn in_runtime(
    listener: TcpListener,
    address: SocketAddr,
) -> Result<tokio::net::TcpListener, ServeError> {
    tokio::net::TcpListener::from_std(listener).map_err(cannot(address))
}

/// Why the console failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A value of the section `serve` is invalid.
    #[error("serve.{key}: {todo}")]
    Config {
        /// Key.
        key: &'static str,
        /// What to do.
        todo: String,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; free the port or change serve.listen")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The local socket cannot be used.
    #[error("cannot listen on the control socket: {0}")]
    Local(#[source] io::Error),
    /// No thread can be started.
    #[error("cannot start the console thread: {0}; raise the process limit")]
    Thread(#[source] io::Error),
    /// The console thread panicked.
    #[error("the console thread panicked; please report the preceding messages")]
    Panicked,
}
