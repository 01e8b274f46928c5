//! Hosts and pages: paginated lists, and details of one.

use super::read::{AsText, Named, Params, name_of_something};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{
    HostList, HostQuery, HostSort, HostState, MAX_CURSOR_BYTES, MAX_ROWS, OnePage, PageList, PageQuery,
};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Query of the list of hosts.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HostsParams {
    /// Sort order (default: name). Numbers sort in descending order.
    #[serde(default)]
    #[param(inline)]
    sort: Option<HostSort>,
    /// Only hosts in this state.
    #[param(inline)]
    state: Option<HostState>,
    /// Only hosts whose origin (`https://example.com`) contains this.
    #[param(value_type = Option<Named>, inline)]
    search: Option<String>,
    /// Value of `next` in the previous response.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// Maximum rows, 1 to 1000 (default 100).
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl HostsParams {
    /// The checked query.
    pub fn query(self) -> Result<HostQuery, Problem> {
        Ok(HostQuery {
            sort: self.sort.unwrap_or_default(),
            state: self.state,
            search: self.search.map(|text| name_of_something("search", text)).transpose()?,
            cursor: cursor(self.cursor)?,
            limit: limit(self.limit)?,
        })
    }
}

/// List the known hosts.
#[utoipa::path(get, path = "/api/v1/hosts", tag = "look", params(HostsParams),
    responses((status = 200, description = "Hosts", body = HostList)))]
pub async fn hosts(
    State(console): State<Arc<Console>>,
    Params(ask): Params<HostsParams>,
) -> Result<Json<HostList>, Problem> {
    let query = ask.query()?;
    console.ask(move |view| view.hosts(&query)).await.map(Json)
}

/// Politeness and figures of one host.
///
/// Same document as `recrawl status --host HOST --json`: one object per origin. A name has several
/// origins if the crawl knows it with several schemes or ports. With `Accept: text/plain`, the text of that
/// command without `--json`.
#[utoipa::path(get, path = "/api/v1/hosts/{host}", tag = "look",
    params(("host" = inline(Named), Path,
        description = "Origin as in /api/v1/hosts (`http://example.com:8080`) or host name, percent-encoded")),
    responses((status = 200, description = "Origins",
        content((Vec<Object> = "application/json"), (String = "text/plain")))))]
pub async fn host(
    State(console): State<Arc<Console>>,
    AsText(as_text): AsText,
    Named(host): Named,
) -> Result<Response, Problem> {
    match as_text {
        true => console.ask(move |view| view.host_text(&host)).await.map(IntoResponse::into_response),
        false => console.ask(move |view| view.host(&host)).await.map(|found| Json(found).into_response()),
    }
}

/// Query of the list of pages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PagesParams {
    /// URL prefix (default: all pages).
    #[serde(default)]
    #[param(value_type = Option<Named>, inline)]
    prefix: Option<String>,
    /// Value of `next` in the previous response.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// Maximum rows, 1 to 1000 (default 100).
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl PagesParams {
    /// The checked query.
    pub fn query(self) -> Result<PageQuery, Problem> {
        let prefix = name_of_something("prefix", self.prefix.unwrap_or_default())?;
        Ok(PageQuery { prefix, cursor: cursor(self.cursor)?, limit: limit(self.limit)? })
    }
}

/// List pages by URL prefix, in URL order.
#[utoipa::path(get, path = "/api/v1/pages", tag = "look", params(PagesParams),
    responses((status = 200, description = "Pages", body = PageList)))]
pub async fn pages(
    State(console): State<Arc<Console>>,
    Params(ask): Params<PagesParams>,
) -> Result<Json<PageList>, Problem> {
    let query = ask.query()?;
    console.ask(move |view| view.pages(&query)).await.map(Json)
}

/// Query of one page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// URL, percent-encoded.
    #[param(value_type = Named, inline)]
    url: String,
    /// Ranks the page by this formula, a name, an expression or the text of a formula file (default: the one of
    /// the next cycle). Scores all pages. The header of the request limits its length.
    #[param(max_length = 4096)]
    formula: Option<String>,
}

/// Record, score and scheduling of a page.
///
/// Same document as `recrawl explain URL --json`, with stored visits and the difference of the last
/// two texts. With `Accept: text/plain`, the text of that command without `--json`.
#[utoipa::path(get, path = "/api/v1/page", tag = "look", params(PageParams),
    responses((status = 200, description = "The page",
        content((Object = "application/json"), (String = "text/plain")))))]
pub async fn page(
    State(console): State<Arc<Console>>,
    AsText(as_text): AsText,
    Params(PageParams { url, formula }): Params<PageParams>,
) -> Result<Response, Problem> {
    let page = OnePage { url: name_of_something("url", url)?, formula };
    match as_text {
        true => console.ask(move |view| view.page_text(&page)).await.map(IntoResponse::into_response),
        false => console.ask(move |view| view.page(&page)).await.map(|found| Json(found).into_response()),
    }
}

/// The checked cursor.
pub fn cursor(given: Option<String>) -> Result<Option<String>, Problem> {
    let Some(cursor) = given else { return Ok(None) };
    if cursor.len() > MAX_CURSOR_BYTES || cursor.chars().any(char::is_control) {
        return Err(Problem::invalid("cursor", "unknown cursor", "use the `next` of the previous response"));
    }
    Ok(Some(cursor))
}

/// The checked number of rows.
pub fn limit(given: Option<usize>) -> Result<usize, Problem> {
    match given {
        None => Ok(100),
        Some(limit @ 1..=MAX_ROWS) => Ok(limit),
        Some(_) => Err(Problem::invalid("limit", "invalid number of rows", "use 1 to 1000")),
    }
}
