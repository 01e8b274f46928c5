//! Promises to visit pages in time.

use super::read::AsText;
use crate::console::Console;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Whether pages are visited as promised.
///
/// Same document as `recrawl promises --json`: what is kept now, and what was kept when the last cycles began. Reads all
/// pages below the prefixes. With `Accept: text/plain`, the text of that command without `--json`.
#[utoipa::path(get, path = "/api/v1/promises", tag = "look",
    responses((status = 200, description = "Promises",
        content((Object = "application/json"), (String = "text/plain")))))]
pub async fn promises(
    State(console): State<Arc<Console>>,
    AsText(as_text): AsText,
) -> Result<Response, Problem> {
    match as_text {
        true => console.ask(|view| view.promises_text()).await.map(IntoResponse::into_response),
        false => console.ask(|view| view.promises()).await.map(|found| Json(found).into_response()),
    }
}
