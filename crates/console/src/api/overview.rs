//! The whole crawl: status, cycles, failures, operator decisions, metrics.

use super::read::{LAST_TIME, Params, since};
use crate::console::Console;
use crate::metrics;
use crate::problem::Problem;
use crate::view::{Controls, Errors, MAX_ROWS, Recent, Status};
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;

/// Status of the crawl.
#[utoipa::path(get, path = "/api/v1/status", tag = "look", responses((status = 200, description = "Status", body = Status)))]
pub async fn status(State(console): State<Arc<Console>>) -> Json<Status> {
    Json(console.view.status())
}

/// Query of the last hour.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecentParams {
    /// Only points after this time, in milliseconds since 1970.
    #[param(maximum = 9007199254740991u64)]
    since: Option<u64>,
}

/// Rates, answers and response times of the last hour.
///
/// A point every 10 seconds, since the process started. Quantiles are estimated from a histogram.
#[utoipa::path(get, path = "/api/v1/recent", tag = "look", params(RecentParams),
    responses((status = 200, description = "Points, oldest first", body = Recent)))]
pub async fn recent(
    State(console): State<Arc<Console>>,
    Params(ask): Params<RecentParams>,
) -> Result<Json<Recent>, Problem> {
    let since = since(ask.since, LAST_TIME, "use milliseconds since 1970")?;
    Ok(Json(console.view.recent(since)))
}

/// Query of the cycle reports.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CyclesParams {
    /// Number of cycles, 1 to 1000 (default 20).
    #[param(minimum = 1, maximum = 1000)]
    last: Option<usize>,
}

/// The reports of the last cycles, newest first.
///
/// Each is the object that `recrawl crawl --json` prints, plus `promise`: the expected
/// `change_rate` and its `basis`.
#[utoipa::path(get, path = "/api/v1/cycles", tag = "look", params(CyclesParams),
    responses((status = 200, description = "Reports", body = Vec<Object>)))]
pub async fn cycles(
    State(console): State<Arc<Console>>,
    Params(ask): Params<CyclesParams>,
) -> Result<Json<Vec<Value>>, Problem> {
    let last = ask.last.unwrap_or(20);
    if !(1..=MAX_ROWS).contains(&last) {
        return Err(Problem::invalid("last", "invalid number of cycles", "use 1 to 1000"));
    }
    console.ask(move |view| view.cycles(last)).await.map(Json)
}

/// The last failed pages, and counts by outcome.
#[utoipa::path(get, path = "/api/v1/errors", tag = "look",
    responses((status = 200, description = "Failures and refusals", body = Errors)))]
pub async fn errors(State(console): State<Arc<Console>>) -> Json<Errors> {
    Json(console.view.errors())
}

/// Operator decisions in force.
#[utoipa::path(get, path = "/api/v1/controls", tag = "look",
    responses((status = 200, description = "Pauses, blocks and takedowns", body = Controls)))]
pub async fn controls(State(console): State<Arc<Console>>) -> Result<Json<Controls>, Problem> {
    console.ask(|view| view.controls()).await.map(Json)
}

/// Prometheus metrics.
///
/// Text format, version 0.0.4. docs/console.md lists the metrics.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "All metrics", body = String, content_type = "text/plain")))]
pub async fn metrics(State(console): State<Arc<Console>>) -> impl IntoResponse {
    let status = console.view.status();
    let reading = metrics::MetricsReading {
        status: &status,
        meters: &console.view.meters(),
        improve: &console.view.improve(),
        traffic: &console.traffic,
        streams: console.events.streams(),
    };
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(&reading))
}
