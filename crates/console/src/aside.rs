//! While a command has the data directory alone, nothing of the crawl is open. Supervisors must still see that the daemon
//! lives: a restart would kill the command.

use crate::connection;
use crate::problem::Problem;
use crate::serve::ServeError;
use axum::Router;
use axum::http::Uri;
use axum::routing::get;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use tokio::runtime;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Connections at a time. Only supervisors ask.
const CONNECTIONS: usize = 16;
/// Seconds after which clients may ask again.
const RETRY: u32 = 10;

/// Answers until it is dropped.
pub struct Aside {
    stop: Option<DropGuard>,
    thread: Option<JoinHandle<()>>,
}

impl Aside {
    /// Answers at the console's address: `/health` with 200 and the state `aside`, all else with 503.
    ///
    /// # Errors
    /// If the address cannot be bound, or no thread can be started.
    pub fn answer(listen: SocketAddr) -> Result<Aside, ServeError> {
        let cannot = |source| ServeError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Thread)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(cannot)?
        };
        let health = async || axum::Json(json!({"state": "aside"}));
        let router = Router::new().route("/health", get(health)).fallback(async |uri: Uri| {
            Problem::busy("a command has the data directory alone").retry_after(RETRY).render(uri.path())
        });
        let stop = CancellationToken::new();
        let answers = connection::accept(listener, router, CONNECTIONS, || {}, stop.clone());
        let work = move || runtime.block_on(answers);
        let thread = thread::Builder::new().name("console".into()).spawn(work).map_err(ServeError::Thread)?;
        Ok(Aside { stop: Some(stop.drop_guard()), thread: Some(thread) })
    }
}

/// Frees the address.
impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that answered for the console panicked");
        }
    }
}
