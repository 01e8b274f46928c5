//! The sections that a crawl tells of itself: each as a typed document, with its text and its JSON, for commands and
//! for the daemon.

pub mod dates;
pub mod decisions_in_force;
pub mod explain;
mod failed_visits;
pub mod forecast;
pub mod health;
pub mod host;
pub mod host_report;
pub mod loop_events;
pub mod loop_status;
pub mod page;
pub mod page_changes;
pub mod promises;
pub mod refused;
pub mod row;
pub mod search;
pub mod traps;
pub mod versions;

pub use recrawl_crawl::labels::{counted, thousands};
