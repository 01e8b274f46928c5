//! A web of our own on loopback: one that changes by known laws, or a recorded one shown again.
//!
//! It serves the crawler's tests and trials, and is the only judge of what was true: which page changed
//! when, who fetched what, who ignored robots.txt. It shares no code with the crawler, so that a mistake
//! cannot stand on both sides and cancel out. Its main type is [`Server`]; a [`web::Web`] is what a server
//! shows. Serving recorded HTTP exchanges byte by byte (as a WARC player does) was considered and left: a
//! web that can be asked at any cycle, with any validators and any fault, must make its responses itself.

pub mod dns;
pub mod fault;
pub mod ledger;
pub mod noise;
pub mod procedural;
pub mod proxy;
pub mod raw;
pub mod recording;
pub mod replay;
pub mod robots;
mod seed;
pub mod server;
pub mod sites;
pub mod tls;
pub mod trap;
pub mod validators;
pub mod web;

pub use crate::procedural::ProceduralConfig;
pub use crate::recording::Source;
pub use crate::replay::{ExternalLinks, ReplayConfig};
pub use crate::server::{Config, PageTruth, Server, StartError, WebConfig};
pub use crate::validators::Validators;
