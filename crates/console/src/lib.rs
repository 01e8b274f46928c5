//! The console of a running crawl: HTTP API, dashboard, metrics.
//!
//! The console serves operators and monitoring programs. It reads and controls the crawl only
//! through the trait [`CrawlView`]. It knows nothing of disks, fetching, formulas or the
//! repository, and imports no other crate. Therefore tests can serve a made-up crawl.
//!
//! A request passes these checks in order: connection limit and header timeout (`connection`),
//! `Host`, `Origin` and the rate limit of its address (`guard`), then its route (`api`). Every
//! error is problem+json (`problem`).

mod api;
mod client_limit;
pub mod config;
mod connection;
mod console;
mod dashboard;
mod event_hub;
mod feed;
mod guard;
pub mod local;
pub mod metrics;
mod network;
mod problem;
mod publish;
mod rate;
mod relay;
pub mod serve;
pub mod session;
mod standby;
#[cfg(test)]
mod tests;
pub mod token;
pub mod view;

pub use api::openapi;
pub use config::{Audit, ChangeResult, ConsoleConfig, Entry};
pub use guard::ANSWER_TIMEOUT;
pub use relay::FleetAnswers;
pub use serve::{RunningConsole, ServeError, serve};
pub use session::Sessions;
pub use standby::StandbyConsole;
pub use token::{TokenError, Tokens};
pub use view::{CrawlView, MAX_CURSOR_BYTES, MAX_ROWS, MAX_VERSION_ROWS};
