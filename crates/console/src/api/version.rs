//! Archived versions of a page. What sites wrote leaves here as JSON, or as an inert document with a policy of its own.

use super::list::cursor;
use super::read::{Named, Params, name_of_something};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{
    MAX_VERSION_ROWS, MementoList, OneVersion, VersionContent, VersionList, VersionQuery, Which,
};
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Rows of a list without a limit.
const ROWS: usize = 10;

/// Query of the list of versions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionsParams {
    /// URL, percent-encoded.
    #[param(value_type = Named, inline)]
    url: String,
    /// Value of `next` in the previous response.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// Maximum rows, 1 to 100 (default 10). Each is read and compared.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// List the archived versions of a page, newest first.
#[utoipa::path(get, path = "/api/v1/versions", tag = "look", params(VersionsParams),
    responses((status = 200, description = "Versions", body = VersionList)))]
pub async fn versions(
    State(console): State<Arc<Console>>,
    Params(VersionsParams { url, cursor: at, limit }): Params<VersionsParams>,
) -> Result<Json<VersionList>, Problem> {
    let limit = limit.unwrap_or(ROWS);
    if !(1..=MAX_VERSION_ROWS).contains(&limit) {
        return Err(Problem::invalid("limit", "invalid number of rows", "use 1 to 100"));
    }
    let query = VersionQuery { url: name_of_something("url", url)?, cursor: cursor(at)?, limit };
    console.ask(move |view| view.versions(&query)).await.map(Json)
}

/// Query of the times of all versions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimesParams {
    /// URL, percent-encoded.
    #[param(value_type = Named, inline)]
    url: String,
}

/// The times of the archived versions of a page, newest first: the last 1000. No body is read.
#[utoipa::path(get, path = "/api/v1/version-times", tag = "look", params(TimesParams),
    responses((status = 200, description = "Times", body = MementoList)))]
pub async fn times(
    State(console): State<Arc<Console>>,
    Params(TimesParams { url }): Params<TimesParams>,
) -> Result<Json<MementoList>, Problem> {
    let url = name_of_something("url", url)?;
    console.ask(move |view| view.mementos(&url)).await.map(Json)
}

/// Query of one version.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionParams {
    /// URL, percent-encoded.
    #[param(value_type = Named, inline)]
    url: String,
    /// `warc_file` of the version; with `warc_offset`, or else pass `at`.
    warc_file: Option<u32>,
    /// `warc_offset` of the version.
    warc_offset: Option<u64>,
    /// The newest version that is not after this time, in seconds since 1970; without it, the newest.
    #[param(maximum = 9007199254740991u64)]
    at: Option<u64>,
}

/// A time after all versions, which JSON can hold.
const NO_TIME: u64 = (1 << 53) - 1;

impl VersionParams {
    fn checked(self) -> Result<OneVersion, Problem> {
        let VersionParams { url, warc_file, warc_offset, at } = self;
        let which = match (warc_file, warc_offset, at) {
            (Some(warc_file), Some(warc_offset), None) => Which::Place { warc_file, warc_offset },
            (None, None, time) => Which::At(time.unwrap_or(NO_TIME)),
            _ => {
                let todo = "pass warc_file and warc_offset, or at";
                return Err(Problem::invalid("query", "half a version is named, or two are", todo));
            }
        };
        Ok(OneVersion { url: name_of_something("url", url)?, which })
    }
}

/// One archived version: text, headers, and the difference to the one before.
#[utoipa::path(get, path = "/api/v1/version", tag = "look", params(VersionParams),
    responses((status = 200, description = "The version", body = VersionContent)))]
pub async fn version(
    State(console): State<Arc<Console>>,
    Params(asked): Params<VersionParams>,
) -> Result<Json<VersionContent>, Problem> {
    let asked = asked.checked()?;
    console.ask(move |view| view.version(&asked)).await.map(Json)
}

/// One archived version as an inert HTML document.
///
/// Its structure and text. Scripts, styles, images, forms and the targets of links are left out, and the response's
/// policy forbids the browser to run or load anything.
#[utoipa::path(get, path = "/archived", tag = "pages", params(VersionParams),
    responses((status = 200, description = "The document", body = String, content_type = "text/html")))]
pub async fn archived(
    State(console): State<Arc<Console>>,
    Params(asked): Params<VersionParams>,
) -> Result<impl IntoResponse, Problem> {
    let asked = asked.checked()?;
    let document = console.ask(move |view| view.archived(&asked)).await?;
    Ok(([(CONTENT_TYPE, "text/html; charset=utf-8")], document))
}
