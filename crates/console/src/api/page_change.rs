//! Changes, as a list and as a feed.

use super::list::{cursor, limit};
use super::read::{LAST_SECOND, Named, Params, name_of_something, since};
use crate::console::Console;
use crate::feed;
use crate::problem::Problem;
use crate::view::{MAX_DIFFERENCES, PageChangeList, PageChangeQuery};
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Bytes of a difference.
const MAX_DIFFERENCE: usize = 8 << 10;
/// Entries of the feed. A reader that asks each hour misses none of a thousand changes a day.
const FEED_ENTRIES: usize = 50;

/// The changes of a list or feed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedParams {
    /// Only these pages: `example.com`, `*.example.com` with subdomains, `https://example.com/page`, or
    /// `https://example.com/a/*` (default: all).
    #[param(value_type = Option<Named>, inline)]
    pages: Option<String>,
    /// Kinds, separated by commas: `changed`, `new`, `gone`, `back`, `not_found`, `failed` (default: all but `new`).
    #[param(value_type = Option<Named>, inline)]
    changes: Option<String>,
    /// Only changes of this time or later, in seconds since 1970.
    #[param(maximum = 9007199254740991u64)]
    since: Option<u64>,
    /// Pages of this partition of a fleet, whose owner answers (default: that of this process).
    #[expect(dead_code, reason = "`relay` has read it")]
    partition: Option<u32>,
}

impl FeedParams {
    fn query(self) -> Result<PageChangeQuery, Problem> {
        let pages = self.pages.filter(|pages| !pages.is_empty());
        let kinds = name_of_something("changes", self.changes.unwrap_or_default())?;
        let kinds = kinds.split(',').map(str::trim).filter(|kind| !kind.is_empty());
        Ok(PageChangeQuery {
            pages: pages.map(|pages| name_of_something("pages", pages)).transpose()?.into_iter().collect(),
            kinds: kinds.map(str::to_owned).collect(),
            since: since(self.since, LAST_SECOND, "use seconds since 1970, not milliseconds")?,
            limit: FEED_ENTRIES,
            max_difference: MAX_DIFFERENCE,
            ..PageChangeQuery::default()
        })
    }
}

/// Query of the list of changes.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangesParams {
    /// As of `/feed.atom`.
    #[param(value_type = Option<Named>, inline)]
    pages: Option<String>,
    /// As of `/feed.atom`.
    #[param(value_type = Option<Named>, inline)]
    changes: Option<String>,
    /// As of `/feed.atom`.
    #[param(maximum = 9007199254740991u64)]
    since: Option<u64>,
    /// With title and difference of each? Then at most 100 rows.
    #[serde(default)]
    diff: bool,
    /// As of `/feed.atom`.
    partition: Option<u32>,
    /// Value of `next` in the previous response.
    #[param(value_type = Option<Named>, inline)]
    cursor: Option<String>,
    /// Maximum rows, 1 to 1000 (default 100).
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// List changes, newest first.
///
/// Read from the kept visits (`storage.keep_visits`) of committed rounds. A part may have fewer rows than asked for
/// where more are left: `next` is null only at the end.
#[utoipa::path(get, path = "/api/v1/changes", tag = "look", params(ChangesParams),
    responses((status = 200, description = "Changes", body = PageChangeList)))]
pub async fn changes(
    State(console): State<Arc<Console>>,
    Params(asked): Params<ChangesParams>,
) -> Result<Json<PageChangeList>, Problem> {
    let ChangesParams { pages, changes, since, partition, diff, .. } = asked;
    let limit = limit(asked.limit)?;
    if diff && limit > MAX_DIFFERENCES {
        return Err(Problem::invalid("limit", "too many rows with differences", "use 1 to 100 with diff"));
    }
    let query = PageChangeQuery {
        cursor: cursor(asked.cursor)?,
        limit,
        max_difference: if diff { MAX_DIFFERENCE } else { 0 },
        ..FeedParams { pages, changes, since, partition }.query()?
    };
    console.ask(move |view| view.page_changes(&query)).await.map(Json)
}

/// The last 50 changes as an Atom feed.
///
/// An entry has the difference as HTML. `ETag` and `If-None-Match` save what did not change.
#[utoipa::path(get, path = "/feed.atom", tag = "look", params(FeedParams),
    responses(
        (status = 200, description = "The feed", body = String, content_type = "application/atom+xml"),
        (status = 304, description = "As the client has it")))]
pub async fn feed_atom(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    RawQuery(asked_as): RawQuery,
    Params(asked): Params<FeedParams>,
) -> Result<Response, Problem> {
    let query = asked.query()?;
    let (pages, mut filters) = (query.pages.concat(), query.kinds.join(","));
    if query.since > 0 {
        filters += &format!("\nsince {}", query.since);
    }
    // Each owner gives its own feed, also through others.
    if let Some(fleet) = console.view.status().fleet {
        filters += &format!("\npartition {}", fleet.partition);
    }
    let list = console.ask(move |view| view.page_changes(&query)).await?;
    let feed = feed::atom(&list, &pages, &filters, asked_as.as_deref().unwrap_or_default());
    let tag = feed::tag(&feed);
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(',')).map(str::trim);
    if known.any(|known| known == "*" || known.trim_start_matches("W/") == tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    let kind = "application/atom+xml; charset=utf-8".to_owned();
    Ok(([(CONTENT_TYPE, kind), (ETAG, tag)], feed).into_response())
}
