//! The face of a running crawl: HTTP API, dashboard, metrics.
//!
//! Serves the people who run a crawl, and the programs that watch it. It looks at a crawl and steers it through one narrow
//! seam, the trait [`CrawlView`], and must never know what is behind it: no disk, no fetching, no formulas, no
//! repository; it imports none of the other crates. So a crawl that a test makes up is as good as a running one.
//!
//! A request passes, in this order: the limit of connections and the time for its header (`connection`), `Host`,
//! `Origin` and the limit of its address (`guard`), then its route (`api`). Whatever is refused is refused as problem+json
//! (`problem`).

mod api;
pub mod config;
mod connection;
mod console;
mod dashboard;
pub mod generated;
mod guard;
mod metrics;
mod network;
mod news;
mod problem;
mod seat;
pub mod serve;
#[cfg(test)]
mod tests;
pub mod token;
pub mod view;

pub use config::{Audit, ConsoleConfig, Entry, Outcome};
pub use guard::ANSWER_TIMEOUT;
pub use serve::{Running, ServeError, serve};
pub use token::{TokenError, Tokens};
pub use view::CrawlView;

/// Bytes of a cursor. The longest that lists give out holds a URL.
pub const MAX_CURSOR_BYTES: usize = 4096;
/// Rows of one answer.
pub const MAX_ROWS: usize = 1000;
