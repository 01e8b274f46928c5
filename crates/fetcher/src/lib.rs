//! Fetches the pages of a schedule. The only stage with sockets.
//!
//! [`Fetcher::run`] reads a [`ScheduleSource`](recrawl_types::ScheduleSource) host by host and
//! keeps the delay of each host. It sends every page, or the reason why there is none, into a
//! bounded channel. A failed fetch is an outcome, not an error. Only a broken schedule or host
//! table is an error.
//!
//! The fetcher does not know what a page says (extraction), whether it changed, where it is stored,
//! or why it was chosen. It stores what it learns about a host in the
//! [`HostTable`](recrawl_types::HostTable) of the program. Clock and network are parameters
//! ([`Network`]), so tests run whole crawls without a socket and with a paused clock.
//!
//! Rules and limits for users: docs/fetching.md, docs/internals/limits.md.

mod fetch;
mod host;
mod net;
pub mod outcome;
pub mod robots;
mod run;
#[cfg(test)]
mod testing;

pub use fetch::{Fetcher, Job, RunPatience};
pub use host::address_turns::AddressTurns;
pub use host::back_off::asked_again_at;
pub use host::delay::{DelayReason, HostDelay, LeftAlone, stored_rules};
pub use host::order::Precedence;
pub use net::access::HostAccess;
pub use net::client::{
    Cut, FirstLook, Hop, HttpNetwork, Meter, Network, NetworkError, Post, Reply, Request, RequestOptions,
    check_authorities,
};
pub use net::guard::{self, Guard};
pub use net::kept_types::KeptTypes;
pub use net::limits::{self, FetchConfig};
pub use net::proxy::Proxy;
pub use net::{client, dns, proxy};
pub use outcome::{Condition, FetchError, FetchResult, FetchedPage, Hold, Response};
pub use reqwest::Version;
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use run::Refuses;
pub use run::clock::{WallClock, system_clock};
pub use run::control::{self, RunControl};
pub use run::rate::RequestRate;
pub use run::report::{FetchReport, Outcomes, StoppedBy};
pub use run::resources::{LoadingPages, PageLoad, PendingResource, Resources};
pub use run::unavailable::Unavailable;
pub use run::unvisited_hosts::UnvisitedHosts;
