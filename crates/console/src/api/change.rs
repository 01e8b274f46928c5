//! Changes. Each needs a token and is logged. The response says whether the change applies now,
//! applied before, or applies later.

use super::formula::FormulaSent;
use super::read::{JsonBody, Named, Operator, name_of_something};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{Accepted, Change, Effect};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Maximum seed URLs in one request.
pub const MAX_SEEDS: usize = 10_000;

/// Response to a change: 202 if it applies only later.
pub type ChangeResponse = Result<(StatusCode, Json<Accepted>), Problem>;

pub async fn answer(console: &Arc<Console>, Operator(who): Operator, change: Change) -> ChangeResponse {
    let accepted = console.change(who, change).await?;
    let status = match accepted.did {
        Effect::Done | Effect::Already => StatusCode::OK,
        Effect::NextRound | Effect::NextCycle => StatusCode::ACCEPTED,
    };
    Ok((status, Json(accepted)))
}

/// Pause the crawl: no new requests.
#[utoipa::path(put, path = "/api/v1/pause", tag = "change", security(("token" = [])),
    responses((status = 200, description = "Paused", body = Accepted)))]
pub async fn pause(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::Pause { host: None }).await
}

/// Resume the crawl. Hosts paused separately stay paused.
#[utoipa::path(delete, path = "/api/v1/pause", tag = "change", security(("token" = [])),
    responses((status = 200, description = "Resumed", body = Accepted)))]
pub async fn resume(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::Resume { host: None }).await
}

/// Pause a host: no new requests to it.
#[utoipa::path(put, path = "/api/v1/hosts/{host}/pause", tag = "change", security(("token" = [])),
    params(("host" = inline(Named), Path,
        description = "Host name, or host as in /api/v1/hosts, percent-encoded; all schemes and ports")),
    responses((status = 200, description = "Paused", body = Accepted)))]
pub async fn pause_host(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(host): Named,
) -> ChangeResponse {
    answer(&console, operator, Change::Pause { host: Some(host) }).await
}

/// Resume a host.
#[utoipa::path(delete, path = "/api/v1/hosts/{host}/pause", tag = "change", security(("token" = [])),
    params(("host" = inline(Named), Path,
        description = "Host name, or host as in /api/v1/hosts, percent-encoded; all schemes and ports")),
    responses((status = 200, description = "Resumed", body = Accepted)))]
pub async fn resume_host(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(host): Named,
) -> ChangeResponse {
    answer(&console, operator, Change::Resume { host: Some(host) }).await
}

/// Seeds to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedsSent {
    /// URLs, 1 to 10000.
    #[schema(value_type = Vec<Named>, min_items = 1, max_items = 10000)]
    urls: Vec<String>,
}

/// Add seed URLs. They are crawled within seconds; known URLs are ignored.
#[utoipa::path(post, path = "/api/v1/seeds", tag = "change", security(("token" = [])), request_body = SeedsSent,
    responses(
        (status = 200, description = "All URLs are known or queued", body = Accepted),
        (status = 202, description = "Queued for the next round", body = Accepted)))]
pub async fn seeds(
    State(console): State<Arc<Console>>,
    operator: Operator,
    JsonBody(seeds): JsonBody<SeedsSent>,
) -> ChangeResponse {
    let SeedsSent { urls } = seeds;
    if urls.is_empty() || urls.len() > MAX_SEEDS {
        let text = format!("{} URLs", urls.len());
        return Err(Problem::invalid("urls", text, "send 1 to 10000 URLs"));
    }
    let urls = urls.into_iter().map(|url| name_of_something("urls", url)).collect::<Result<_, _>>()?;
    answer(&console, operator, Change::AddSeeds { urls }).await
}

/// Block the pages of a pattern.
#[utoipa::path(put, path = "/api/v1/blocks/{pattern}", tag = "change", security(("token" = [])),
    params(("pattern" = inline(Named), Path, description = "`example.com`, `*.example.com`, `https://example.com/page` or `https://example.com/a/*`, percent-encoded")),
    responses((status = 200, description = "Blocked", body = Accepted)))]
pub async fn block(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(pattern): Named,
) -> ChangeResponse {
    answer(&console, operator, Change::Block { pattern }).await
}

/// Remove a block.
#[utoipa::path(delete, path = "/api/v1/blocks/{pattern}", tag = "change", security(("token" = [])),
    params(("pattern" = inline(Named), Path, description = "The blocked pattern, percent-encoded")),
    responses((status = 200, description = "Not blocked", body = Accepted)))]
pub async fn unblock(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(pattern): Named,
) -> ChangeResponse {
    answer(&console, operator, Change::Unblock { pattern }).await
}

/// Page to fetch.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PageSent {
    /// URL.
    #[schema(value_type = Named)]
    url: String,
}

/// Fetch a page now, within robots.txt and politeness.
#[utoipa::path(post, path = "/api/v1/recrawl", tag = "change", security(("token" = [])), request_body = PageSent,
    responses(
        (status = 200, description = "Queued", body = Accepted),
        (status = 202, description = "Queued for the next round", body = Accepted)))]
pub async fn recrawl(
    State(console): State<Arc<Console>>,
    operator: Operator,
    JsonBody(page): JsonBody<PageSent>,
) -> ChangeResponse {
    let url = name_of_something("url", page.url)?;
    answer(&console, operator, Change::Recrawl { url }).await
}

/// Use another formula from the next cycle on.
#[utoipa::path(put, path = "/api/v1/formula", tag = "change", security(("token" = [])), request_body = FormulaSent,
    responses(
        (status = 200, description = "Already in force", body = Accepted),
        (status = 202, description = "In force from the next cycle on", body = Accepted)))]
pub async fn use_formula(
    State(console): State<Arc<Console>>,
    operator: Operator,
    JsonBody(formula): JsonBody<FormulaSent>,
) -> ChangeResponse {
    answer(&console, operator, Change::UseFormula { text: formula.text()? }).await
}

/// Roll back to the formula chosen before; without formula.toml, `schedule.formula` is in force.
#[utoipa::path(delete, path = "/api/v1/formula", tag = "change", security(("token" = [])),
    responses(
        (status = 200, description = "Nothing to roll back", body = Accepted),
        (status = 202, description = "In force from the next cycle on", body = Accepted)))]
pub async fn roll_back(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::RollBackFormula).await
}

/// Read the configuration again: in force after the round in progress.
#[utoipa::path(post, path = "/api/v1/reload", tag = "change", security(("token" = [])),
    responses((status = 202, description = "After the round in progress", body = Accepted)))]
pub async fn reload(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::Reload).await
}

/// Leave the data directory to a waiting command, such as `recrawl takedown`, until it ends.
#[utoipa::path(post, path = "/api/v1/step-aside", tag = "change", security(("token" = [])),
    responses((status = 202, description = "After the requests in flight, or after the running cycle without `cycle.fill`", body = Accepted)))]
pub async fn step_aside(State(console): State<Arc<Console>>, operator: Operator) -> ChangeResponse {
    answer(&console, operator, Change::StepAside).await
}
