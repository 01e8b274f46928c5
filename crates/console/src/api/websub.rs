//! Callbacks of WebSub. They need no token: nobody can guess their names, and hubs sign what they send.

use super::read::{Named, Params};
use crate::console::Console;
use crate::guard;
use crate::problem::{Problem, ProblemType};
use crate::view::{PingDelivery, Verification};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// Verify a subscription, or deny it (WebSub).
#[utoipa::path(get, path = "/websub/{id}", tag = "ping",
    params(("id" = inline(Named), Path, description = "Name of the callback"), Verification),
    responses((status = 200, description = "The challenge", body = String, content_type = "text/plain")))]
pub async fn verify(
    State(console): State<Arc<Console>>,
    Named(id): Named,
    Params(verification): Params<Verification>,
) -> Result<String, Problem> {
    let challenge = verification.challenge.clone();
    console.ask(move |view| view.verify_subscription(&id, &verification)).await?;
    Ok(challenge)
}

/// Tell that a feed has changed (WebSub).
#[utoipa::path(post, path = "/websub/{id}", tag = "ping",
    params(("id" = inline(Named), Path, description = "Name of the callback")),
    request_body(content = String, content_type = "*/*",
        description = "Read for its signature only, which is in X-Hub-Signature"),
    responses(
        (status = 204, description = "Taken"),
        (status = 410, description = "There is no such subscription any more")))]
pub async fn notify(
    State(console): State<Arc<Console>>,
    Named(id): Named,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<StatusCode, Problem> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => guard::too_large(),
        _ => Problem::new(ProblemType::Malformed, rejection.body_text()).at("body"),
    })?;
    let signature = headers.get("x-hub-signature").and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(match console.ask(move |view| view.notify(&id, signature.as_deref(), &body)).await? {
        PingDelivery::Taken => StatusCode::NO_CONTENT,
        PingDelivery::Gone => StatusCode::GONE,
    })
}
