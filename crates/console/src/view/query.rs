//! Paginated lists of hosts and pages.

use super::HostState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Maximum bytes of a cursor. The longest cursor of a list holds a URL.
pub const MAX_CURSOR_BYTES: usize = 4096;
/// Maximum rows of one response.
pub const MAX_ROWS: usize = 1000;
/// Maximum archived versions of one response. The body of each is read and compared.
pub const MAX_VERSION_ROWS: usize = 100;

/// Query of the list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostQuery {
    /// Sort order.
    pub sort: HostSort,
    /// Only hosts in this state.
    pub state: Option<HostState>,
    /// Only hosts whose origin contains this. Untrusted.
    pub search: Option<String>,
    /// Continue at [`HostList::next`] of an earlier response. Untrusted: only its length (at most
    /// [`MAX_CURSOR_BYTES`]) and the absence of control characters are
    /// checked.
    pub cursor: Option<String>,
    /// Maximum rows, 1 to [`MAX_ROWS`].
    pub limit: usize,
}

/// Sort order of hosts. Numbers sort in descending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostSort {
    /// By name, with reversed labels, as URLs are sorted.
    #[default]
    Name,
    /// Known pages.
    Pages,
    /// Pages left to fetch in the running cycle.
    Queue,
    /// Delay between a response and the next request.
    Delay,
    /// Response time.
    Latency,
    /// Consecutive failures.
    Failures,
    /// Changes found in the running cycle, or in the last one.
    Changes,
}

/// A part of the list of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostList {
    /// Hosts in the requested order.
    pub hosts: Vec<HostRow>,
    /// Cursor of the next part; null at the end.
    pub next: Option<String>,
}

/// A host in a list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HostRow {
    /// Origin: scheme and host, with a non-default port.
    pub host: String,
    /// State of the host's queue.
    pub state: HostState,
    /// Known pages.
    pub pages: u64,
    /// Pages fetched at least once.
    pub visited: u64,
    /// Pages left to fetch in the running cycle.
    pub queue: u64,
    /// Pages done in the running cycle.
    pub done: u64,
    /// Changes found in the running cycle, or in the last one.
    pub changed: u64,
    /// Requests sent so far.
    pub requests: u64,
    /// Pages denied by robots.txt.
    pub robots_denied: u64,
    /// Milliseconds between a response and the next request.
    pub delay_ms: u64,
    /// The key of the configuration or the cause that sets the delay.
    pub delay_because: String,
    /// Smoothed response time in milliseconds; null before the first response.
    pub latency_ms: Option<u64>,
    /// Consecutive failures.
    pub failures: u32,
    /// Why no page of it is requested now; null if pages may be requested.
    pub left_alone: Option<String>,
    /// When that ends; null if unknown.
    pub left_alone_until: Option<u64>,
}

/// Query of the list of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// URL prefix; empty for all pages. Untrusted.
    pub prefix: String,
    /// Continue at [`PageList::next`] of an earlier response. Untrusted, as [`HostQuery::cursor`].
    pub cursor: Option<String>,
    /// Maximum rows, 1 to [`MAX_ROWS`].
    pub limit: usize,
}

/// Query of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnePage {
    /// URL. Untrusted.
    pub url: String,
    /// The formula that ranks it: a name, an expression or the text of a formula file; none for the one of the next
    /// cycle. Untrusted.
    pub formula: Option<String>,
}

/// A part of the list of pages.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PageList {
    /// Pages as printed by `recrawl export pages`, in URL order.
    #[schema(value_type = Vec<Object>)]
    pub pages: Vec<Value>,
    /// Cursor of the next part; null at the end.
    pub next: Option<String>,
}
