//! Liveness and readiness, for supervisors and load balancers.

use crate::console::Console;
use crate::problem::Problem;
use crate::view::{State as CrawlState, Status};
use axum::Json;
use axum::extract::State;
use recrawl_types::Span;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Health of the crawl.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// State of the crawl.
    state: CrawlState,
    /// Milliseconds since the last progress.
    idle_ms: u64,
}

impl Health {
    fn from_status(status: &Status) -> Json<Health> {
        Json(Health { state: status.state, idle_ms: status.idle_ms })
    }
}

/// Liveness: 503 if the crawl makes no progress.
///
/// 503 after `serve.stall` without progress: the crawl hangs, and a restart may help. A pause, waiting for
/// the next cycle and a failed cycle count as alive; `health` of the status judges them.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, description = "Alive", body = Health)))]
pub async fn health(State(console): State<Arc<Console>>) -> Result<Json<Health>, Problem> {
    let status = console.view.status();
    if status.is_stalled() {
        let Status { idle_ms, stall_ms, .. } = status;
        let text = format!(
            "no progress for {}, more than serve.stall ({})",
            Span::millis(idle_ms).rounded_up(),
            Span::millis(stall_ms)
        );
        return Err(Problem::busy(text)
            .retry_after(10)
            .todo("see the log; restart the crawl if it does not recover"));
    }
    Ok(Health::from_status(&status))
}

/// Readiness: 503 during start, stop or after a failed cycle.
#[utoipa::path(get, path = "/ready", tag = "health", responses((status = 200, description = "Ready", body = Health)))]
pub async fn ready(State(console): State<Arc<Console>>) -> Result<Json<Health>, Problem> {
    let status = console.view.status();
    match status.state {
        CrawlState::Crawling | CrawlState::Waiting | CrawlState::Paused => Ok(Health::from_status(&status)),
        state => {
            let why = status.reason.map(|why| format!(": {why}")).unwrap_or_default();
            Err(Problem::busy(format!("the crawl is {}{why}", state)).retry_after(5))
        }
    }
}
