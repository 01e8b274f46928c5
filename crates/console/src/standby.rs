//! While a command has the data directory alone, nothing of the crawl is open. Supervisors must still see that the daemon
//! lives: a restart would kill the command.

use crate::connection;
use crate::problem::Problem;
use crate::serve::{self, ServeError};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::runtime;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Connections at a time. Only supervisors ask.
const CONNECTIONS: usize = 16;
/// Seconds after which clients may ask again.
const RETRY: u32 = 10;

/// Answers until it is dropped.
pub struct StandbyConsole {
    failing: Arc<Mutex<Option<String>>>,
    waits: Arc<Mutex<String>>,
    stop: Option<DropGuard>,
    thread: Option<JoinHandle<()>>,
}

impl StandbyConsole {
    /// Answers at the console's address: `/health` with 200 and this state, unless [`StandbyConsole::fails`], all else with
    /// 503 and why.
    ///
    /// # Errors
    /// If the address cannot be bound, or no thread can be started.
    pub fn answer(
        listen: SocketAddr,
        state: &'static str,
        waits: &str,
    ) -> Result<StandbyConsole, ServeError> {
        let (listener, address) = serve::bind(listen)?;
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Thread)?;
        let listener = {
            let _inside = runtime.enter();
            serve::in_runtime(listener, address)?
        };
        let failing = Arc::new(Mutex::new(None::<String>));
        let (of_health, of_rest) = (failing.clone(), failing.clone());
        let health = move |uri: Uri| async move {
            match why(&of_health) {
                None => Json(json!({"state": state})).into_response(),
                Some(why) => busy(why, &uri),
            }
        };
        let waits = Arc::new(Mutex::new(waits.to_owned()));
        let told = waits.clone();
        let rest = move |uri: Uri| async move {
            let waits = || told.lock().unwrap_or_else(PoisonError::into_inner).clone();
            busy(why(&of_rest).unwrap_or_else(waits), &uri)
        };
        let router = Router::new().route("/health", get(health)).fallback(rest);
        let stop = CancellationToken::new();
        let answers = connection::accept(listener, router, CONNECTIONS, || {}, stop.clone());
        let work = move || runtime.block_on(answers);
        let thread = thread::Builder::new().name("console".into()).spawn(work).map_err(ServeError::Thread)?;
        Ok(StandbyConsole { failing, waits, stop: Some(stop.drop_guard()), thread: Some(thread) })
    }

    /// Nothing of the crawl is open for this reason from now on, and nothing fails any more.
    pub fn waits(&self, why: String) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// The command has ended, and the crawl cannot be opened for this reason: a supervisor may help.
    pub fn fails(&self, why: String) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

fn why(failing: &Mutex<Option<String>>) -> Option<String> {
    failing.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn busy(why: String, uri: &Uri) -> Response {
    Problem::busy(why).retry_after(RETRY).render(uri.path())
}

/// Frees the address.
impl Drop for StandbyConsole {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that answered for the console panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_again_fails_no_more() {
        let answers = StandbyConsole::answer(([127, 0, 0, 1], 0).into(), "standby", "waits").unwrap();
        answers.fails("the store does not answer".into());
        assert!(why(&answers.failing).is_some());
        answers.waits("others own all".into());
        assert_eq!(why(&answers.failing), None);
    }
}
