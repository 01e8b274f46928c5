//! A schedule in, fetched pages out as they come: the only stage with sockets.
//!
//! [`Fetcher::run`] walks a [`ScheduleSource`](recrawl_types::ScheduleSource) host by host, asks each
//! host no faster than it likes, and sends every page, or the reason why there is none, into a bounded
//! channel. A failed fetch is an outcome and never an error; only a broken schedule or host table is.
//!
//! It knows nothing of what a page says (extraction), whether it changed, where it is kept, or why it
//! was chosen. What it learns of a host goes back to the [`HostTable`](recrawl_types::HostTable) that
//! the program hands in. Clock and network are handed in too ([`Network`]), so whole crawls run in
//! tests without a socket and with time standing still ([`testing`]).
//!
//! Rules and limits for users: docs/fetching.md, docs/internals/limits.md.

mod access;
mod addresses;
mod budget;
pub mod client;
pub mod control;
mod crowds;
pub mod dns;
mod exhausted;
mod fetch;
mod frontier;
pub mod guard;
mod host;
mod left_out;
pub mod limits;
mod opening;
pub mod outcome;
mod politeness;
pub mod promise;
pub mod proxy;
pub mod report;
pub mod robots;
mod suspension;
pub mod testing;
pub mod unavailable;
mod under_way;
mod visit;

pub use access::HostAccess;
pub use client::{HttpNetwork, Meter, Network, NetworkError, Reply, Request};
pub use control::Steering;
pub use fetch::{Fetcher, Job, Refuses};
pub use guard::Guard;
pub use left_out::LeftOut;
pub use limits::FetchConfig;
pub use opening::Precedence;
pub use outcome::{Condition, FetchError, FetchResult, FetchedPage, Hold, Response};
pub use proxy::Proxy;
pub use report::{FetchReport, Outcomes, StoppedBy};
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day in milliseconds since 1970. Handed in, so that tests own it.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The machine's own clock.
pub fn system_clock() -> WallClock {
    Arc::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64))
}
