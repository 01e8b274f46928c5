//! Hosts and pages: lists in parts, and one of each in full.

use super::read::{Ask, Named, name_of_something};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{HostList, HostQuery, HostSort, HostState, PageList, PageQuery};
use crate::{MAX_CURSOR_BYTES, MAX_ROWS};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which hosts.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HostsAsk {
    /// In what order; by name unless said. Numbers go from the largest to the smallest.
    #[serde(default)]
    #[param(inline)]
    sort: Option<HostSort>,
    /// Only those in this state.
    #[param(inline)]
    state: Option<HostState>,
    /// The `next` of the answer before.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// How many at most, from 1 to 1000; 100 unless said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl HostsAsk {
    /// Checked.
    pub fn query(self) -> Result<HostQuery, Problem> {
        Ok(HostQuery {
            sort: self.sort.unwrap_or_default(),
            state: self.state,
            cursor: cursor(self.cursor)?,
            limit: limit(self.limit)?,
        })
    }
}

/// Hosts that the crawl knows.
#[utoipa::path(get, path = "/api/v1/hosts", tag = "look", params(HostsAsk),
    responses((status = 200, description = "Some hosts", body = HostList)))]
pub async fn hosts(
    State(console): State<Arc<Console>>,
    Ask(ask): Ask<HostsAsk>,
) -> Result<Json<HostList>, Problem> {
    let query = ask.query()?;
    console.ask(move |view| view.hosts(&query)).await.map(Json)
}

/// What one host was promised and given.
///
/// The document of `recrawl status --host HOST --json`: an object for each origin that is meant, which are several where a
/// name has several schemes or ports.
#[utoipa::path(get, path = "/api/v1/hosts/{host}", tag = "look",
    params(("host" = inline(Named), Path,
        description = "As a list of hosts has it (`http://example.com:8080`), or a name: `example.com`; encoded")),
    responses((status = 200, description = "Its origins", body = Vec<Object>)))]
pub async fn host(
    State(console): State<Arc<Console>>,
    Named(host): Named,
) -> Result<Json<Vec<Value>>, Problem> {
    console.ask(move |view| view.host(&host)).await.map(Json)
}

/// Which pages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PagesAsk {
    /// Only those whose URL begins so; all unless said.
    #[serde(default)]
    #[param(value_type = Option<Named>, inline)]
    prefix: Option<String>,
    /// The `next` of the answer before.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// How many at most, from 1 to 1000; 100 unless said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl PagesAsk {
    /// Checked.
    pub fn query(self) -> Result<PageQuery, Problem> {
        let prefix = name_of_something("prefix", self.prefix.unwrap_or_default())?;
        Ok(PageQuery { prefix, cursor: cursor(self.cursor)?, limit: limit(self.limit)? })
    }
}

/// Pages whose URLs begin with a prefix, in the order of URLs.
#[utoipa::path(get, path = "/api/v1/pages", tag = "look", params(PagesAsk),
    responses((status = 200, description = "Some pages", body = PageList)))]
pub async fn pages(
    State(console): State<Arc<Console>>,
    Ask(ask): Ask<PagesAsk>,
) -> Result<Json<PageList>, Problem> {
    let query = ask.query()?;
    console.ask(move |view| view.pages(&query)).await.map(Json)
}

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageAsk {
    /// Its URL, encoded.
    #[param(value_type = Named, inline)]
    url: String,
}

/// All about a page: its record, its score by terms, why it was or was not chosen.
///
/// The document of `recrawl explain URL --json`, with the visits that were kept and the difference of the last two texts.
#[utoipa::path(get, path = "/api/v1/page", tag = "look", params(PageAsk),
    responses((status = 200, description = "The page", body = Object)))]
pub async fn page(
    State(console): State<Arc<Console>>,
    Ask(ask): Ask<PageAsk>,
) -> Result<Json<Value>, Problem> {
    let url = name_of_something("url", ask.url)?;
    console.ask(move |view| view.page(&url)).await.map(Json)
}

fn cursor(given: Option<String>) -> Result<Option<String>, Problem> {
    let Some(cursor) = given else { return Ok(None) };
    if cursor.len() > MAX_CURSOR_BYTES || cursor.chars().any(char::is_control) {
        return Err(Problem::invalid("cursor", "no cursor of ours", "take the `next` of the answer before"));
    }
    Ok(Some(cursor))
}

fn limit(given: Option<usize>) -> Result<usize, Problem> {
    match given {
        None => Ok(100),
        Some(limit @ 1..=MAX_ROWS) => Ok(limit),
        Some(_) => Err(Problem::invalid("limit", "no number of rows", "ask for 1 to 1000")),
    }
}
