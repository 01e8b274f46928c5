//! Changes: each needs a token, is logged, and says whether it is in force, was before, or will be.

use super::formula::FormulaSent;
use super::read::{Named, Operator, Sent, name_of_something};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{Accepted, Change, Did};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// URLs of seeds in one request.
pub const MAX_SEEDS: usize = 10_000;

/// What a change is answered with: 202 when it is in force only later.
type Answer = Result<(StatusCode, Json<Accepted>), Problem>;

async fn answer(console: &Arc<Console>, Operator(who): Operator, change: Change) -> Answer {
    let accepted = console.change(who, change).await?;
    let status = match accepted.did {
        Did::Done | Did::Already => StatusCode::OK,
        Did::NextCycle => StatusCode::ACCEPTED,
    };
    Ok((status, Json(accepted)))
}

/// Pause the crawl: nothing more is asked for.
#[utoipa::path(put, path = "/api/v1/pause", tag = "change", security(("token" = [])),
    responses((status = 200, description = "It is paused", body = Accepted)))]
pub async fn pause(State(console): State<Arc<Console>>, operator: Operator) -> Answer {
    answer(&console, operator, Change::Pause { host: None }).await
}

/// Resume the crawl. Hosts that are paused by themselves stay so.
#[utoipa::path(delete, path = "/api/v1/pause", tag = "change", security(("token" = [])),
    responses((status = 200, description = "It goes on", body = Accepted)))]
pub async fn resume(State(console): State<Arc<Console>>, operator: Operator) -> Answer {
    answer(&console, operator, Change::Resume { host: None }).await
}

/// Pause a host: nothing more is asked of it.
#[utoipa::path(put, path = "/api/v1/hosts/{host}/pause", tag = "change", security(("token" = [])),
    params(("host" = inline(Named), Path,
        description = "Its name, or as a list of hosts has it, encoded: all its schemes and ports are meant")),
    responses((status = 200, description = "It is paused", body = Accepted)))]
pub async fn pause_host(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(host): Named,
) -> Answer {
    answer(&console, operator, Change::Pause { host: Some(host) }).await
}

/// Resume a host.
#[utoipa::path(delete, path = "/api/v1/hosts/{host}/pause", tag = "change", security(("token" = [])),
    params(("host" = inline(Named), Path,
        description = "Its name, or as a list of hosts has it, encoded: all its schemes and ports are meant")),
    responses((status = 200, description = "It goes on", body = Accepted)))]
pub async fn resume_host(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(host): Named,
) -> Answer {
    answer(&console, operator, Change::Resume { host: Some(host) }).await
}

/// Seeds, as they are sent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedsSent {
    /// Their URLs.
    #[schema(value_type = Vec<Named>, min_items = 1, max_items = 10000)]
    urls: Vec<String>,
}

/// Add seeds. They are known from the next cycle on; those that are known already change nothing.
#[utoipa::path(post, path = "/api/v1/seeds", tag = "change", security(("token" = [])), request_body = SeedsSent,
    responses(
        (status = 200, description = "All were known, or wait already", body = Accepted),
        (status = 202, description = "Known from the next cycle on", body = Accepted)))]
pub async fn seeds(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Sent(seeds): Sent<SeedsSent>,
) -> Answer {
    let SeedsSent { urls } = seeds;
    if urls.is_empty() || urls.len() > MAX_SEEDS {
        let text = format!("{} URLs", urls.len());
        return Err(Problem::invalid("urls", text, "send 1 to 10000 at a time"));
    }
    let urls = urls.into_iter().map(|url| name_of_something("urls", url)).collect::<Result<_, _>>()?;
    answer(&console, operator, Change::AddSeeds { urls }).await
}

/// Block a host, and what is below it, or all URLs that begin with a prefix.
#[utoipa::path(put, path = "/api/v1/blocks/{pattern}", tag = "change", security(("token" = [])),
    params(("pattern" = inline(Named), Path, description = "`example.com` or `https://example.com/a/`, encoded")),
    responses((status = 200, description = "It is blocked", body = Accepted)))]
pub async fn block(State(console): State<Arc<Console>>, operator: Operator, Named(pattern): Named) -> Answer {
    answer(&console, operator, Change::Block { pattern }).await
}

/// Unblock what was blocked by this pattern.
#[utoipa::path(delete, path = "/api/v1/blocks/{pattern}", tag = "change", security(("token" = [])),
    params(("pattern" = inline(Named), Path, description = "As it was blocked, encoded")),
    responses((status = 200, description = "It is not blocked", body = Accepted)))]
pub async fn unblock(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Named(pattern): Named,
) -> Answer {
    answer(&console, operator, Change::Unblock { pattern }).await
}

/// A page, as it is sent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PageSent {
    /// Its URL.
    #[schema(value_type = Named)]
    url: String,
}

/// Fetch a page now, as far as robots.txt and politeness have it.
#[utoipa::path(post, path = "/api/v1/recrawl", tag = "change", security(("token" = [])), request_body = PageSent,
    responses(
        (status = 200, description = "It is queued, or was", body = Accepted),
        (status = 202, description = "It will be in the next cycle", body = Accepted)))]
pub async fn recrawl(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Sent(page): Sent<PageSent>,
) -> Answer {
    let url = name_of_something("url", page.url)?;
    answer(&console, operator, Change::Recrawl { url }).await
}

/// Rank by another formula, from the next cycle on.
#[utoipa::path(put, path = "/api/v1/formula", tag = "change", security(("token" = [])), request_body = FormulaSent,
    responses(
        (status = 200, description = "It is in force already", body = Accepted),
        (status = 202, description = "In force from the next cycle on", body = Accepted)))]
pub async fn use_formula(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Sent(formula): Sent<FormulaSent>,
) -> Answer {
    answer(&console, operator, Change::UseFormula { text: formula.text()? }).await
}

/// Roll back: rank by the formula that was chosen before, from the next cycle on.
#[utoipa::path(delete, path = "/api/v1/formula", tag = "change", security(("token" = [])),
    responses(
        (status = 200, description = "There is nothing to roll back", body = Accepted),
        (status = 202, description = "In force from the next cycle on", body = Accepted)))]
pub async fn roll_back(State(console): State<Arc<Console>>, operator: Operator) -> Answer {
    answer(&console, operator, Change::RollBackFormula).await
}
