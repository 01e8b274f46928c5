//! What the crawl measures of its formula, the loop that learns and tries others, and forecasts.

use super::change::{ChangeResponse, answer};
use super::list::{cursor, limit};
use super::read::{Named, Operator, Params};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{
    Accepted, CandidateDocument, Change, Computing, EventList, Forecasted, HistoryQuery, Improve, Savings,
    WhatIf,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::IntoParams;

/// What the crawl measures of its formula, and the step of its loop.
#[utoipa::path(get, path = "/api/v1/improve", tag = "improve",
    responses((status = 200, description = "Measurements and loop", body = Improve)))]
pub async fn improve(State(console): State<Arc<Console>>) -> Json<Improve> {
    Json(console.view.improve())
}

/// Query of the history.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryParams {
    /// Value of `next` in the previous response.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// Maximum rows, 1 to 1000 (default 100).
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What the loop tried, put in force and took back, newest first.
#[utoipa::path(get, path = "/api/v1/improve/history", tag = "improve", params(HistoryParams),
    responses((status = 200, description = "Events", body = EventList)))]
pub async fn history(
    State(console): State<Arc<Console>>,
    Params(ask): Params<HistoryParams>,
) -> Result<Json<EventList>, Problem> {
    let query = HistoryQuery { cursor: cursor(ask.cursor)?, limit: limit(ask.limit)? };
    console.ask(move |view| view.improve_history(&query)).await.map(Json)
}

/// One candidate: its back-test, and what happened to it.
#[utoipa::path(get, path = "/api/v1/improve/candidates/{id}", tag = "improve",
    params(("id" = inline(Named), Path, description = "`id` of a candidate or an event")),
    responses((status = 200, description = "The candidate", body = CandidateDocument)))]
pub async fn candidate(
    State(console): State<Arc<Console>>,
    Named(id): Named,
) -> Result<Json<CandidateDocument>, Problem> {
    console.ask(move |view| view.candidate(&id)).await.map(Json)
}

/// The response to a question that is answered in the background.
fn forecasted<T: Serialize>(forecast: Forecasted<T>) -> Response {
    match forecast {
        Forecasted::Ready(forecast) => Json(forecast).into_response(),
        Forecasted::Computing(computing) => (StatusCode::ACCEPTED, Json(computing)).into_response(),
    }
}

/// Freshness at other budgets. Computed once a cycle, in the background.
#[utoipa::path(get, path = "/api/v1/whatif", tag = "improve",
    responses(
        (status = 200, description = "Forecasts, or what is missing for them", body = WhatIf),
        (status = 202, description = "It is being computed; ask again", body = Computing)))]
pub async fn what_if(State(console): State<Arc<Console>>) -> Result<Response, Problem> {
    console.ask(|view| view.what_if()).await.map(forecasted)
}

/// Revisits that plain revisiting would need for the same freshness. Computed once a cycle, in the background.
#[utoipa::path(get, path = "/api/v1/savings", tag = "improve",
    responses(
        (status = 200, description = "The savings, or what is missing to tell them", body = Savings),
        (status = 202, description = "It is being computed; ask again", body = Computing)))]
pub async fn savings(State(console): State<Arc<Console>>) -> Result<Response, Problem> {
    console.ask(|view| view.savings()).await.map(forecasted)
}

/// Hold the loop: nothing is tried. A trial ends; what is in force stays.
#[utoipa::path(put, path = "/api/v1/improve/hold", tag = "improve", security(("token" = [])),
    responses((status = 200, description = "Held", body = Accepted)))]
pub async fn hold(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::HoldLoop).await
}

/// Let the loop go on.
#[utoipa::path(delete, path = "/api/v1/improve/hold", tag = "improve", security(("token" = [])),
    responses((status = 200, description = "Released", body = Accepted)))]
pub async fn release(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::ReleaseLoop).await
}

/// Put the candidate in force from the next cycle on.
#[utoipa::path(post, path = "/api/v1/improve/promote", tag = "improve", security(("token" = [])),
    responses(
        (status = 200, description = "Asked for already", body = Accepted),
        (status = 202, description = "In force from the next cycle on", body = Accepted)))]
pub async fn promote(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::PromoteCandidate).await
}

/// Take the promoted formula back from the next cycle on.
#[utoipa::path(post, path = "/api/v1/improve/rollback", tag = "improve", security(("token" = [])),
    responses(
        (status = 200, description = "Asked for already", body = Accepted),
        (status = 202, description = "The formula before is in force from the next cycle on", body = Accepted)))]
pub async fn take_back(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::RollBackCandidate).await
}

/// Learn a formula from the crawl's own visits now, in a process of the lowest priority.
#[utoipa::path(post, path = "/api/v1/improve/run", tag = "improve", security(("token" = [])),
    responses(
        (status = 200, description = "A learner runs already", body = Accepted),
        (status = 202, description = "It begins within seconds, or after the running round", body = Accepted)))]
pub async fn learn(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::LearnNow).await
}
