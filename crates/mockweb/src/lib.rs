//! Test web server on loopback: a generated web that changes by known laws, or a recorded one.
//!
//! Tests and benchmarks of the crawler use it. It knows the truth: which page changed when, who
//! fetched what, who ignored robots.txt. It shares no code with the crawler, so that one bug cannot
//! be on both sides and cancel out. Its main type is [`Server`]; a server serves a [`web::Web`]. It
//! does not replay recorded HTTP exchanges byte by byte, as a WARC player does: it must make
//! responses for any cycle, any validators and any fault.

pub mod dns;
pub mod fault;
pub mod ledger;
pub mod noise;
pub mod procedural;
pub mod proxy;
pub mod raw;
pub mod recording;
pub mod replay;
pub(crate) mod requisites;
pub mod robots;
pub(crate) mod scripted;
mod seed;
pub mod server;
pub mod sites;
pub mod target;
pub mod tls;
pub mod trap;
pub mod validators;
pub mod web;

pub use crate::procedural::ProceduralConfig;
pub use crate::recording::RecordingSource;
pub use crate::replay::{ExternalLinks, ReplayConfig};
pub use crate::server::{Config, PageTruth, Server, StartError, WebConfig};
pub use crate::validators::Validators;
