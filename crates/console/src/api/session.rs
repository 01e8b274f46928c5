//! Sessions for changes, where no tokens are configured.

use super::read::{JsonBody, SessionState};
use crate::connection::Peer;
use crate::console::Console;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::header::{ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The secret of a one-time link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretSent {
    /// `secret` of the link.
    secret: String,
}

/// How changes are authorized, and whether this client may make them.
#[utoipa::path(get, path = "/api/v1/session", tag = "change",
    responses((status = 200, description = "The session", body = SessionState)))]
pub async fn session(state: SessionState) -> Json<SessionState> {
    Json(state)
}

/// Begin a session with the secret of the one-time link in the daemon's log. It works once.
#[utoipa::path(post, path = "/api/v1/session", tag = "change", request_body = SecretSent,
    responses((status = 200, description = "Begun; the cookie authorizes changes", body = SessionState)))]
pub async fn begin(
    State(console): State<Arc<Console>>,
    Extension(Peer(from)): Extension<Peer>,
    headers: HeaderMap,
    JsonBody(SecretSent { secret }): JsonBody<SecretSent>,
) -> Result<impl IntoResponse, Problem> {
    // Behind a proxy with TLS, the browser must not send it in the clear.
    let is_secure = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let cookie = console.begin_session(&secret, is_secure)?;
    tracing::info!(%from, "console: a session was begun with the one-time link");
    let cookie = HeaderValue::from_str(&cookie).expect("hexadecimal digits");
    Ok(([(SET_COOKIE, cookie)], Json(SessionState { by: "link", may_change: true })))
}
