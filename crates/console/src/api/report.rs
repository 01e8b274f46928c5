//! Reports for site owners.

use super::read::{AsText, Named, Params};
use crate::console::Console;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Cycles of a report, unless the query says otherwise.
const CYCLES: usize = 14;
/// Maximum cycles of a report: each is read from disk.
const MAX_CYCLES: usize = 100;

/// Query of a report.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportParams {
    /// Maximum cycles in which the host was asked, 1 to 100 (default 14).
    #[param(minimum = 1, maximum = 100)]
    cycles: Option<usize>,
}

/// What a host was asked, for its owner.
///
/// Same document as `recrawl report HOST --json`: the crawler and its contact, the requests of each cycle beside
/// the delay that was in force, robots.txt, and ways to opt out. With `Accept: text/plain`, the text of that
/// command without `--json`.
#[utoipa::path(get, path = "/api/v1/hosts/{host}/report", tag = "look",
    params(ReportParams, ("host" = inline(Named), Path,
        description = "Origin as in /api/v1/hosts (`http://example.com:8080`) or host name, percent-encoded")),
    responses((status = 200, description = "The report",
        content((Object = "application/json"), (String = "text/plain")))))]
pub async fn host_report(
    State(console): State<Arc<Console>>,
    AsText(as_text): AsText,
    Named(host): Named,
    Params(ReportParams { cycles }): Params<ReportParams>,
) -> Result<Response, Problem> {
    let cycles = cycles.unwrap_or(CYCLES);
    if !(1..=MAX_CYCLES).contains(&cycles) {
        return Err(Problem::invalid("cycles", "invalid number of cycles", "use 1 to 100"));
    }
    match as_text {
        true => {
            let text = console.ask(move |view| view.host_report_text(&host, cycles)).await;
            text.map(IntoResponse::into_response)
        }
        false => {
            let found = console.ask(move |view| view.host_report(&host, cycles)).await;
            found.map(|report| Json(report).into_response())
        }
    }
}
