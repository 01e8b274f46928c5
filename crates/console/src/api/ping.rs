//! Pings from site owners. They need no token: the key file on their host proves them.

use super::read::{JsonBody, Params};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{IndexNow, IndexNowParams, Pinged};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;

type PingResponse = Result<(StatusCode, Json<Pinged>), Problem>;

async fn answer(console: &Arc<Console>, ping: IndexNow) -> PingResponse {
    let pinged = console.ask(move |view| view.ping(&ping)).await?;
    Ok((if pinged.checking { StatusCode::ACCEPTED } else { StatusCode::OK }, Json(pinged)))
}

/// Tell that a page has changed (IndexNow).
#[utoipa::path(get, path = "/indexnow", tag = "ping", params(IndexNowParams),
    responses(
        (status = 200, description = "Noted", body = Pinged),
        (status = 202, description = "Noted once the key file is fetched", body = Pinged)))]
pub async fn one(State(console): State<Arc<Console>>, Params(ping): Params<IndexNowParams>) -> PingResponse {
    let IndexNowParams { url, key, key_location } = ping;
    answer(&console, IndexNow { host: None, url_list: vec![url], key, key_location }).await
}

/// Tell that pages have changed (IndexNow).
#[utoipa::path(post, path = "/indexnow", tag = "ping", request_body = IndexNow,
    responses(
        (status = 200, description = "Noted", body = Pinged),
        (status = 202, description = "Noted once the key file is fetched", body = Pinged)))]
pub async fn several(
    State(console): State<Arc<Console>>,
    JsonBody(ping): JsonBody<IndexNow>,
) -> PingResponse {
    answer(&console, ping).await
}
