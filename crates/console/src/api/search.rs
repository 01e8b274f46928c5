//! Full-text search.

use super::read::{LAST_SECOND, Named, Params, name_of_something, since};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{MAX_RESULTS, SearchList, SearchQuery, SearchSort};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Results by default.
const RESULTS: usize = 10;

/// A query of the full-text index.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// Words, at most 32. `"Several words"` stand side by side, and `-word` must not be there.
    #[param(value_type = Named, inline)]
    q: String,
    /// Only pages of this host, or of a domain as `*.example.com` (default: all).
    #[param(value_type = Option<Named>, inline)]
    host: Option<String>,
    /// Only pages with a text of this time or later, in seconds since 1970.
    #[param(maximum = 9007199254740991u64)]
    since: Option<u64>,
    /// `best` first (default), or the `newest` texts.
    #[param(inline)]
    sort: Option<SearchSort>,
    /// Pages of this partition of a fleet, whose owner answers (default: that of this process).
    #[expect(dead_code, reason = "`relay` has read it")]
    partition: Option<u32>,
    /// Maximum results, 1 to 100 (default 10).
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Search the texts of the pages.
///
/// The best pages that have all words, or, if none has, some. Needs a target `to = "index"` of `[[deliver]]`. Words count
/// in all their forms, in the language of the page.
#[utoipa::path(get, path = "/api/v1/search", tag = "look", params(SearchParams),
    responses((status = 200, description = "Pages", body = SearchList)))]
pub async fn search(
    State(console): State<Arc<Console>>,
    Params(asked): Params<SearchParams>,
) -> Result<Json<SearchList>, Problem> {
    let limit = asked.limit.unwrap_or(RESULTS);
    if !(1..=MAX_RESULTS).contains(&limit) {
        return Err(Problem::invalid("limit", "invalid number of results", "use 1 to 100"));
    }
    let host = asked.host.filter(|host| !host.is_empty());
    let query = SearchQuery {
        words: name_of_something("q", asked.q)?,
        host: host.map(|host| name_of_something("host", host)).transpose()?,
        since: since(asked.since, LAST_SECOND, "use seconds since 1970, not milliseconds")?,
        sort: asked.sort.unwrap_or_default(),
        limit,
    };
    console.ask(move |view| view.search(&query)).await.map(Json)
}
