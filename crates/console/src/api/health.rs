//! Is the process well, and does the crawl do its work? For what starts it anew or leaves it out.

use crate::console::Console;
use crate::problem::Problem;
use crate::view::{State as CrawlState, Status};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// How the crawl is.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// What it does.
    state: CrawlState,
    /// Milliseconds since it last moved.
    idle_ms: u64,
}

impl Health {
    fn of(status: &Status) -> Json<Health> {
        Json(Health { state: status.state, idle_ms: status.idle_ms })
    }
}

/// Whether the crawl lives.
///
/// 503 once it has not moved for `serve.stall`: then it hangs, and starting it anew may help. A pause, a cycle that is not
/// due and one that failed are no such thing.
#[utoipa::path(get, path = "/health", tag = "health", responses((status = 200, description = "It lives", body = Health)))]
pub async fn health(State(console): State<Arc<Console>>) -> Result<Json<Health>, Problem> {
    let status = console.view.status();
    let stall = console.stall.as_millis();
    if u128::from(status.idle_ms) > stall {
        let text =
            format!("the crawl has not moved for {} ms, more than serve.stall ({stall} ms)", status.idle_ms);
        return Err(Problem::busy(text)
            .retry_after(10)
            .todo("see the log; start it anew if it does not go on"));
    }
    Ok(Health::of(&status))
}

/// Whether the crawl does its work.
///
/// 503 while it starts or stops, and after a cycle that failed.
#[utoipa::path(get, path = "/ready", tag = "health", responses((status = 200, description = "It does", body = Health)))]
pub async fn ready(State(console): State<Arc<Console>>) -> Result<Json<Health>, Problem> {
    let status = console.view.status();
    match status.state {
        CrawlState::Crawling | CrawlState::Waiting | CrawlState::Paused => Ok(Health::of(&status)),
        state => {
            let why = status.reason.map(|why| format!(": {why}")).unwrap_or_default();
            Err(Problem::busy(format!("the crawl is {}{why}", state.name())).retry_after(5))
        }
    }
}
