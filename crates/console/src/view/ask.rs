//! Lists of hosts and pages, asked for a part at a time.

use super::HostState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Which hosts, and in what order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostQuery {
    /// The order.
    pub sort: HostSort,
    /// Only those in this state.
    pub state: Option<HostState>,
    /// Go on where [`HostList::next`] of an earlier answer said. Comes from strangers: up to
    /// [`MAX_CURSOR_BYTES`](crate::MAX_CURSOR_BYTES) bytes, none of them a control character, and nothing else is
    /// known of it.
    pub cursor: Option<String>,
    /// At most so many, from 1 to [`MAX_ROWS`](crate::MAX_ROWS).
    pub limit: usize,
}

/// The order of a list of hosts. Numbers go from the largest to the smallest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostSort {
    /// The order of URLs: labels reversed.
    #[default]
    Name,
    /// Pages known.
    Pages,
    /// Pages still to ask for in the running cycle.
    Queue,
    /// The delay between an answer and the next request.
    Delay,
    /// How long answers take.
    Latency,
    /// Failures in a row.
    Failures,
    /// Changes met in the running cycle, then in the last.
    Changes,
}

/// Some hosts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostList {
    /// In the order asked for.
    pub hosts: Vec<HostRow>,
    /// Where to go on; none at the end.
    pub next: Option<String>,
}

/// A host among others.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostRow {
    /// Its origin: scheme and name, with the port where that is not the scheme's own.
    pub host: String,
    /// What becomes of its queue.
    pub state: HostState,
    /// Pages known.
    pub pages: u64,
    /// Of these, fetched at least once.
    pub visited: u64,
    /// Pages still to ask for in the running cycle.
    pub queue: u64,
    /// Pages done in the running cycle.
    pub done: u64,
    /// Changes met in the running cycle, or in the last where none runs.
    pub changed: u64,
    /// Requests ever sent to it.
    pub requests: u64,
    /// Pages that its robots.txt forbade.
    pub robots_denied: u64,
    /// Milliseconds between an answer and the next request.
    pub delay_ms: u64,
    /// Milliseconds that its answers take, smoothed; none before the first.
    pub latency_ms: Option<u64>,
    /// Failures in a row.
    pub failures: u32,
}

/// Which pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Only those whose URL begins so; empty for all. Comes from strangers.
    pub prefix: String,
    /// Go on where [`PageList::next`] of an earlier answer said; as strange as [`HostQuery::cursor`].
    pub cursor: Option<String>,
    /// At most so many, from 1 to [`MAX_ROWS`](crate::MAX_ROWS).
    pub limit: usize,
}

/// Some pages.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PageList {
    /// As `recrawl export pages` prints them, in the order of URLs.
    #[schema(value_type = Vec<Object>)]
    pub pages: Vec<Value>,
    /// Where to go on; none at the end.
    pub next: Option<String>,
}
